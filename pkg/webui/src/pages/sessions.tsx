// The list of sessions: filtered, sorted, live, with a peek at the one that is selected.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, isAbort } from "../api/client.ts";
import { follow } from "../api/live.ts";
import { searchSessions } from "../api/search.ts";
import type { SearchSessionsAnswer, SearchSessionsBody, SessionSummary } from "../api/types.gen.ts";
import { addCommands, keysOf } from "../app/keymap.ts";
import { go, href, route, setParams } from "../app/router.ts";
import { addTerm, compile, withoutTotals, type Term } from "../model/filter.ts";
import * as format from "../model/format.ts";
import { scoreNames } from "../model/scores.ts";
import { density, rowHeight } from "../parts/columnmenu.tsx";
import { Empty, Problem } from "../parts/common.tsx";
import { barId, FilterBar } from "../parts/filterbar.tsx";
import { Icon } from "../parts/icon.tsx";
import { dateRange, defaultRange, rangeLabel, RangePicker } from "../parts/range.tsx";
import { Table, Value, type Column } from "../parts/table.tsx";
import { Histogram } from "./histogram.tsx";
import { ChoiceBar, useChoice } from "./choice.tsx";
import { useFields, valuesOf } from "./completion.ts";
import { ViewsMenu } from "./views.tsx";
import { chooseColumns, ExportMenu, facetsOpen, ListFacets, rememberList, toggleFacets } from "./listview.tsx";
import { SessionPeek } from "./sessionpeek.tsx";

const pageSize = 100;

/** How often a live list reads what is new at most, and how often without a stream, in milliseconds. */
const liveGap = 1000;
const liveEvery = 2000;

/** A live list that has grown longer begins again with its first page. */
const mostLive = 2000;

interface State {
  key: string;
  rows: SessionSummary[];
  cursor: string | null;
  total: number | null;
  took: number;
}

const empty: State = { key: "", rows: [], cursor: null, total: null, took: 0 };

