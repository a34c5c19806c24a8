// A session in six readings of one selection: tree, timeline, graph, trajectory, thread, transcript.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call } from "../api/client.ts";
import { follow } from "../api/live.ts";
import { forget, loadPreviews, previewOf, readEvent, readField } from "../api/cache.ts";
import type { EventPage, EventRow, TreeAnswer } from "../api/types.ts";
import { addCommands, keysOf } from "../app/keymap.ts";
import { go, href, route, setParams } from "../app/router.ts";
import { theme } from "../app/theme.ts";
import { addTerm } from "../model/filter.ts";
import * as format from "../model/format.ts";
import { thread, transcript, type ThreadItem } from "../model/thread.ts";
import { idleTimes, wholeRange, type Range } from "../model/timeline.ts";
import { applyChanges, criticalPath, foldedBelow, pathTo, readTree, visibleRows, type Node, type Row, type Tree } from "../model/tree.ts";
import { markWords } from "../parts/highlight.ts";
import { Copy, Empty, Problem, useLoaded, useRested } from "../parts/common.tsx";
import { EventTitle, EventView } from "../parts/eventview.tsx";
import { GraphView, TrajectoryView } from "../parts/graphview.tsx";
import { Icon } from "../parts/icon.tsx";
import { MessageCard } from "../parts/messages.tsx";
import { Scores } from "../parts/scores.tsx";
import { Minimap, minimapFrom } from "../parts/minimap.tsx";
import { TimelineView } from "../parts/timelineview.tsx";
import { TranscriptView } from "../parts/transcriptview.tsx";
import { TreeView } from "../parts/treeview.tsx";
import { Annotate } from "./annotate.tsx";
import { neighbour } from "./listview.tsx";
import { judgeOf, maxScored, shownScore, useScores, type SessionScores } from "./sessionscores.ts";

const views = ["tree", "timeline", "graph", "trajectory", "thread", "transcript"] as const;
type View = (typeof views)[number];

const none: ReadonlySet<string> = new Set();
const coarse = matchMedia("(pointer: coarse)");

/** How often a session is read again at most, and how often one that runs without a stream, in milliseconds. */
const growGap = 500;
const growEvery = 1500;

export function SessionPage({ id }: { id: string }) {
  const { params } = route.value;
  const view: View = views.find((v) => v === params.get("view")) ?? "tree";
  const [tree, setTree] = useState<Tree | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  const known = useRef<Tree | null>(null);

  useEffect(() => {
    const stop = new AbortController();
    let unfollow = () => {};
    known.current = null;
    setTree(null);
    setError(null);
    const path = `v1/sessions/${encodeURIComponent(id)}/tree`;
    const load = async () => {
      try {
        const before = known.current;
        performance.mark("session:asked");
        const answer = await call<TreeAnswer>(before ? `${path}?since=${before.touched}` : path, { signal: stop.signal });
        performance.mark("session:received");
        let next = before;
        if (answer.since && before) {
          for (const row of answer.rows) forget(row[0] as string);
          if (answer.rows.length > 0 || (answer.removed?.length ?? 0) > 0) next = applyChanges(before, answer);
        } else {
          next = readTree(answer);
        }
        if (next !== before) {
          known.current = next;
          setTree(next);
        }
      } catch (e) {
        if (!stop.signal.aborted && !known.current) setError(e);
      }
      const now = known.current;
      return now !== null && (Date.now() - now.end < 60_000 || now.nodes.some((n) => n.running));
    };
    void load().then((young) => {
      if (!stop.signal.aborted && known.current) unfollow = follow(id, { gap: growGap, every: growEvery, likely: young, read: load });
    });
    return () => {
      stop.abort();
      unfollow();
    };
  }, [id, turn]);

  useEffect(() => {
    const beside = (by: number) => {
      const next = neighbour(route.value.path[1] ?? id, by);
      if (next) go(href(["session", next], { view: view === "tree" ? null : view }));
    };
    return addCommands([
      { id: "next-session", keys: ["]"], label: "Next session of the list", group: "Session", run: () => beside(1) },
      { id: "previous-session", keys: ["["], label: "Previous session of the list", group: "Session", run: () => beside(-1) },
    ]);
  }, [id, view]);

  if (error) return <div class="page"><Problem error={error} retry={() => setTurn((n) => n + 1)} /></div>;
  if (!tree) return <div class="page"><div class="progress" role="progressbar" aria-label="Loading" /></div>;
  return <Session tree={tree} id={id} view={view} />;
}

