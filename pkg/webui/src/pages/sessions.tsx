// The list of sessions: filtered, sorted, live, with a peek at the one that is selected.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, isAbort } from "../api/client.ts";
import type { SessionPage, SessionRow } from "../api/types.ts";
import { addCommands, keysOf } from "../app/keymap.ts";
import { go, href, route, setParams } from "../app/router.ts";
import { addTerm, compile, type Term } from "../model/filter.ts";
import * as format from "../model/format.ts";
import { Empty, Problem } from "../parts/common.tsx";
import { barId, FilterBar } from "../parts/filterbar.tsx";
import { Icon } from "../parts/icon.tsx";
import { dateRange, defaultRange, rangeLabel, RangePicker } from "../parts/range.tsx";
import { Table, Value, type Column } from "../parts/table.tsx";
import { Histogram } from "./histogram.tsx";
import { fieldNames, valuesOf } from "./completion.ts";
import { SessionPeek } from "./sessionpeek.tsx";

const pageSize = 100;

/** How often a live list asks for what is new, in milliseconds. */
const liveEvery = 2000;

interface State {
  key: string;
  rows: SessionRow[];
  cursor: string | null;
  total: number | null;
  took: number;
}

const empty: State = { key: "", rows: [], cursor: null, total: null, took: 0 };

