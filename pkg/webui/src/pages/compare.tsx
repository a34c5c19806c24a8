// Two sessions side by side: where they part, and what each event said differently.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { call } from "../api/client.ts";
import { loadPreviews, previewOf, readStored, type Stored } from "../api/cache.ts";
import { searchSessions } from "../api/search.ts";
import type { Event, Filter, GetSessionTreeAnswer } from "../api/types.gen.ts";
import { addCommands, keysOf } from "../app/keymap.ts";
import { go, href, route, setParams } from "../app/router.ts";
import { foldAlike, nextDifference, pairTrees, type Pair } from "../model/diverge.ts";
import * as format from "../model/format.ts";
import { comparable, shown } from "../model/raw.ts";
import { countOf, readTree, type Node, type Tree } from "../model/tree.ts";
import { Empty, Problem, useLoaded, useRested } from "../parts/common.tsx";
import { Icon, TypeIcon } from "../parts/icon.tsx";
import { reveal, useWindow } from "../parts/table.tsx";
import { TextDiff } from "../parts/textdiff.tsx";

/** What the events of a session say is read of so many, from the first on. */
const maxRead = 4000;

export function Page() {
  const { params } = route.value;
  const [left, right] = [params.get("left") ?? "", params.get("right") ?? ""];
  const trees = useLoaded(left && right ? `${left} ${right}` : null, (signal) =>
    Promise.all([left, right].map(async (id) => readTree(await call<GetSessionTreeAnswer>(`v1/sessions/${encodeURIComponent(id)}/tree`, { signal })))));
  if (!left || !right) return <Choose left={left} />;
  if (trees.error) return <div class="page"><Problem error={trees.error} retry={trees.reload} /></div>;
  if (!trees.value || trees.loading) return <div class="page"><div class="progress" role="progressbar" aria-label="Loading" /></div>;
  return <Comparison key={`${left} ${right}`} left={trees.value[0]!} right={trees.value[1]!} ids={[left, right]} />;
}