function Session({ tree, id, view }: { tree: Tree; id: string; view: View }) {
  const { params } = route.value;
  const selectedId = params.get("e");
  const selected = (selectedId && tree.byId.get(selectedId)) || null;
  const [folded, setFolded] = useState<ReadonlySet<string>>(none);
  const [opened, setOpened] = useState<ReadonlySet<string>>(none);
  const [turn, redraw] = useState(0);
  const [needle, setNeedle] = useState<number | null>(null);
  const whole = useMemo(() => wholeRange(tree), [tree]);
  const idle = useMemo(() => (view === "timeline" ? idleTimes(tree) : []), [tree, view]);
  const [zoomed, setZoomed] = useState<Range | null>(null);
  const range = zoomed ?? whole;
  const only = params.get("only");
  const find = params.get("find") ?? "";
  const showCritical = params.get("critical") === "1";
  const critical = useMemo(() => (showCritical ? criticalPath(tree) : null), [tree, showCritical]);
  const longest = useMemo(() => Math.max(...tree.nodes.map((n) => n.duration), 1), [tree]);
  const rowHeight = coarse.matches ? 44 : view === "timeline" ? 24 : 26;

  const scores = useScores(id);
  const [showScores, setShowScores] = useState(false);
  const hits = useHits(id, find);
  const match = useMemo(() => matcher(only, find, zoomed, hits.ids), [only, find, zoomed, hits.ids]);
  const rows = useMemo(() => visibleRows(tree, { folded, opened, match, group: true }), [tree, folded, opened, match]);
  useEffect(() => { performance.mark("session:shown"); }, []);

  const select = useCallback((event: string) => setParams({ e: event }, true), []);
  const toggle = (row: Row, deep: boolean) => {
    if (row.group) {
      setOpened(new Set([...opened, row.node.id]));
      return;
    }
    const next = new Set(folded);
    const fold = !next.has(row.node.id);
    const stack = [row.node];
    while (stack.length > 0) {
      const n = stack.pop()!;
      if (fold) next.add(n.id);
      else next.delete(n.id);
      if (deep) stack.push(...n.children.filter((c) => c.children.length > 0));
    }
    setFolded(next);
  };
  const resting = useRef(0);
  const onVisible = useCallback((ids: string[]) => { // nothing is asked for while rows fly by
    clearTimeout(resting.current);
    resting.current = setTimeout(() => void loadPreviews(ids).then((fresh) => { if (fresh) redraw((n) => n + 1); }), 60);
  }, [id]);
  useEffect(() => () => clearTimeout(resting.current), []);

  // An event that is selected must not stand in a fold.
  useEffect(() => {
    if (!selected) return;
    const closed = pathTo(selected).slice(0, -1).filter((n) => folded.has(n.id));
    if (closed.length > 0) setFolded(new Set([...folded].filter((f) => !closed.some((n) => n.id === f))));
    const group = tree.nodes.find((n) => n.parent === selected.parent && !opened.has(n.id) && rows.some((r) => r.node === n && r.group?.includes(selected) && n !== selected));
    if (group) setOpened(new Set([...opened, group.id]));
  }, [selectedId]);

  useEffect(() => {
    const now = () => route.value.params.get("e"); // keys that come fast come before the page is drawn anew
    const step = (by: number) => {
      const at = rows.findIndex((r) => r.node.id === now());
      const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
      if (next) select(next.node.id);
    };
    const sibling = (by: number) => {
      const from = tree.byId.get(now() ?? "");
      const all = from?.parent?.children ?? [];
      const next = from && all[all.indexOf(from) + by];
      if (next) select(next.id);
    };
    const hit = (by: number) => {
      const found = rows.filter((r) => !r.grey && match !== null);
      const at = found.findIndex((r) => r.node.id === now());
      const next = found[(at + by + found.length + (at < 0 && by < 0 ? 1 : 0)) % found.length];
      if (next) select(next.node.id);
    };
    const flip = (name: string, value: string) => setParams({ [name]: route.value.params.get(name) === value ? null : value }, true);
    return addCommands([
      ...views.map((v, i) => ({ id: `view-${v}`, keys: [String(i + 1)], label: `Show the ${v}`, group: "Session", run: () => setParams({ view: v === "tree" ? null : v }, true) })),
      { id: "next", keys: ["j"], label: "Next event", group: "Session", run: () => step(1) },
      { id: "previous", keys: ["k"], label: "Previous event", group: "Session", run: () => step(-1) },
      { id: "next-sibling", keys: ["shift+arrowdown"], label: "Next event beside it", group: "Session", run: () => sibling(1) },
      { id: "previous-sibling", keys: ["shift+arrowup"], label: "Previous event beside it", group: "Session", run: () => sibling(-1) },
      { id: "next-hit", keys: ["n"], label: "Next event that was found", group: "Session", run: () => hit(1) },
      { id: "previous-hit", keys: ["shift+n"], label: "Previous event that was found", group: "Session", run: () => hit(-1) },
      { id: "scores", keys: ["r"], label: "Scores", group: "Session", run: () => setShowScores((s) => !s) },
      { id: "errors", keys: ["e"], label: "Only errors", group: "Session", run: () => flip("only", "errors") },
      { id: "models", keys: ["m"], label: "Only model calls", group: "Session", run: () => flip("only", "models") },
      { id: "slow", keys: ["w"], label: "Only slow events", group: "Session", run: () => flip("only", "slow") },
      { id: "critical", keys: ["c"], label: "Critical path", group: "Session", run: () => flip("critical", "1") },
      { id: "unfold", keys: ["z 0"], label: "Unfold all", group: "Session", run: () => { setFolded(none); setOpened(new Set(tree.nodes.map((n) => n.id))); } },
      ...[1, 2, 3, 4, 5].map((n) => ({ id: `fold-${n}`, keys: [`z ${n}`], label: `Fold below level ${n}`, group: "Session", run: () => setFolded(foldedBelow(tree, n)) })),
      { id: "find", keys: ["/"], label: "Find in this session", group: "Session", run: () => document.getElementById("find-in-session")?.focus() },
      { id: "close", keys: ["escape"], label: "Close the event", group: "Session", run: () => setParams({ e: null }, true) },
      { id: "compare", keys: ["g d"], label: "Compare with another session", group: "Session", run: () => go(href(["compare"], { left: id })) },
      { id: "copy-link", keys: ["y"], label: "Copy the link", group: "Session", run: () => void navigator.clipboard.writeText(location.href) },
    ]);
  }, [rows, tree, match]);

  const root = tree.root;
  const errors = root.errorsBelow || (root.error ? 1 : 0); // that of a session is mostly one of its events'
  const calls = useMemo(() => tree.nodes.filter((n) => n.type === "model").length, [tree]);
  const running = tree.nodes.some((n) => n.running);
  const needsRows = view === "tree" || view === "timeline";
  return (
    <div class="page">
      <header>
        <a class="button plain icon" href={href(["sessions"])} title="All sessions" aria-label="All sessions"><Icon name="events" small /></a>
        <h1 class="ellipsis" title={root.name}>{root.name}</h1>
        {running && <span class="chip running"><Icon name="live" small />running</span>}
        <span class="grow" />
        <input id="find-in-session" class="input" type="search" placeholder="Find in this session" aria-label="Find in this session" value={find} onInput={(e) => setParams({ find: e.currentTarget.value }, true)}
          onKeyDown={(e) => { if (e.key === "Escape" || e.key === "Enter") e.currentTarget.blur(); }} />
        <a class="button" href={href(["compare"], { left: id })} title={`Compare with another session (${keysOf("compare")})`}>Compare</a>
        <Copy plain text={location.href} label="Copy the link" />
      </header>
      <div class="summary">
        <span title={format.time(tree.start)}>{format.time(tree.start).slice(0, 19)}</span>
        <span><b>{format.duration(tree.end - tree.start)}</b></span>
        <span><b>{format.count(tree.total - 1)}</b>{` ${tree.total === 2 ? "event" : "events"}`}</span>
        {calls > 0 && <span><b>{format.count(calls)}</b>{` model ${calls === 1 ? "call" : "calls"}`}</span>}
        {root.tokens ? <span><b>{format.count(root.tokens)}</b> tokens</span> : null}
        {root.cost ? <span><b>{format.cost(root.cost)}</b></span> : null}
        {errors > 0 && <button type="button" class="button plain bad" aria-pressed={only === "errors"} title={`Only errors (${keysOf("errors")})`} onClick={() => setParams({ only: only === "errors" ? null : "errors" }, true)}><Icon name="alert" small />{format.plural(errors, "error")}</button>}
        {scores.value && scores.value.scores.length > 0 && (
          <button type="button" class="button plain" aria-expanded={showScores} title={`Scores (${keysOf("scores")})`} onClick={() => setShowScores(!showScores)}>
            <Icon name="judge" small />{format.plural(scores.value.scores.length, "score")}<Icon name={showScores ? "up" : "down"} small />
          </button>
        )}
        <code class="faint ellipsis" title="session_id">{id}</code>
        <Copy plain text={id} label="Copy the session's id" />
      </div>
      {showScores && scores.value && (
        <div class="session-scores">
          <Scores scores={scores.value.scores.map(shownScore)} onSelect={select} />
          {scores.value.events > maxScored && <p class="faint">{`Of the newest ${maxScored} of ${format.plural(scores.value.events, "event")} that have scores`}</p>}
        </div>
      )}
      <div class="tabs">
        <div class="tablist" role="tablist" aria-label="Readings">
        {views.map((v, i) => (
          <button key={v} role="tab" id={`tab-${v}`} aria-selected={v === view} aria-controls="reading" tabIndex={v === view ? 0 : -1} title={`Key ${i + 1}`} onClick={() => setParams({ view: v === "tree" ? null : v }, true)}
            onKeyDown={(e) => {
              const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
              if (!by) return;
              e.preventDefault();
              const next = views[(i + by + views.length) % views.length]!;
              setParams({ view: next === "tree" ? null : next }, true);
              requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
            }}>{v[0]!.toUpperCase() + v.slice(1)}</button>
        ))}
        </div>
        <span class="grow" />
        {needsRows && <button type="button" class="button plain" aria-pressed={only === "models"} title={`Only model calls (${keysOf("models")})`} onClick={() => setParams({ only: only === "models" ? null : "models" }, true)}>Model calls</button>}
        {needsRows && <button type="button" class="button plain" aria-pressed={only === "slow"} title={`Only what took a tenth of the session or more (${keysOf("slow")})`} onClick={() => setParams({ only: only === "slow" ? null : "slow" }, true)}>Slow</button>}
        <button type="button" class="button plain" aria-pressed={showCritical} title={`What the end of the session waited for (${keysOf("critical")})`} onClick={() => setParams({ critical: showCritical ? null : "1" }, true)}>Critical path</button>
      </div>
      {tree.nodes.length >= minimapFrom && <Minimap tree={tree} whole={whole} range={range} needle={needle} themeKey={theme.value} onRange={(r) => setZoomed(r.start <= whole.start && r.end >= whole.end ? null : r)} />}
      <div class="split">
        <div class="main" id="reading" role="tabpanel" aria-labelledby={`tab-${view}`}>
          {needsRows && rows.length <= 1 && match ? (
            <Empty title="Nothing in this session matches"><button class="button" onClick={() => { setParams({ only: null, find: null }, true); setZoomed(null); }}>Show all events</button></Empty>
          ) : view === "tree" ? (
            <TreeView rows={rows} rowHeight={rowHeight} selected={selectedId} critical={critical} longest={longest} preview={previewOf} turn={turn} onVisible={onVisible} onSelect={select} onToggle={toggle} />
          ) : view === "timeline" ? (
            <TimelineView rows={rows} rowHeight={rowHeight} whole={whole} range={range} origin={whole.start} idle={idle} foldIdle={params.get("idle") === "folded"} onFoldIdle={(fold) => setParams({ idle: fold ? "folded" : null }, true)} selected={selectedId} critical={critical} needle={needle} onNeedle={setNeedle}
              onRange={(r) => setZoomed(r.start <= whole.start && r.end >= whole.end ? null : r)} onSelect={select} onToggle={toggle} />
          ) : view === "graph" ? (
            <GraphView tree={tree} selected={selectedId} critical={critical} onSelect={select} />
          ) : view === "trajectory" ? (
            <TrajectoryView tree={tree} selected={selectedId} onSelect={select} />
          ) : view === "thread" ? (
            <Thread tree={tree} selected={selectedId} onSelect={select} />
          ) : (
            <Steps tree={tree} selected={selectedId} onVisible={onVisible} onSelect={select} />
          )}
          {needsRows && (
            <div class="foot" role="status">
              {match ? `${format.plural(rows.filter((r) => !r.grey).length, "event")} of ${format.count(tree.nodes.length)} match` : `${format.count(tree.nodes.length)} of ${format.plural(tree.total, "event")}`}
              {find.trim() !== "" && (hits.loading ? <span>looking into contents…</span> : hits.error ? <span class="bad">{`contents were not searched: ${hits.error instanceof Error ? hits.error.message : String(hits.error)}`}</span>
                : hits.ids && hits.total > hits.ids.size ? <span>{`the newest ${format.count(hits.ids.size)} of ${format.count(hits.total)} with the word in their contents`}</span> : null)}
              {tree.truncated && <span>the upper levels of a session of more than {format.count(tree.nodes.length)} events</span>}
              {rows.some((r) => r.group) && <span>{`${format.plural(rows.filter((r) => r.group).length, "group")} of events alike`}</span>}
            </div>
          )}
        </div>
        {selected && <Detail key="detail" node={selected} session={id} rows={rows} find={find} scores={scores.value} onSelect={select} onChange={scores.reload} />}
      </div>
    </div>
  );
}

