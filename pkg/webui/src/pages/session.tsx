// A session in six readings of one selection: tree, timeline, graph, trajectory, thread, transcript.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, offline } from "../api/client.ts";
import { forget, loadPreviews, previewOf, readEvent, readField, versionOf } from "../api/cache.ts";
import { searchFields } from "../api/search.ts";
import type { Event, SearchSessionsAnswer, SessionSummary } from "../api/types.gen.ts";
import { addCommands, keysOf } from "../app/keymap.ts";
import { go, href, route, setParams } from "../app/router.ts";
import { theme } from "../app/theme.ts";
import { addTerm } from "../model/filter.ts";
import * as format from "../model/format.ts";
import { thread, transcript, type ThreadItem } from "../model/thread.ts";
import { busyTimes } from "../model/graph.ts";
import { idleTimes, narrow, overlaps, readRange, readTime, wholeRange, writeRange, writeTime, type Range } from "../model/timeline.ts";
import { countOf, criticalPath, foldedBelow, loadedOf, pathTo, unloaded, visibleRows, type Gap, type Node, type Row, type Tree } from "../model/tree.ts";
import { firstGap } from "../model/treewindow.ts";
import { markWords } from "../parts/highlight.ts";
import { Copy, copyText, Empty, Problem, useLoaded, useRested } from "../parts/common.tsx";
import { EventTitle, EventView } from "../parts/eventview.tsx";
import { GraphView, TrajectoryView } from "../parts/graphview.tsx";
import { Icon } from "../parts/icon.tsx";
import { MessageCard } from "../parts/messages.tsx";
import { Scores } from "../parts/scores.tsx";
import { Minimap, minimapFrom } from "../parts/minimap.tsx";
import { Needle, useNeedleMarks } from "../parts/needle.tsx";
import { TimelineView } from "../parts/timelineview.tsx";
import { TranscriptView } from "../parts/transcriptview.tsx";
import { TreeView } from "../parts/treeview.tsx";
import { Annotate } from "./annotate.tsx";
import { Comments } from "./comments.tsx";
import { neighbour } from "./listview.tsx";
import { judgeOf, maxScored, shownScore, useScores, type SessionScores } from "./sessionscores.ts";
import { maxLoaded, partRows, useTree, type TreeParts } from "./sessiontree.ts";

const views = ["tree", "timeline", "graph", "trajectory", "thread", "transcript"] as const;
type View = (typeof views)[number];

const none: ReadonlySet<string> = new Set();

/** How often the scores of a session that changes are read at most, in milliseconds. */
const scoresGap = 3000;

/** How often the event that is open is read again at most, in milliseconds, and in times of what reading it takes. */
const eventGap = 3000;
const eventShare = 20;
const coarse = matchMedia("(pointer: coarse)");

export function SessionPage({ id }: { id: string }) {
  const { params } = route.value;
  const view: View = views.find((v) => v === params.get("view")) ?? "tree";
  const { tree, error, retry, parts, again } = useTree(id, params.get("e"));

  useLayoutEffect(() => {
    const beside = (by: number) => {
      const next = neighbour(route.value.path[1] ?? id, by);
      if (next) go(href(["session", next], { view: view === "tree" ? null : view }));
    };
    return addCommands([
      { id: "next-session", keys: ["]"], label: "Next session of the list", group: "Session", run: () => beside(1) },
      { id: "previous-session", keys: ["["], label: "Previous session of the list", group: "Session", run: () => beside(-1) },
    ]);
  }, [id, view]);

  if (error) return <div class="page"><Problem error={error} retry={retry} /></div>;
  if (!tree) return <div class="page"><div class="progress" role="progressbar" aria-label="Loading" /></div>;
  return <Session tree={tree} parts={parts} again={again} id={id} view={view} />;
}

