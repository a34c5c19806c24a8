// Reads the tree of a session: whole up to 20,000 events, in parts above, and again whenever it changes.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, call } from "../api/client.ts";
import { forget, forgetAll } from "../api/cache.ts";
import { follow } from "../api/live.ts";
import type { GetSessionTreeAnswer } from "../api/types.gen.ts";
import { messageOf } from "../model/format.ts";
import { applyChanges, readTree, type Gap, type Tree } from "../model/tree.ts";
import { addPart, trim, use } from "../model/treewindow.ts";

/** How often a session is read again at most, one that is loaded in parts, and how often one that runs without a stream, in milliseconds. */
const growGap = 500;
const growGapInParts = 10_000;
const growEvery = 1500;

/** How many events a part of a tree has at most, and how many the first one and the way to an event have. */
export const partRows = 5000;
const firstRows = 20_000;

/** How many events of a session are kept: of a longer one those that were not looked at for longest make room for others. */
export const maxLoaded = 40_000;

/** What loads parts of a tree. */
export interface TreeParts {
  loading: boolean;
  problem: { message: string; retry: () => void } | null;
  fill: (gap: Gap) => void; // loads events that are missing
  around: (event: string) => void; // loads an event with those above and beside it
  used: (ids: string[]) => void; // these are on screen
}

export function useTree(id: string, selected: string | null): { tree: Tree | null; error: unknown; retry: () => void; parts: TreeParts; again: number } {
  const [tree, setTree] = useState<Tree | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  const [again, setAgain] = useState(0); // how often it was read since something may have changed
  const [loading, setLoading] = useState(false);
  const [problem, setProblem] = useState<TreeParts["problem"]>(null);
  const known = useRef<Tree | null>(null);
  const clock = useRef(1); // goes on with every part
  const keep = useRef(selected); // is never dropped
  keep.current = selected;
  const stopped = useRef<AbortSignal | null>(null);
  const busy = useRef(false);
  const failed = useRef(new Set<string>()); // parts that are not asked for again by themselves
  const path = `v1/sessions/${encodeURIComponent(id)}/tree`;

  const show = (next: Tree) => {
    known.current = next;
    setTree(next);
  };

  useEffect(() => {
    const stop = new AbortController();
    let unfollow = () => {};
    stopped.current = stop.signal;
    known.current = null;
    busy.current = false;
    failed.current.clear();
    setLoading(false);
    setProblem(null);
    setTree(null);
    setError(null);
    const load = async () => {
      try {
        const before = known.current;
        performance.mark("session:asked");
        const answer = await call<GetSessionTreeAnswer>(before && !before.truncated ? `${path}?since=${before.touched}` : path, { signal: stop.signal });
        performance.mark("session:received");
        const now = known.current; // a part may have come meanwhile
        if (answer.since && now) {
          for (const row of answer.rows) forget(row[0] as string);
          if (answer.rows.length > 0 || (answer.removed?.length ?? 0) > 0) show(applyChanges(now, answer));
        } else if (now && answer.truncated) {
          if (now.touched !== answer.touched) show(addPart(now, answer, null, null, clock.current));
        } else {
          show(readTree(answer));
        }
      } catch (e) {
        if (!stop.signal.aborted && !known.current) setError(e);
      }
      const now = known.current;
      return now !== null && (Date.now() - now.end < 60_000 || now.nodes.some((n) => n.running));
    };
    void load().then((young) => {
      if (stop.signal.aborted || !known.current) return;
      const gap = known.current.truncated ? growGapInParts : growGap;
      unfollow = follow(id, { gap, every: Math.max(gap, growEvery), likely: young, read: async () => {
        const likely = await load();
        forgetAll(); // of what events say most is no part of the tree
        setAgain((n) => n + 1);
        return likely;
      } });
    });
    return () => {
      stop.abort();
      unfollow();
    };
  }, [id, turn]);

  const parts = useMemo(() => {
    const ask = async (query: string, below: Gap | null) => {
      const signal = stopped.current;
      if (busy.current || failed.current.has(query) || !signal || !known.current) return;
      busy.current = true;
      setLoading(true);
      setProblem(null);
      try {
        let answer: GetSessionTreeAnswer;
        try {
          answer = await call<GetSessionTreeAnswer>(`${path}?${query}&limit=${partRows}`, { signal });
        } catch (e) {
          if (below || !(e instanceof ApiError) || e.status !== 400) throw e;
          answer = await call<GetSessionTreeAnswer>(`${path}?${query}&limit=${firstRows}`, { signal }); // the way to it is longer than a part
        }
        const now = ++clock.current;
        const parent = below && known.current.byId.get(below.parent.id);
        const after = below?.after && known.current.byId.get(below.after.id);
        if (below && (!parent || (below.after && !after))) return; // it has changed meanwhile
        const size = known.current.nodes.length;
        const next = addPart(known.current, answer, parent ?? null, after ?? null, now);
        if (next.nodes.length <= size) failed.current.add(query); // there is nothing more: the session has changed
        show(trim(next, maxLoaded, now, keep.current));
      } catch (e) {
        if (signal.aborted) return;
        failed.current.add(query);
        const retry = () => {
          failed.current.delete(query);
          void ask(query, below);
        };
        setProblem({ message: messageOf(e), retry });
      } finally {
        if (!signal.aborted) {
          busy.current = false;
          setLoading(false);
        }
      }
    };
    return {
      fill: (gap: Gap) => void ask(`below=${gap.parent.id}${gap.after ? `&after=${gap.after.id}` : ""}`, gap),
      around: (event: string) => void ask(`around=${encodeURIComponent(event)}`, null),
      used: (ids: string[]) => { if (known.current?.truncated) use(known.current, ids, clock.current + 1); },
    };
  }, [id]);
  return { tree, error, retry: () => setTurn((n) => n + 1), parts: { ...parts, loading, problem }, again };
}