/** How many events with a word in their contents are found. */
const maxHits = 1000;

/** Asks the server which events of a session have a word in what went in or out. */
function useHits(session: string, find: string): { ids: ReadonlySet<string> | null; total: number; loading: boolean; error: unknown } {
  const word = useRested(find.trim(), 250);
  const found = useLoaded(word.length < 2 ? null : JSON.stringify([session, word]), async (signal) => {
    const filters = [{ field: "session_id", operator: "is", value: session }, { field: "text", operator: "contains", value: word }];
    const answer = await call<EventPage>("v1/events/search", { method: "POST", signal, body: { filters, projections: ["event_id"], limit: maxHits } });
    return { ids: new Set(answer.events.map((e) => e.event_id)), total: answer.totalEvents };
  });
  return { ids: found.value?.ids ?? null, total: found.value?.total ?? 0, loading: found.loading || (word !== find.trim()), error: found.error };
}

/** The condition of what is shown; null if all is. */
function matcher(only: string | null, find: string, range: Range | null, hits: ReadonlySet<string> | null): ((n: Node) => boolean) | null {
  const conds: ((n: Node) => boolean)[] = [];
  if (only === "errors") conds.push((n) => n.error !== null && (n.parent !== null || n.errorsBelow === 0));
  if (only === "models") conds.push((n) => n.type === "model");
  if (only === "slow") conds.push((n) => {
    let top = n;
    while (top.parent) top = top.parent;
    return n !== top && n.duration >= Math.max(1, top.duration / 10);
  });
  if (find.trim() !== "") {
    const word = find.trim().toLowerCase();
    conds.push((n) => n.name.toLowerCase().includes(word) || n.id === word || (n.error?.toLowerCase().includes(word) ?? false) || (hits?.has(n.id) ?? false));
  }
  if (range) conds.push((n) => n.end >= range.start && n.start <= range.end);
  return conds.length === 0 ? null : (n) => conds.every((c) => c(n));
}