function Session({ tree, parts, again, id, view }: { tree: Tree; parts: TreeParts; again: number; id: string; view: View }) {
  const { params } = route.value;
  const selectedId = params.get("e");
  const selected = (selectedId && tree.byId.get(selectedId)) || null;
  const [folded, setFolded] = useState<ReadonlySet<string>>(none);
  const [opened, setOpened] = useState<ReadonlySet<string>>(none);
  const [turn, redraw] = useState(0);
  const needle = useMemo(() => new Needle(), []);
  const whole = useMemo(() => wholeRange(tree), [tree]);
  const idle = useMemo(() => (view === "timeline" ? idleTimes(tree) : []), [tree, view]);
  const [zoomed, setZoomed] = useState<Range | null>(() => readRange(params.get("range"), whole));
  const onRange = (r: Range) => setZoomed(r.start <= whole.start && r.end >= whole.end ? null : r);
  const onTime = (time: number) => setParams({ t: writeTime(time) }, true);
  useEffect(() => { // browsers refuse addresses that change too fast
    const next = zoomed && writeRange(zoomed);
    if (next === route.value.params.get("range")) return;
    const timer = setTimeout(() => setParams({ range: next }, true), 200);
    return () => clearTimeout(timer);
  }, [zoomed]);
  const range = zoomed ?? whole;
  const only = params.get("only");
  const find = params.get("find") ?? "";
  const showCritical = params.get("critical") === "1";
  const critical = useMemo(() => (showCritical ? criticalPath(tree) : null), [tree, showCritical]);
  const longest = useMemo(() => tree.nodes.reduce((most, n) => Math.max(most, n.duration), 1), [tree]);
  const rowHeight = coarse.matches ? 44 : view === "timeline" ? 24 : 26;

  const scores = useScores(id);
  const due = useRef(0);
  const visible = useRef<string[]>([]);
  const preview = (ids: string[]) => void loadPreviews(ids).then((fresh) => { if (fresh) redraw((n) => n + 1); });
  useEffect(() => { // scores and previews are no part of the tree
    if (again === 0) return;
    const timer = setTimeout(() => {
      due.current = Date.now() + scoresGap;
      scores.reload();
      preview(visible.current);
    }, Math.max(0, due.current - Date.now()));
    return () => clearTimeout(timer);
  }, [again]);
  const [showScores, setShowScores] = useState(false);
  const [copied, setCopied] = useState(""); // what became of a copy by key or command, for a moment
  useEffect(() => {
    const timer = setTimeout(() => setCopied(""), 3000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (text: string, what: string) => void copyText(text).then(() => setCopied(`${what} is copied.`), () => setCopied(`${what} could not be copied.`));
  const hits = useHits(id, find);
  const match = useMemo(() => matcher(only, find, zoomed, hits.ids), [only, find, zoomed, hits.ids]);
  const rows = useMemo(() => visibleRows(tree, { folded, opened, match, group: true }), [tree, folded, opened, match]);
  useEffect(() => { performance.mark("session:shown"); }, []);

  const part = useMemo(() => narrow(tree, zoomed), [tree, zoomed]);
  const pinned = readTime(params.get("t"));
  useLayoutEffect(() => { needle.resting.value = pinned ?? selected?.start ?? null; }, [pinned, selected?.start]);
  const reading = useRef<HTMLDivElement>(null);
  const busy = useMemo(() => (view === "graph" ? busyTimes(part) : null), [part, view]);
  const timesOf = useCallback((event: string): Range[] => {
    const node = busy ? null : tree.byId.get(event);
    return busy?.get(event) ?? (node ? [node] : []);
  }, [tree, busy]);
  useNeedleMarks(reading, needle, useCallback((event: string, time: number) => timesOf(event).some((r) => r.start <= time && time <= r.end), [timesOf]));

  const select = useCallback((event: string) => setParams({ e: event, t: null }, true), []);
  useEffect(() => {
    if (selectedId && !tree.byId.has(selectedId)) parts.around(selectedId);
  }, [selectedId, tree, parts.loading]);
  const toggle = (row: Row, deep: boolean) => {
    if (row.gap || unloaded(row.node)) {
      setFolded(new Set([...folded].filter((f) => f !== row.node.id)));
      parts.fill(row.gap ?? { parent: row.node, after: null, events: row.node.below });
      return;
    }
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
  const onVisible = useCallback((ids: string[], gaps: Gap[] = []) => { // nothing is asked for while rows fly by
    clearTimeout(resting.current);
    resting.current = setTimeout(() => {
      visible.current = ids;
      parts.used(ids);
      if (gaps[0]) parts.fill(gaps[0]);
      preview(ids);
    }, 60);
  }, [id]);
  useEffect(() => () => clearTimeout(resting.current), []);

  // An event that is selected must not stand in a fold.
  useEffect(() => {
    if (!selected) return;
    const closed = pathTo(selected).slice(0, -1).filter((n) => folded.has(n.id));
    if (closed.length > 0) setFolded(new Set([...folded].filter((f) => !closed.some((n) => n.id === f))));
    const group = rows.find((r) => r.node !== selected && r.group?.includes(selected));
    if (group) setOpened(new Set([...opened, group.node.id]));
  }, [selectedId, selected === null]);

  useLayoutEffect(() => { // keys work as soon as rows are shown
    const now = () => route.value.params.get("e"); // keys that come fast come before the page is drawn anew
    const step = (by: number) => {
      const next = beside(rows, now(), by);
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
      { id: "close", keys: ["escape"], label: "Close the event", group: "Session", run: () => setParams({ e: null, t: null }, true) },
      ...(offline.answer ? [] : [{ id: "compare", keys: ["g d"], label: "Compare with another session", group: "Session", run: () => go(href(["compare"], { left: id })) },
        { id: "save-file", keys: [], label: "Copy the command that saves this session as a file", group: "Session", run: () => copy(`spangrove case export ${id} --file session.html`, "The command") }]),
      { id: "copy-link", keys: ["y"], label: "Copy the link", group: "Session", run: () => copy(location.href, "The link") },
    ]);
  }, [rows, tree, match]);

  const root = tree.root;
  const totals = useTotals(tree.truncated ? id : null).value;
  const errors = totals?.num_errors ?? (root.errorsBelow || (root.error ? 1 : 0)); // that of a session is mostly one of its events'
  const loadedCalls = useMemo(() => tree.nodes.filter((n) => n.type === "model").length, [tree]);
  const calls = totals?.num_model_events ?? loadedCalls;
  const running = tree.nodes.some((n) => n.running);
  const needsRows = view === "tree" || view === "timeline";
  return (
    <div class="page">
      {copied && <p class="notice over" role="status">{copied}</p>}
      <header>
        <a class="button plain icon" href={href(["sessions"])} title="All sessions" aria-label="All sessions"><Icon name="events" small /></a>
        <h1 class="ellipsis" title={root.name}>{root.name}</h1>
        {running && <span class="chip running"><Icon name="live" small />running</span>}
        <span class="grow" />
        <input id="find-in-session" class="input" type="search" placeholder="Find in this session" aria-label="Find in this session" value={find} onInput={(e) => setParams({ find: e.currentTarget.value }, true)}
          onKeyDown={(e) => { if (e.key === "Escape" || e.key === "Enter") e.currentTarget.blur(); }} />
        {!offline.answer && <a class="button" href={href(["compare"], { left: id })} title={`Compare with another session (${keysOf("compare")})`}>Compare</a>}
        {!offline.answer && <Copy plain text={location.href} label="Copy the link" />}
      </header>
      <div class="summary">
        <span title={format.time(tree.start)}>{format.time(tree.start).slice(0, 19)}</span>
        <span><b>{format.duration(tree.end - tree.start)}</b></span>
        <span title="Without the session itself"><b>{format.count(countOf(tree))}</b>{` ${countOf(tree) === 1 ? "event" : "events"}`}</span>
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
        {zoomed && <button type="button" class="button plain" title="Show the whole session" onClick={() => setZoomed(null)}><Icon name="close" small />{`${format.duration(zoomed.end - zoomed.start)} of ${format.duration(whole.end - whole.start)}`}</button>}
        <button type="button" class="button plain" aria-pressed={showCritical} title={`What the end of the session waited for (${keysOf("critical")})`} onClick={() => setParams({ critical: showCritical ? null : "1" }, true)}>Critical path</button>
      </div>
      {tree.nodes.length >= minimapFrom && <Minimap tree={tree} whole={whole} range={range} needle={needle} themeKey={theme.value} onRange={onRange} onTime={onTime} />}
      <div class="split">
        <div class="main" id="reading" ref={reading} role="tabpanel" aria-labelledby={`tab-${view}`} onPointerLeave={() => { needle.hover.value = null; }}
          onPointerMove={(e) => {
            if (!(e.target instanceof Element) || e.target.closest(".time-track")) return; // which has its own scale
            const event = e.target.closest("[data-event]")?.getAttribute("data-event");
            needle.hover.value = (event && timesOf(event)[0]?.start) || null;
          }}>
          {needsRows && rows.length <= 1 && match ? (
            <Empty title="Nothing in this session matches"><button class="button" onClick={() => { setParams({ only: null, find: null }, true); setZoomed(null); }}>Show all events</button></Empty>
          ) : view === "tree" ? (
            <TreeView rows={rows} rowHeight={rowHeight} selected={selectedId} critical={critical} longest={longest} preview={previewOf} turn={turn} onVisible={onVisible} onSelect={select} onToggle={toggle} />
          ) : view === "timeline" ? (
            <TimelineView rows={rows} rowHeight={rowHeight} whole={whole} range={range} origin={whole.start} idle={idle} foldIdle={params.get("idle") === "folded"} onFoldIdle={(fold) => setParams({ idle: fold ? "folded" : null }, true)} selected={selectedId} critical={critical} needle={needle} onTime={onTime}
              onRange={onRange} onVisible={onVisible} onSelect={select} onToggle={toggle} />
          ) : view === "graph" ? (
            <GraphView tree={part} selected={selectedId} critical={critical} onSelect={select} />
          ) : view === "trajectory" ? (
            <TrajectoryView tree={part} selected={selectedId} needle={needle} onSelect={select} />
          ) : view === "thread" ? (
            <Thread tree={part} selected={selectedId} onSelect={select} />
          ) : (
            <Steps tree={tree} range={zoomed} selected={selectedId} turn={turn} onVisible={onVisible} onSelect={select} />
          )}
          {(needsRows || zoomed || tree.truncated || parts.problem) && (
            <div class="foot" role="status">
              {match && needsRows ? `${format.plural(rows.filter((r) => !r.grey && r.node !== tree.root).length, "event")} of ${format.count(loadedOf(tree))} match` : zoomed ? `${format.plural(loadedOf(part), "event")} of ${format.count(loadedOf(tree))} in this time` : `${format.count(loadedOf(tree))} of ${format.plural(countOf(tree), "event")}`}
              {tree.truncated && <Part tree={tree} parts={parts} match={match !== null && needsRows} search={searchOf(id, only, find)} />}
              {parts.problem && <span class="bad">{parts.problem.message}</span>}
              {parts.problem && <button type="button" class="button plain" onClick={parts.problem.retry}>Try again</button>}
              {find.trim() !== "" && (hits.loading ? <span>looking into contents…</span> : hits.error ? <span class="bad">{`contents were not searched: ${format.messageOf(hits.error)}`}</span>
                : hits.ids && hits.total > hits.ids.size ? <span>{`the newest ${format.count(hits.ids.size)} of ${format.count(hits.total)} with the word in their contents`}</span> : null)}
              {rows.some((r) => r.group) && <span>{`${format.plural(rows.filter((r) => r.group).length, "group")} of events alike`}</span>}
            </div>
          )}
        </div>
        {selected && <Detail key="detail" node={selected} session={id} again={again} rows={rows} find={find} scores={scores.value} onSelect={select} onChange={scores.reload} />}
      </div>
    </div>
  );
}

/** The row that keys lead to from a row: the next one with an event. */
function beside(rows: Row[], id: string | null, by: number): Row | undefined {
  const at = rows.findIndex((r) => r.node.id === id && !r.gap);
  let next = Math.min(rows.length - 1, Math.max(0, at + by));
  while (rows[next]?.gap) next += by;
  return rows[next];
}

/** The totals of a session of which only a part is loaded. */
function useTotals(session: string | null) {
  return useLoaded(session, async (signal): Promise<SessionSummary | null> => {
    const filters = [{ field: "session_id", operator: "is", value: session }];
    const answer = await call<SearchSessionsAnswer>("v1/sessions/search", { method: "POST", signal, body: { filters, limit: 1 } });
    return answer.sessions[0] ?? null;
  });
}

/** The search of events that finds what a filter of the page asks for in a whole session; null if none does. */
function searchOf(session: string, only: string | null, find: string): string | null {
  let q = addTerm("", { field: "session", operator: ":", value: session });
  if (only === "errors") q = addTerm(q, { field: "error", operator: "has", value: "" });
  if (only === "models") q = addTerm(q, { field: "type", operator: ":", value: "model" });
  if (find.trim() !== "") q = addTerm(q, { field: "", operator: "words", value: find.trim() });
  return only === "slow" || (only === null && find.trim() === "") ? null : href(["events"], { q, range: "all" });
}

/** Says that a reading shows a part of a session, and loads more of it. */
function Part({ tree, parts, match, search }: { tree: Tree; parts: TreeParts; match: boolean; search: string | null }) {
  const left = countOf(tree) - loadedOf(tree);
  const full = tree.nodes.length + partRows > maxLoaded;
  return (
    <>
      <span>{`${format.plural(left, "event")} not loaded${match ? ", and not looked at" : ""}`}</span>
      {match && search && <a href={search}>Search all of them</a>}
      {full ? <span class="faint">{`at most ${format.count(maxLoaded)} are kept: what is opened takes the place of what was not looked at for longest`}</span>
        : <button type="button" class="button plain" disabled={parts.loading} onClick={() => { const gap = firstGap(tree, partRows); if (gap) parts.fill(gap); }}>{parts.loading ? "Loading…" : `Load ${format.count(Math.min(left, partRows))} more`}</button>}
    </>
  );
}

/** How many events with a word in their contents are found. */
const maxHits = 1000;

/** Asks the server which events of a session have a word in what went in or out. */
function useHits(session: string, find: string): { ids: ReadonlySet<string> | null; total: number; loading: boolean; error: unknown } {
  const word = useRested(find.trim(), 250);
  const found = useLoaded(word.length < 2 ? null : JSON.stringify([session, word]), async (signal) => {
    const answer = await searchFields(["event_id"], [], {
      filters: [{ field: "session_id", operator: "is", value: session }, { field: "text", operator: "contains", value: word }], limit: maxHits,
    }, signal);
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
  if (range) conds.push((n) => overlaps(n, range));
  return conds.length === 0 ? null : (n) => conds.every((c) => c(n));
}

function Steps({ tree, range, selected, turn, onVisible, onSelect }: { tree: Tree; range: Range | null; selected: string | null; turn: number; onVisible: (ids: string[]) => void; onSelect: (id: string) => void }) {
  const all = useMemo(() => transcript(tree), [tree]);
  const steps = useMemo(() => (range ? all.filter((s) => overlaps(s.node, range)) : all), [all, range]);
  if (all.length > 0 && steps.length === 0) return <Empty title="No steps in this time" />;
  if (steps.length === 0) return <Empty title="No steps yet"><p>The session has no events below it.</p></Empty>;
  return <TranscriptView steps={steps} hidden={loadedOf(tree) - all.length} selected={selected} preview={previewOf} turn={turn} onVisible={onVisible} onSelect={onSelect} />;
}

/** How many model calls a thread reads at a time. */
const threadPage = 40;

function Thread({ tree, selected, onSelect }: { tree: Tree; selected: string | null; onSelect: (id: string) => void }) {
  const calls = useMemo(() => tree.nodes.filter((n) => n.type === "model").sort((a, b) => a.start - b.start), [tree]);
  const at = calls.findIndex((n) => n.id === selected);
  const around = () => Math.max(0, at - (at % threadPage));
  const [[from, upTo], setShown] = useState(() => [around(), around() + threadPage]);
  useEffect(() => { if (at >= 0 && (at < from || at >= upTo)) setShown([around(), around() + threadPage]); }, [at]);
  const root = useRef<HTMLDivElement>(null);
  const wanted = calls.slice(from, upTo);
  const read = useLoaded(wanted.map((n) => versionOf(n.id)).join(), async (signal): Promise<ThreadItem[]> => {
    const events: Event[] = [];
    for (let i = 0; i < wanted.length; i += 8) events.push(...(await Promise.all(wanted.slice(i, i + 8).map((n) => readEvent(n.id, signal)))));
    return thread(events);
  });
  useEffect(() => root.current?.querySelector(".selected")?.scrollIntoView({ block: "nearest" }), [read.value, selected]);
  if (calls.length === 0) return <Empty title="No conversation here"><p>A thread is made of the messages of model calls; this session has none. The transcript shows its steps.</p></Empty>;
  if (read.error) return <Problem error={read.error} retry={read.reload} />;
  return (
    <div class="thread" tabIndex={0} ref={root}>
      {from > 0 && <button class="button" onClick={() => setShown([from - threadPage, upTo])}>{`Show earlier (${format.plural(from, "model call")} before)`}</button>}
      {read.loading && <div class="progress" role="progressbar" aria-label="Loading" />}
      {read.value?.length === 0 && <p class="faint">{`${format.plural(wanted.length, "model call")} without messages`}</p>}
      {read.value?.map((item, i) => (
        <div key={i} data-event={item.event} class={`item${item.event === selected ? " selected" : ""}`} onClick={() => onSelect(item.event)}>
          {item.repeated > 0 && <p class="faint secondary">{`${format.plural(item.repeated, "earlier message")} sent again`}</p>}
          <MessageCard message={item.message} />
        </div>
      ))}
      {upTo < calls.length && <button class="button" onClick={() => setShown([from, upTo + threadPage])}>{`Show more (${format.plural(calls.length - upTo, "model call")} left)`}</button>}
    </div>
  );
}

/** The panel of the event that is selected. */
function Detail({ node, session, again, rows, find, scores, onSelect, onChange }: {
  node: Node; session: string; again: number; rows: Row[]; find: string; scores: SessionScores | null; onSelect: (id: string) => void; onChange: () => void;
}) {
  const rested = useRested(node.id, 80);
  const event = useLoaded(versionOf(rested), (signal) => readEvent(rested, signal));
  const latest = useRef({ event, again, due: 0 });
  latest.current.event = event;
  useEffect(() => { // most of what an event says is no part of the tree
    const last = latest.current;
    if (last.again === again) return;
    const read = () => {
      if (last.event.loading) return void (timer = setTimeout(read, eventGap));
      last.again = again;
      last.due = Date.now() + Math.max(eventGap, eventShare * last.event.took);
      last.event.reload();
    };
    let timer = setTimeout(read, Math.max(0, last.due - Date.now()));
    return () => clearTimeout(timer);
  }, [again]);
  const [width, setWidth] = useState(() => Math.min(900, Math.max(360, Number(localStorage.getItem("spangrove.detail")) || innerWidth * 0.42)));
  const scroll = useRef<HTMLDivElement>(null);
  useEffect(() => { if (scroll.current) scroll.current.scrollTop = 0; }, [event.value?.event_id]);
  const resize = (x: number) => {
    const next = Math.min(innerWidth - 320, Math.max(300, x));
    setWidth(next);
    localStorage.setItem("spangrove.detail", String(next));
  };
  const previous = beside(rows, node.id, -1);
  const next = beside(rows, node.id, 1);
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
          <button type="button" class="button plain icon" disabled={!previous || previous.node === node} title={`Previous (${keysOf("previous")})`} aria-label="Previous event" onClick={() => onSelect(previous!.node.id)}><Icon name="up" small /></button>
          <button type="button" class="button plain icon" disabled={!next || next.node === node} title={`Next (${keysOf("next")})`} aria-label="Next event" onClick={() => onSelect(next!.node.id)}><Icon name="down" small /></button>
          <Copy plain text={node.id} label="Copy the event's id" />
          <button type="button" class="button plain icon" title="Close (Esc)" aria-label="Close the event" onClick={() => setParams({ e: null }, true)}><Icon name="close" small /></button>
        </header>
        <div class="scroll" ref={scroll}>
          {event.loading && <div class="progress" />}
          {event.error && !current ? <Problem error={event.error} retry={event.reload} /> : current ? (
            <>
              {!offline.answer && <Annotate event={current} session={session} onChange={() => { forget(node.id); event.reload(); onChange(); }} />}
              <EventView event={current} judge={judge} field={(name, signal) => readField(current.event_id, name, signal)}
                {...(!offline.answer && { onFilter: (field: string, value: string, exclude: boolean) => go(href(["events"], { q: addTerm("", { field, operator: exclude ? "-:" : ":", value }) })) })} />
              {!offline.answer && <Comments key={node.id} event={node.id} onChange={() => forget(node.id)} />}
            </>
          ) : null}
        </div>
      </aside>
    </>
  );
}