/** Asks with which session another is compared: by its id, or one of the newest of the same name, or of all. */
function Choose({ left }: { left: string }) {
  const [id, setId] = useState("");
  const found = useLoaded(left || "none", async (signal) => {
    const search = (filters: Filter[]) => searchSessions({ filters, limit: 20 }, signal);
    const all = await search([]);
    if (!left) return all.sessions;
    const own = await call<Event>(`v1/events/${encodeURIComponent(left)}?children=none`, { signal });
    const alike = await search([{ field: "event_name", operator: "is", value: own.event_name }]);
    return [...new Map([...alike.sessions, ...all.sessions].map((s) => [s.session_id, s])).values()].filter((s) => s.session_id !== left);
  });
  const take = (other: string) => (left ? setParams({ right: other }) : setParams({ left: other }));
  return (
    <div class="page">
      <header><h1>{left ? "Compare with which session?" : "Compare two sessions"}</h1></header>
      <div class="choose">
        <form onSubmit={(e) => { e.preventDefault(); if (id.trim() !== "") take(id.trim()); }}>
          <input class="input" value={id} placeholder="The id of a session" aria-label="The id of a session" spellcheck={false} onInput={(e) => setId(e.currentTarget.value)} />
          <button type="submit" class="button primary" disabled={id.trim() === ""}>Compare</button>
        </form>
        {found.error ? <Problem error={found.error} retry={found.reload} /> : found.value?.length === 0 ? <Empty title="There is no other session" /> : (
          <ul aria-label="Sessions">
            {found.value?.map((s) => (
              <li key={s.session_id}><button type="button" onClick={() => take(s.session_id)}>
                <Icon name="session" small /><span class="strong ellipsis">{s.session_name}</span><span class="faint ellipsis grow">{s.input}</span>
                <span class="faint choose-number">{format.shortTime(s.start_time, Date.now())}</span><span class="choose-number">{format.duration(s.duration)}</span>
              </button></li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

function Comparison({ left, right, ids }: { left: Tree; right: Tree; ids: [string, string] }) {
  const { params } = route.value;
  const [turn, setTurn] = useState(0);
  const [reading, setReading] = useState(true);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const all = params.get("all") === "1";
  useEffect(() => { // what the events say, batch by batch, from the top
    let gone = false;
    const wanted = [left, right].flatMap((t) => t.nodes.slice(1, maxRead + 1).map((n) => n.id));
    void (async () => {
      for (let i = 0; i < wanted.length && !gone; i += 200) {
        const fresh = await loadPreviews(wanted.slice(i, i + 200));
        if (fresh && !gone) setTurn((n) => n + 1);
      }
      if (!gone) setReading(false);
    })();
    return () => { gone = true; };
  }, [left, right]);
  const say = useCallback((id: string) => { const p = previewOf(id); return p && `${p.input ?? ""}\n${p.output ?? ""}\n${p.model ?? ""}`; }, []);
  const pairs = useMemo(() => pairTrees(left, right, say), [left, right, turn]);
  const rows = useMemo(() => (all ? pairs.map((_, at) => ({ at, folded: 1 })) : foldAlike(pairs, opened)), [pairs, opened, all]);
  const counts = useMemo(() => {
    const n = { same: 0, changed: 0, left: 0, right: 0 };
    for (const p of pairs.slice(1)) n[p.kind]++;
    return n;
  }, [pairs]);
  const first = nextDifference(pairs, 0);
  const chosen = params.get("e");
  const at = chosen === null ? -1 : pairs.findIndex((p) => p.left?.id === chosen || p.right?.id === chosen);
  const pair = pairs[at];
  const select = (p: Pair | undefined) => p && setParams({ e: (p.left ?? p.right)!.id }, true);
  const place = () => pairs.findIndex((p) => { const e = route.value.params.get("e"); return e !== null && (p.left?.id === e || p.right?.id === e); });
  const step = (by: 1 | -1) => {
    const now = rows.findIndex((r) => r.at <= place() && place() < r.at + r.folded);
    const next = rows[Math.min(rows.length - 1, Math.max(0, now + by))];
    if (next) select(pairs[next.at]);
  };
  const differ = (by: 1 | -1) => { const next = nextDifference(pairs, place() < 0 ? 0 : place(), by); if (next >= 0) select(pairs[next]); };
  useLayoutEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Next pair of events", group: "Comparison", run: () => step(1) },
    { id: "previous", keys: ["k", "arrowup"], label: "Previous pair of events", group: "Comparison", run: () => step(-1) },
    { id: "difference", keys: ["d"], label: "Next difference", group: "Comparison", run: () => differ(1) },
    { id: "difference-before", keys: ["shift+d"], label: "Previous difference", group: "Comparison", run: () => differ(-1) },
    { id: "all-pairs", keys: ["o"], label: "Show what is alike, too", group: "Comparison", run: () => setParams({ all: route.value.params.get("all") ? null : "1" }, true) },
    { id: "swap", keys: ["x"], label: "Swap left and right", group: "Comparison", run: () => go(href(["compare"], { left: ids[1], right: ids[0] })) },
    { id: "close", keys: ["escape"], label: "Close the events", group: "Comparison", run: () => setParams({ e: null }, true) },
  ]), [pairs, rows]);
  return (
    <div class="page">
      <header>
        <h1 class="ellipsis">Compare</h1>
        <span class="grow" />
        <button type="button" class="button" aria-pressed={all} title={`Show what is alike, too (${keysOf("all-pairs")})`} onClick={() => setParams({ all: all ? null : "1" }, true)}>All events</button>
        <button type="button" class="button primary" disabled={first < 0} title={`Next difference (${keysOf("difference")})`} onClick={() => (at < 0 ? select(pairs[first]) : differ(1))}>{at < 0 ? "First difference" : "Next difference"}</button>
      </header>
      <div class="compare-heads">
        <Side tree={left} other={null} id={ids[0]} />
        <Side tree={right} other={left} id={ids[1]} />
      </div>
      <div class="split">
        <div class="main">
          {reading && <div class="progress" />}
          <Pairs pairs={pairs} rows={rows} selected={at} onSelect={select} onUnfold={(n) => setOpened(new Set([...opened, n]))} />
          <div class="foot" role="status">
            {`${format.count(counts.same)} alike, ${format.count(counts.changed)} changed, ${format.count(counts.left)} only left, ${format.count(counts.right)} only right`}
            {[left, right].some((t) => t.nodes.length > maxRead) && <span>{`what events say was compared of the first ${format.count(maxRead)} of each`}</span>}
            {[left, right].some((t) => t.truncated) && <span>the upper levels of what is larger</span>}
          </div>
        </div>
        {pair && <PairPanel key="pair" pair={pair} ids={ids} />}
      </div>
    </div>
  );
}

/** One session's numbers; of the right one with what they are more or less. */
function Side({ tree, other, id }: { tree: Tree; other: Tree | null; id: string }) {
  const errors = (t: Tree) => t.root.errorsBelow || (t.root.error ? 1 : 0);
  const numbers: [string, number, number | null, (n: number) => string][] = [
    ["duration", tree.end - tree.start, other && other.end - other.start, format.duration], ["events", countOf(tree), other && countOf(other), format.count],
    ["tokens", tree.root.tokens ?? 0, other && (other.root.tokens ?? 0), format.count], ["cost", tree.root.cost ?? 0, other && (other.root.cost ?? 0), format.cost], ["errors", errors(tree), other && errors(other), format.count],
  ];
  return (
    <section aria-label={other ? "Right session" : "Left session"}>
      <a class="strong ellipsis" href={href(["session", id])}>{tree.root.name}</a>
      <span class="faint">{format.time(tree.start).slice(0, 19)}</span>
      <div class="side-numbers">
        {numbers.filter(([label, n, before]) => label === "duration" || label === "events" || n > 0 || (before ?? 0) > 0).map(([label, n, before, show]) => (
          <span key={label}>{label} <b>{show(n)}</b>{before !== null && n !== before && <span class="faint">{` ${n > before ? "▲" : "▼"} ${show(Math.abs(n - before))}`}</span>}</span>
        ))}
      </div>
    </section>
  );
}

const rowHeight = 28;

function Pairs({ pairs, rows, selected, onSelect, onUnfold }: { pairs: Pair[]; rows: { at: number; folded: number }[]; selected: number; onSelect: (p: Pair | undefined) => void; onUnfold: (at: number) => void }) {
  const { ref, from, to, onScroll } = useWindow(rows.length, rowHeight);
  const at = rows.findIndex((r) => selected >= r.at && selected < r.at + r.folded);
  useEffect(() => reveal(ref.current, at, rowHeight), [selected, rows.length]);
  return (
    <div class="pairs" ref={ref} onScroll={onScroll} tabIndex={0} role="treegrid" aria-label="Events of both sessions" aria-rowcount={rows.length} aria-activedescendant={at >= from && at < to ? `pair-${rows[at]!.at}` : undefined}>
      <div style={{ height: `${rows.length * rowHeight}px`, position: "relative" }}>
        {rows.slice(from, to).map((r, i) => {
          const p = pairs[r.at]!;
          const top = `${(from + i) * rowHeight}px`;
          if (r.folded > 1) {
            return (
              <div key={`f${r.at}`} id={`pair-${r.at}`} role="row" aria-rowindex={from + i + 1} class="pair-row folded" style={{ top }} onClick={() => onUnfold(r.at)}>
                <button type="button" class="button plain" role="gridcell" tabIndex={-1}>{`= ${format.plural(r.folded, "event")} alike`}</button>
              </div>
            );
          }
          return (
            <div key={r.at} id={`pair-${r.at}`} role="row" aria-level={p.depth + 1} aria-rowindex={from + i + 1} aria-selected={r.at === selected} class={`pair-row ${p.kind}${r.at === selected ? " selected" : ""}`} style={{ top }} onClick={() => onSelect(p)}>
              <Cell node={p.left} depth={p.depth} />
              <span class="pair-mark" role="gridcell" title={{ same: "alike", changed: "changed", left: "only left", right: "only right" }[p.kind]}>{{ same: "=", changed: "≠", left: "←", right: "→" }[p.kind]}</span>
              <Cell node={p.right} depth={p.depth} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Cell({ node, depth }: { node: Node | null; depth: number }) {
  if (!node) return <span class="pair-cell" role="gridcell" />;
  const preview = previewOf(node.id);
  return (
    <span class="pair-cell" role="gridcell" style={{ paddingLeft: `${8 + Math.min(depth, 20) * 12}px` }}>
      <TypeIcon type={node.type} small />
      <span class="tree-name ellipsis">{node.name}</span>
      {node.error && <span class="chip bad" title={node.error}><Icon name="alert" small />error</span>}
      <span class="tree-preview ellipsis faint grow">{node.type === "session" ? "" : preview?.output || preview?.input}</span>
      <span class="faint">{format.duration(node.duration)}</span>
    </span>
  );
}

const fields = ["error", "inputs", "outputs", "config", "metrics"] as const;

/** What an event says in a field; "" if it says nothing. */
function written(of: Stored | null, field: string): string {
  const json = of?.raw.get(field) ?? "null";
  if (json.startsWith('"')) return shown(json);
  const text = comparable(json);
  return ["null", "{}", "[]"].includes(text) ? "" : text;
}

/** What two events say differently, field by field and word by word. */
function PairPanel({ pair, ids }: { pair: Pair; ids: [string, string] }) {
  const wanted = `${pair.left?.id ?? ""} ${pair.right?.id ?? ""}`;
  const key = useRested(wanted, 80);
  const events = useLoaded(key, async (signal) => ({ key, of: await Promise.all(key.split(" ").map((id) => (id ? readStored(id, signal) : null))) }));
  const scroll = useRef<HTMLDivElement>(null);
  const node = (pair.left ?? pair.right)!;
  const now = events.value?.key === wanted ? events.value.of : null;
  const [left, right] = (now ?? []).map((s) => s?.event ?? null);
  return (
    <aside class="detail compare-panel" aria-label="The events">
      <header>
        <TypeIcon type={node.type} /><h2 class="ellipsis grow">{node.name}</h2>
        {pair.left && <a class="button" href={href(["session", ids[0]], { e: pair.left.id })}>Left</a>}
        {pair.right && <a class="button" href={href(["session", ids[1]], { e: pair.right.id })}>Right</a>}
        <button type="button" class="button plain icon" title="Close (Esc)" aria-label="Close the events" onClick={() => setParams({ e: null }, true)}><Icon name="close" small /></button>
      </header>
      <div class="scroll" ref={scroll}>
        {(events.loading || !now) && <div class="progress" />}
        {events.error ? <Problem error={events.error} retry={events.reload} /> : now && (
          <div class="event">
            {pair.kind === "left" && <p class="notice">Only the left session has this event.</p>}
            {pair.kind === "right" && <p class="notice">Only the right session has this event.</p>}
            <div class="side-numbers">
              <span>duration <b>{`${left ? format.duration(left.duration) : "–"} → ${right ? format.duration(right.duration) : "–"}`}</b></span>
              {[left, right].some((e) => e?.metadata?.cost !== undefined) && <span>cost <b>{[left, right].map((e) => (typeof e?.metadata?.cost === "number" ? format.cost(e.metadata.cost) : "–")).join(" → ")}</b></span>}
              {[left, right].some((e) => e?.metadata?.total_tokens !== undefined) && <span>tokens <b>{[left, right].map((e) => (typeof e?.metadata?.total_tokens === "number" ? format.count(e.metadata.total_tokens) : "–")).join(" → ")}</b></span>}
            </div>
            {fields.map((f) => {
              const [a = "", b = ""] = now.map((s) => written(s, f));
              return (a !== "" || b !== "") && <section key={f} class="field" aria-label={f}><h2>{{ error: "Error", inputs: "Input", outputs: "Output", config: "Configuration", metrics: "Scores" }[f]}</h2><TextDiff left={a} right={b} /></section>;
            })}
          </div>
        )}
      </div>
    </aside>
  );
}