function Steps({ tree, selected, onVisible, onSelect }: { tree: Tree; selected: string | null; onVisible: (ids: string[]) => void; onSelect: (id: string) => void }) {
  const steps = useMemo(() => transcript(tree), [tree]);
  if (steps.length === 0) return <Empty title="No steps yet"><p>The session has no events below it.</p></Empty>;
  return <TranscriptView steps={steps} hidden={tree.nodes.length - 1 - steps.length} selected={selected} preview={previewOf} onVisible={onVisible} onSelect={onSelect} />;
}

/** How many model calls a thread reads at a time. */
const threadPage = 40;

function Thread({ tree, selected, onSelect }: { tree: Tree; selected: string | null; onSelect: (id: string) => void }) {
  const [upTo, setUpTo] = useState(threadPage);
  const calls = useMemo(() => tree.nodes.filter((n) => n.type === "model").sort((a, b) => a.start - b.start), [tree]);
  const wanted = calls.slice(0, upTo);
  const read = useLoaded(wanted.map((n) => n.id).join(), async (signal): Promise<ThreadItem[]> => {
    const events: EventRow[] = [];
    for (let i = 0; i < wanted.length; i += 8) events.push(...(await Promise.all(wanted.slice(i, i + 8).map((n) => readEvent(n.id, signal)))));
    return thread(events);
  });
  if (calls.length === 0) return <Empty title="No conversation here"><p>A thread is made of the messages of model calls; this session has none. The transcript shows its steps.</p></Empty>;
  if (read.error) return <Problem error={read.error} retry={read.reload} />;
  return (
    <div class="thread" tabIndex={0}>
      {read.loading && <div class="progress" role="progressbar" aria-label="Loading" />}
      {read.value?.length === 0 && <p class="faint">{`${format.plural(wanted.length, "model call")} without messages`}</p>}
      {read.value?.map((item, i) => (
        <div key={i} class={`item${item.event === selected ? " selected" : ""}`} onClick={() => onSelect(item.event)}>
          {item.repeated > 0 && <p class="faint secondary">{`${format.plural(item.repeated, "earlier message")} sent again`}</p>}
          <MessageCard message={item.message} />
        </div>
      ))}
      {upTo < calls.length && <button class="button" onClick={() => setUpTo(upTo + threadPage)}>{`Show more (${format.plural(calls.length - upTo, "model call")} left)`}</button>}
    </div>
  );
}