export function SessionsPage() {
  const { params } = route.value;
  const query = params.get("q") ?? "";
  const range = params.get("range") ?? defaultRange;
  const sort = (params.get("sort") ?? "start") as NonNullable<SearchSessionsBody["sort"]>; // of another one the server says what is wrong
  const ascending = params.get("order") === "asc";
  const live = params.get("live") === "1";
  const selected = params.get("s");
  const compiled = useMemo(() => compile(query, "sessions"), [query]);
  const key = JSON.stringify([query, range, sort, ascending]);
  const [state, setState] = useState<State>(empty);
  const [error, setError] = useState<unknown>(null);
  const [loading, setLoading] = useState(true);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const [turn, setTurn] = useState(0);
  const stop = useRef<AbortController | null>(null);
  const fields = useFields("sessions");
  const current = useRef(state);
  current.current = state;

  const body = (extra: SearchSessionsBody): SearchSessionsBody => ({
    filters: compiled.filters, event_filters: compiled.eventFilters, dateRange: dateRange(range), sort, order: ascending ? "asc" : "desc", limit: pageSize, ...extra,
  });
  const ask = (extra: SearchSessionsBody, signal: AbortSignal) => searchSessions(body(extra), signal);

  useEffect(() => {
    if (compiled.problem) return setLoading(false);
    const mine = new AbortController();
    stop.current = mine;
    setLoading(true);
    const began = performance.now();
    ask({ total: "exact" }, mine.signal).then(
      (page) => {
        setState({ key, rows: page.sessions, cursor: page.next_cursor, total: page.total, took: performance.now() - began });
        setError(null);
        setLoading(false);
      },
      (e) => {
        if (mine.signal.aborted && isAbort(e)) return setLoading(false);
        setError(e);
        setLoading(false);
      },
    );
    return () => mine.abort();
  }, [key, turn]);

  // Live: what has come is put at the top, as long as the newest are shown and nothing is selected.
  const isLive = live && sort === "start" && !ascending;
  useEffect(() => {
    if (!isLive || compiled.problem) return;
    const mine = new AbortController();
    const read = async () => {
      try {
        const page = await ask({}, mine.signal);
        const before = current.current;
        const known = new Set(before.key === key ? before.rows.map((r) => r.session_id) : []);
        const news = page.sessions.filter((r) => !known.has(r.session_id));
        if (news.length === pageSize || before.key !== key || before.rows.length > mostLive) { // there may be others between them and those that are shown
          const first = await ask({ total: "exact" }, mine.signal);
          setState({ key, rows: first.sessions, cursor: first.next_cursor, total: first.total, took: before.took });
          setError(null);
          return true;
        }
        const byId = new Map(page.sessions.map((r) => [r.session_id, r]));
        setState({ ...before, rows: [...news, ...before.rows.map((r) => byId.get(r.session_id) ?? r)], total: before.total === null ? null : before.total + news.length });
        if (news.length > 0) setFresh(new Set(news.map((r) => r.session_id)));
      } catch (e) {
        const passing = e instanceof ApiError && (e.status === 0 || e.status === 429 || e.status >= 500);
        if (!mine.signal.aborted && !passing) setParams({ live: null }, true);
      }
      return true;
    };
    const unfollow = follow("*", { gap: liveGap, every: liveEvery, read });
    return () => {
      unfollow();
      mine.abort();
    };
  }, [isLive, key]);

  const more = () => {
    if (!state.cursor || loading || state.key !== key) return;
    const mine = new AbortController();
    stop.current = mine;
    setLoading(true);
    ask({ cursor: state.cursor }, mine.signal).then(
      (page) => {
        setState((s) => (s.key === key ? { ...s, rows: [...s.rows, ...page.sessions], cursor: page.next_cursor } : s));
        setError(null);
        setLoading(false);
      },
      (e) => {
        if (!isAbort(e)) setError(e);
        setLoading(false);
      },
    );
  };

  const rows = state.rows;
  useEffect(() => rememberList(rows.map((r) => r.session_id)), [rows]);
  const at = rows.findIndex((r) => r.session_id === selected);
  const select = (id: string | null) => setParams({ s: id, live: null }, true);
  const open = (id: string) => go(href(["session", id]));
  const choice = useChoice(rows.map((r) => r.session_id), selected, JSON.stringify([compiled.filters, compiled.eventFilters, range]), select);
  useLayoutEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Next session", group: "List", run: () => { const r = rows[Math.min(rows.length - 1, at + 1)]; if (r) select(r.session_id); } },
    { id: "previous", keys: ["k", "arrowup"], label: "Previous session", group: "List", run: () => { const r = rows[Math.max(0, at - 1)]; if (r) select(r.session_id); } },
    { id: "open", keys: ["enter"], label: "Open the session", group: "List", run: () => { if (selected) open(selected); } },
    { id: "filter", keys: ["f", "/"], label: "Filter", group: "List", run: () => document.getElementById(barId)?.focus() },
    { id: "live", keys: ["l"], label: "Live", group: "List", run: () => setParams({ live: live ? null : "1", sort: null, order: null, s: null }, true) },
    { id: "undo", keys: ["u"], label: "Undo the last filter", group: "List", run: () => history.back() },
    { id: "facets", keys: ["b"], label: "Facets", group: "List", run: toggleFacets },
    { id: "errors-only", keys: ["e"], label: "Only sessions with errors", group: "List", run: () => setParams({ q: addTerm(query, { field: "errors", operator: ">", value: "0" }) }) },
    { id: "close", keys: ["escape"], label: "Stop loading, select nothing, or close the peek", group: "List", run: () => { if (loading) stop.current?.abort(); else if (choice.any) choice.clear(); else select(null); } },
  ]), [rows, at, selected, query, live, loading, choice.any]);

  const pick = (field: string, value: string) => (exclude: boolean) => setParams({ q: addTerm(query, { field, operator: exclude ? "-:" : ":", value } as Term), s: null });
  const now = Date.now();
  const metricNames = useMemo(() => scoreNames(rows.flatMap((r) => Object.keys(r.metrics ?? {}))).slice(0, 3), [rows]);
  const standard: Column<SessionSummary>[] = [
    { id: "start", label: "Start", width: 104, sort: "start", cell: (r) => <span class="faint" title={format.time(r.start_time)}>{format.shortTime(r.start_time, now)}</span> },
    { id: "name", label: "Session", width: 170, grow: 1, cell: (r) => <><Value text={r.session_name} onPick={pick("name", r.session_name)} className="strong" />{r.num_errors > 0 && <span class="chip bad" title={r.error ?? ""}><Icon name="alert" small />{r.num_errors}</span>}{r.state === "running" && <span class="chip running" title="An event of it has begun and not ended">running</span>}</> },
    { id: "input", label: "Input", width: 140, grow: 2, cell: (r) => <span class="ellipsis" title={r.input}>{r.input ?? <span class="faint">–</span>}</span> },
    { id: "output", label: "Output", width: 140, grow: 2, cell: (r) => <span class="ellipsis" title={r.error ?? r.output}>{r.error ? <span class="bad">{r.error}</span> : r.output ?? <span class="faint">–</span>}</span> },
    { id: "user", label: "User", width: 110, cell: (r) => (r.user_id ? <Value text={r.user_id} onPick={pick("user", r.user_id)} /> : <span class="faint">–</span>) },
    { id: "duration", label: "Duration", width: 90, right: true, sort: "duration", cell: (r) => format.duration(r.duration) },
    { id: "events", label: "Events", width: 76, right: true, sort: "events", cell: (r) => format.count(r.num_events) },
    { id: "model_events", label: "Model calls", width: 96, right: true, cell: (r) => format.count(r.num_model_events) },
    { id: "tool_events", label: "Tool calls", width: 92, right: true, sort: "tool_events", cell: (r) => format.count(r.num_tool_events) },
    { id: "state", label: "State", width: 90, sort: "state", cell: (r) => <Value text={r.state} onPick={pick("state", r.state)} /> },
    { id: "errors", label: "Errors", width: 76, right: true, sort: "errors", cell: (r) => (r.num_errors > 0 ? <span class="bad">{format.count(r.num_errors)}</span> : <span class="faint">–</span>) },
    { id: "source", label: "Source", width: 110, cell: (r) => <Value text={r.source} onPick={pick("source", r.source)} /> },
    { id: "run", label: "Run", width: 110, cell: (r) => (r.run_id ? <Value text={r.run_id} onPick={pick("run", r.run_id)} /> : <span class="faint">–</span>) },
    { id: "tokens", label: "Tokens", width: 80, right: true, sort: "tokens", cell: (r) => (r.tokens.total > 0 ? <span title={`${format.count(r.tokens.prompt)} in, ${format.count(r.tokens.completion)} out`}>{format.short(r.tokens.total)}</span> : <span class="faint">–</span>) },
    { id: "cost", label: "Cost", width: 104, right: true, sort: "cost", cell: (r) => (r.cost !== undefined ? format.cost(r.cost) : <span class="faint">–</span>) },
  ];
  const byItself = ["start", "name", "input", "output", "user", ...metricNames.map((m) => `metrics.${m}`), "duration", "events", "tokens", "cost"];
  const { columns, menu } = chooseColumns(standard, byItself, fields.paths, pick);
  const ids = async (signal: AbortSignal) => {
    const list: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: SearchSessionsAnswer = await ask({ limit: 200, ...(cursor ? { cursor } : {}) }, signal);
      list.push(...page.sessions.map((r) => r.session_id));
      cursor = page.next_cursor;
    }
    return list;
  };
  const reread = () => setTurn((n) => n + 1);
  const gone = (all: boolean) => { // what is shown beside the list may be gone with them
    if (all || choice.ids.includes(selected ?? "")) select(null);
    reread();
  };
  const filtered = query !== "" || range !== "all";
  return (
    <div class="page">
      <header>
        <h1>Sessions</h1>
        <ViewsMenu of="sessions" />
        <span class="grow" />
        <button type="button" class="button" aria-pressed={isLive} title={`Live (${keysOf("live")})`} onClick={() => setParams({ live: live ? null : "1", sort: null, order: null, s: null }, true)}><Icon name={isLive ? "pause" : "live"} small />{isLive ? "Pause" : "Live"}</button>
        {menu}
        <ExportMenu name="sessions" total={state.total} columns={columns.map((c) => c.id)} search={() => body({})} range={range} saving={stop} onDeleted={() => gone(true)} onBusy={setLoading} onError={setError} />
      </header>
      <div class="filters">
        <button type="button" class="button icon" aria-pressed={facetsOpen.value} title={`Facets (${keysOf("facets")})`} aria-label="Facets" onClick={toggleFacets}><Icon name="rail" small /></button>
        <FilterBar text={query} of="sessions" fields={fields.names} values={(field, typed) => valuesOf("sessions", field, typed)} onChange={(q) => setParams({ q, s: null })} />
        <RangePicker range={range} onChange={(r) => setParams({ range: r === defaultRange ? null : r, s: null })} />
      </div>
      <Histogram range={range} filters={[{ field: "event_type", operator: "is", value: "session" }, ...withoutTotals(compiled.filters)]} onRange={(r) => setParams({ range: r })} turn={turn} />
      <div class="split">
        {facetsOpen.value && <ListFacets of="sessions" query={query} also={[]} range={range} turn={turn} paths={fields.paths} />}
        <div class="main">
          {loading && <div class="progress" role="progressbar" aria-label="Loading" />}
          {error && rows.length === 0 ? <Problem error={error} retry={() => setTurn((n) => n + 1)} /> : rows.length === 0 && !loading ? (
            filtered ? (
              <Empty title="No session matches">
                <p>{`${query ? `Filter: ${query}. ` : ""}Range: ${rangeLabel(range)}.`}</p>
                <div class="form-end">
                  {query && <button class="button" onClick={() => setParams({ q: null })}>Clear the filter</button>}
                  {range !== "all" && <button class="button" onClick={() => setParams({ range: "all" })}>All time</button>}
                  <a class="button" href={href(["start"])}>How to send sessions</a>
                </div>
              </Empty>
            ) : (
              <Empty title="No sessions yet"><p>What your application sends appears here.</p><a class="button primary" href={href(["start"])}>Send the first one</a></Empty>
            )
          ) : (
            <Table label="Sessions" columns={columns} rows={rows} rowId={(r) => r.session_id} rowHeight={rowHeight()} lines={density.value === "comfortable" ? 2 : 1} selected={selected} fresh={fresh}
              sort={{ by: sort, ascending }} onSort={(by) => setParams({ sort: by === "start" ? null : by, order: sort === by && !ascending ? "asc" : null, live: null })}
              onSelect={select} onOpen={open} onEnd={more} total={state.total} choice={choice.table} />
          )}
          <ChoiceBar of="sessions" choice={choice} total={state.total} search={body({})} range={range} ids={ids} onDeleted={() => gone(choice.all)} onError={setError} />
          <div class="foot" role="status" aria-live="off">
            {state.total !== null && <span>{`${format.plural(state.total, "session")}${rows.length < state.total ? `, ${format.count(rows.length)} loaded` : ""}`}</span>}
            {state.took > 0 && <span>{format.duration(state.took)}</span>}
            {isLive && <span class="chip running"><Icon name="live" small />live</span>}
            {error && rows.length > 0 ? <span class="bad" role="alert">{format.messageOf(error)}</span> : null}
          </div>
        </div>
        {selected && <SessionPeek id={selected} row={rows[at] ?? null} onClose={() => select(null)} />}
      </div>
    </div>
  );
}