export function SessionsPage() {
  const { params } = route.value;
  const query = params.get("q") ?? "";
  const range = params.get("range") ?? defaultRange;
  const sort = params.get("sort") ?? "start";
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
  const fields = useMemo(() => fieldNames("sessions"), []);
  const current = useRef(state);
  current.current = state;

  const body = (extra: Record<string, unknown>) => ({
    filters: compiled.filters, event_filters: compiled.eventFilters, dateRange: dateRange(range), sort, order: ascending ? "asc" : "desc", limit: pageSize, ...extra,
  });
  const ask = (extra: Record<string, unknown>, signal: AbortSignal) => call<SessionPage>("v1/sessions/search", { method: "POST", body: body(extra), signal });

  useEffect(() => {
    if (compiled.problem) return;
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
    let timer = 0;
    const mine = new AbortController();
    const tick = async () => {
      try {
        const page = await ask({}, mine.signal);
        const before = current.current;
        const known = new Set(before.rows.map((r) => r.session_id));
        const news = page.sessions.filter((r) => !known.has(r.session_id));
        const byId = new Map(page.sessions.map((r) => [r.session_id, r]));
        setState({ ...before, rows: [...news, ...before.rows.map((r) => byId.get(r.session_id) ?? r)], total: before.total === null ? null : before.total + news.length });
        if (news.length > 0) setFresh(new Set(news.map((r) => r.session_id)));
      } catch {
        if (!mine.signal.aborted) setParams({ live: null }, true);
      }
      if (!mine.signal.aborted) timer = setTimeout(() => void tick(), liveEvery);
    };
    timer = setTimeout(() => void tick(), liveEvery);
    return () => {
      mine.abort();
      clearTimeout(timer);
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
        setLoading(false);
      },
      (e) => {
        setError(e);
        setLoading(false);
      },
    );
  };

  const rows = state.rows;
  const at = rows.findIndex((r) => r.session_id === selected);
  const select = (id: string | null) => setParams({ s: id, live: null }, true);
  const open = (id: string) => go(href(["session", id]));
  useEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Next session", group: "List", run: () => { const r = rows[Math.min(rows.length - 1, at + 1)]; if (r) select(r.session_id); } },
    { id: "previous", keys: ["k", "arrowup"], label: "Previous session", group: "List", run: () => { const r = rows[Math.max(0, at - 1)]; if (r) select(r.session_id); } },
    { id: "open", keys: ["enter"], label: "Open the session", group: "List", run: () => { if (selected) open(selected); } },
    { id: "filter", keys: ["f", "/"], label: "Filter", group: "List", run: () => document.getElementById(barId)?.focus() },
    { id: "live", keys: ["l"], label: "Live", group: "List", run: () => setParams({ live: live ? null : "1", sort: null, order: null, s: null }, true) },
    { id: "undo", keys: ["u"], label: "Undo the last filter", group: "List", run: () => history.back() },
    { id: "errors-only", keys: ["e"], label: "Only sessions with errors", group: "List", run: () => setParams({ q: addTerm(query, { field: "errors", operator: ">", value: "0" }) }) },
    { id: "close", keys: ["escape"], label: "Stop loading, or close the peek", group: "List", run: () => { if (loading) stop.current?.abort(); else select(null); } },
  ]), [rows, at, selected, query, live, loading]);

  const pick = (field: string, value: string) => (exclude: boolean) => setParams({ q: addTerm(query, { field, operator: exclude ? "-:" : ":", value } as Term), s: null });
  const now = Date.now();
  const metricNames = useMemo(() => [...new Set(rows.flatMap((r) => Object.keys(r.metrics ?? {})))].slice(0, 3), [rows]);
  const own = (params.get("cols") ?? "").split(",").filter(Boolean);
  const columns: Column<SessionRow>[] = [
    { id: "start", label: "Start", width: 96, sort: "start", cell: (r) => <span class="faint" title={format.time(r.start_time)}>{format.shortTime(r.start_time, now)}</span> },
    { id: "name", label: "Session", width: 180, cell: (r) => <><Value text={r.session_name} onPick={pick("name", r.session_name)} className="strong" />{r.num_errors > 0 && <span class="chip bad" title={r.error ?? ""}><Icon name="alert" small />{r.num_errors}</span>}</> },
    { id: "input", label: "Input", width: 180, grow: true, cell: (r) => <span class="ellipsis" title={r.input}>{r.input ?? <span class="faint">–</span>}</span> },
    { id: "output", label: "Output", width: 180, grow: true, cell: (r) => <span class="ellipsis" title={r.error ?? r.output}>{r.error ? <span class="bad">{r.error}</span> : r.output ?? <span class="faint">–</span>}</span> },
    { id: "user", label: "User", width: 110, cell: (r) => (r.user_id ? <Value text={r.user_id} onPick={pick("user", r.user_id)} /> : <span class="faint">–</span>) },
    ...metricNames.map((m): Column<SessionRow> => ({ id: `metric-${m}`, label: m, width: 90, right: true, cell: (r) => (r.metrics && m in r.metrics ? <span class="ellipsis">{format.value(r.metrics[m])}</span> : <span class="faint">–</span>) })),
    ...own.map((c): Column<SessionRow> => ({ id: `own-${c}`, label: c, width: 130, cell: (r) => { const v = r.metadata?.[c]; return v === undefined ? <span class="faint">–</span> : <Value text={format.value(v)} onPick={pick(`metadata.${c}`, format.value(v))} />; } })),
    { id: "duration", label: "Duration", width: 90, right: true, sort: "duration", cell: (r) => format.duration(r.duration) },
    { id: "events", label: "Events", width: 76, right: true, sort: "events", cell: (r) => format.count(r.num_events) },
    { id: "tokens", label: "Tokens", width: 80, right: true, sort: "tokens", cell: (r) => (r.tokens.total > 0 ? <span title={`${format.count(r.tokens.prompt)} in, ${format.count(r.tokens.completion)} out`}>{format.short(r.tokens.total)}</span> : <span class="faint">–</span>) },
    { id: "cost", label: "Cost", width: 104, right: true, sort: "cost", cell: (r) => (r.cost !== undefined ? format.cost(r.cost) : <span class="faint">–</span>) },
  ];
  const keys = useMemo(() => [...new Set(rows.flatMap((r) => Object.keys(r.metadata ?? {})))].filter((k) => !totals.has(k)).sort(), [rows]);
  const filtered = query !== "" || range !== "all";
  return (
    <div class="page">
      <header>
        <h1>Sessions</h1>
        <span class="grow" />
        <button type="button" class="button" aria-pressed={isLive} title={`Live (${keysOf("live")})`} onClick={() => setParams({ live: live ? null : "1", sort: null, order: null, s: null }, true)}><Icon name={isLive ? "pause" : "live"} small />{isLive ? "Pause" : "Live"}</button>
        <button type="button" class="button icon" popoverTarget="columns-menu" title="Columns" aria-label="Columns"><Icon name="columns" small /></button>
        <div id="columns-menu" class="menu columns-menu" popover="auto">
          {keys.length === 0 && <p class="faint">No metadata in these rows</p>}
          {keys.map((k) => (
            <button key={k} type="button" aria-pressed={own.includes(k)} onClick={() => setParams({ cols: (own.includes(k) ? own.filter((c) => c !== k) : [...own, k]).join(",") }, true)}>
              <span class="grow">{k}</span>{own.includes(k) && <Icon name="check" small />}
            </button>
          ))}
        </div>
      </header>
      <div class="filters">
        <FilterBar text={query} of="sessions" fields={fields} values={(field, typed) => valuesOf("sessions", field, typed, rows)} onChange={(q) => setParams({ q, s: null })} />
        <RangePicker range={range} onChange={(r) => setParams({ range: r === defaultRange ? null : r, s: null })} />
      </div>
      <Histogram range={range} filters={[{ field: "event_type", operator: "is", value: "session" }, ...compiled.filters.filter((f) => !f.field.startsWith("totals."))]} onRange={(r) => setParams({ range: r })} turn={turn} />
      <div class="split">
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
            <Table label="Sessions" columns={columns} rows={rows} rowId={(r) => r.session_id} rowHeight={coarse.matches ? 44 : 32} selected={selected} fresh={fresh}
              sort={{ by: sort, ascending }} onSort={(by) => setParams({ sort: by === "start" ? null : by, order: sort === by && !ascending ? "asc" : null, live: null })}
              onSelect={select} onOpen={open} onEnd={more} total={state.total} />
          )}
          <div class="foot" role="status" aria-live="off">
            {state.total !== null && <span>{`${format.plural(state.total, "session")}${rows.length < state.total ? `, ${format.count(rows.length)} loaded` : ""}`}</span>}
            {state.took > 0 && <span>{format.duration(state.took)}</span>}
            {isLive && <span class="chip running"><Icon name="live" small />live</span>}
            {error && rows.length > 0 ? <span class="bad" role="alert">{error instanceof Error ? error.message : String(error)}</span> : null}
          </div>
        </div>
        {selected && <SessionPeek id={selected} row={rows[at] ?? null} onClose={() => select(null)} />}
      </div>
    </div>
  );
}

const coarse = matchMedia("(pointer: coarse)");

/** Members of metadata that stand in columns of their own. */
const totals = new Set(["num_events", "num_model_events", "has_feedback", "cost", "total_tokens", "prompt_tokens", "completion_tokens"]);