/** The panel of the event that is selected. */
function Detail({ node, session, rows, find, scores, onSelect, onChange }: {
  node: Node; session: string; rows: Row[]; find: string; scores: SessionScores | null; onSelect: (id: string) => void; onChange: () => void;
}) {
  const rested = useRested(node.id, 80);
  const event = useLoaded(rested, (signal) => readEvent(rested, signal));
  const [width, setWidth] = useState(() => Math.min(900, Math.max(360, Number(localStorage.getItem("spangrove.detail")) || innerWidth * 0.42)));
  const scroll = useRef<HTMLDivElement>(null);
  useEffect(() => { if (scroll.current) scroll.current.scrollTop = 0; }, [event.value?.event_id]);
  const resize = (x: number) => {
    const next = Math.min(innerWidth - 320, Math.max(300, x));
    setWidth(next);
    localStorage.setItem("spangrove.detail", String(next));
  };
  const at = rows.findIndex((r) => r.node.id === node.id);
  const current = event.value?.event_id === node.id ? event.value : null;
  useEffect(() => markWords(scroll.current, find), [current, find]);
  const judge = (metric: string) => {
    const score = scores?.scores.find((s) => s.event === node.id && s.metric === metric);
    return score ? judgeOf(score) : null;
  };
  return (
    <>
      <button type="button" class="divider" role="separator" aria-orientation="vertical" aria-label="Width of the event" aria-valuenow={Math.round(width)} aria-valuemin={300} aria-valuemax={innerWidth - 320}
        onPointerDown={(e) => e.currentTarget.setPointerCapture(e.pointerId)} onPointerMove={(e) => { if (e.currentTarget.hasPointerCapture(e.pointerId)) resize(innerWidth - e.clientX); }}
        onKeyDown={(e) => { const by = { ArrowLeft: 24, ArrowRight: -24 }[e.key]; if (by) { e.preventDefault(); resize(width + by); } }} />
      <aside class="detail" style={{ width: `${width}px` }} aria-label="Event">
        <header>
          <EventTitle type={node.type} name={node.name} />
          <button type="button" class="button plain icon" disabled={at <= 0} title={`Previous (${keysOf("previous")})`} aria-label="Previous event" onClick={() => onSelect(rows[at - 1]!.node.id)}><Icon name="up" small /></button>
          <button type="button" class="button plain icon" disabled={at < 0 || at >= rows.length - 1} title={`Next (${keysOf("next")})`} aria-label="Next event" onClick={() => onSelect(rows[at + 1]!.node.id)}><Icon name="down" small /></button>
          <Copy plain text={node.id} label="Copy the event's id" />
          <button type="button" class="button plain icon" title="Close (Esc)" aria-label="Close the event" onClick={() => setParams({ e: null }, true)}><Icon name="close" small /></button>
        </header>
        <div class="scroll" ref={scroll}>
          {event.loading && <div class="progress" />}
          {event.error && !current ? <Problem error={event.error} retry={event.reload} /> : current ? (
            <>
              <Annotate event={current} session={session} onChange={() => { forget(node.id); event.reload(); onChange(); }} />
              <EventView event={current} judge={judge} field={(name, signal) => readField(current.event_id, name, signal)}
                onFilter={(field, value, exclude) => go(href(["events"], { q: addTerm("", { field, operator: exclude ? "-:" : ":", value }) }))} />
            </>
          ) : null}
        </div>
      </aside>
    </>
  );
}
