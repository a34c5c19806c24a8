// The list of events, or of completions: those of model calls.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isAbort } from "../api/client.ts";
import { forget, loadPreviews, previewOf, readEvent, readField } from "../api/cache.ts";
import { searchFields, type EventPage } from "../api/search.ts";
import type { EventSearch, Filter } from "../api/types.gen.ts";
import { addCommands, keysOf } from "../app/keymap.ts";
import { go, href, route, setParams } from "../app/router.ts";
import { readColumns } from "../model/columns.ts";
import { addTerm, compile } from "../model/filter.ts";
import * as format from "../model/format.ts";
import { scoreNames } from "../model/scores.ts";
import { density, rowHeight } from "../parts/columnmenu.tsx";
import { Empty, Problem, useLoaded, useRested } from "../parts/common.tsx";
import { EventTitle, EventView } from "../parts/eventview.tsx";
import { barId, FilterBar } from "../parts/filterbar.tsx";
import { Icon, TypeIcon } from "../parts/icon.tsx";
import { dateRange, defaultRange, rangeLabel, RangePicker } from "../parts/range.tsx";
import { Table, Value, type Column } from "../parts/table.tsx";
import { Annotate } from "./annotate.tsx";
import { Comments } from "./comments.tsx";
import { ChoiceBar, useChoice } from "./choice.tsx";
import { useFields, valuesOf } from "./completion.ts";
import { Histogram } from "./histogram.tsx";
import { ViewsMenu } from "./views.tsx";
import { chooseColumns, ExportMenu, facetsOpen, ListFacets, toggleFacets } from "./listview.tsx";

const pageSize = 100;
/** What the list reads of events: fields, and paths in others. */
const rowFields = ["event_id", "session_id", "event_type", "event_name", "source", "error", "start_time", "duration", "metrics"] as const;
const rowPaths = ["metadata.cost", "metadata.total_tokens", "metadata.prompt_tokens", "metadata.completion_tokens", "user_properties.user_id"];

/** The total of a call's tokens, or else the sum of those of prompt and completion, as sessions count them. */
function tokensOf(m: Row["metadata"]): number | undefined {
  const [total, ...parts] = ["total_tokens", "prompt_tokens", "completion_tokens"].map((k) => (typeof m?.[k] === "number" ? m[k] : undefined));
  return total ?? (parts.some((n) => n !== undefined) ? (parts[0] ?? 0) + (parts[1] ?? 0) : undefined);
}

type Page = EventPage<(typeof rowFields)[number]>;
type Row = Page["events"][number];

const completionsOnly: Filter[] = [{ field: "event_type", operator: "is", value: "model" }];
const none: Filter[] = [];

interface State {
  rows: Row[];
  total: number;
  cursor: string | null;
  took: number;
  key: string;
}

export function EventsPage({ completions }: { completions: boolean }) {
  const { params } = route.value;
  const query = params.get("q") ?? "";
  const range = params.get("range") ?? defaultRange;
  const sort = (params.get("sort") ?? "start") as NonNullable<EventSearch["sort"]>; // of another one the server says what is wrong
  const ascending = params.get("order") === "asc";
  const selected = params.get("s");
  const compiled = useMemo(() => compile(query, "events"), [query]);
  const filters = useMemo(() => ([...(completions ? completionsOnly : none), ...compiled.filters]), [compiled, completions]);
  const asked = params.get("cols") ?? "";
  const key = JSON.stringify([filters, range, asked, sort, ascending]);
  const [state, setState] = useState<State>({ rows: [], total: 0, cursor: null, took: 0, key: "" });
  const [error, setError] = useState<unknown>(null);
  const [loading, setLoading] = useState(true);
  const [turn, setTurn] = useState(0);
  const [, redraw] = useState(0);
  const stop = useRef<AbortController | null>(null);

  const fields = useFields("events");

  const body = (cursor: string | null, limit: number): EventSearch => ({
    filters, dateRange: dateRange(range), sort, order: ascending ? "asc" : "desc", limit, ...(cursor === null ? {} : { cursor, total: "none" }),
  });
  const ask = (cursor: string | null, signal: AbortSignal): Promise<Page> =>
    searchFields(rowFields, [...rowPaths, ...(readColumns(asked) ?? []).filter((c) => c.includes("."))], body(cursor, pageSize), signal);

  useEffect(() => {
    if (compiled.problem) return setLoading(false);
    const mine = new AbortController();
    stop.current = mine;

    setLoading(true);
    const began = performance.now();
    ask(null, mine.signal).then(
      (answer) => {
        setState({ rows: answer.events, total: answer.totalEvents ?? 0, cursor: answer.next_cursor ?? null, took: performance.now() - began, key });
        setError(null);
        setLoading(false);
      },
      (e) => {
        if (!isAbort(e)) setError(e);
        setLoading(false);
      },
    );
    return () => mine.abort();
  }, [key, turn]);

  const more = () => {
    if (loading || state.key !== key || state.cursor === null) return;
    const mine = new AbortController();
    stop.current = mine;
    setLoading(true);
    ask(state.cursor, mine.signal).then(
      (answer) => {
        setState((s) => (s.key === key ? { ...s, rows: [...s.rows, ...answer.events], cursor: answer.next_cursor ?? null } : s));
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
  const at = rows.findIndex((r) => r.event_id === selected);
  const select = (id: string | null) => setParams({ s: id }, true);
  const open = (id: string) => {
    const row = rows.find((r) => r.event_id === id);
    if (row) go(href(["session", row.session_id], { e: id }));
  };
  const choice = useChoice(rows.map((r) => r.event_id), selected, JSON.stringify([filters, range]), select);
  const undoable = useRef(query);
  undoable.current = query;
  useLayoutEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Next event", group: "List", run: () => { const r = rows[Math.min(rows.length - 1, at + 1)]; if (r) select(r.event_id); } },
    { id: "previous", keys: ["k", "arrowup"], label: "Previous event", group: "List", run: () => { const r = rows[Math.max(0, at - 1)]; if (r) select(r.event_id); } },
    { id: "open", keys: ["enter"], label: "Open in its session", group: "List", run: () => { if (selected) open(selected); } },
    { id: "filter", keys: ["f", "/"], label: "Filter", group: "List", run: () => document.getElementById(barId)?.focus() },
    { id: "undo", keys: ["u"], label: "Undo the last filter", group: "List", run: () => history.back() },
    { id: "facets", keys: ["b"], label: "Facets", group: "List", run: toggleFacets },
    { id: "errors-only", keys: ["e"], label: "Only events with errors", group: "List", run: () => setParams({ q: addTerm(undoable.current, { field: "error", operator: "has", value: "" }) }) },
    { id: "close", keys: ["escape"], label: "Stop loading, select nothing, or close the peek", group: "List", run: () => { if (loading) stop.current?.abort(); else if (choice.any) choice.clear(); else select(null); } },
  ]), [rows, at, selected, loading, choice.any]);

  const pick = (field: string, value: string) => (exclude: boolean) => setParams({ q: addTerm(query, { field, operator: exclude ? "-:" : ":", value }), s: null });
  const now = Date.now();
  const metricNames = useMemo(() => scoreNames(rows.flatMap((r) => Object.keys(r.metrics ?? {}))).slice(0, 3), [rows]);
  const standard: Column<Row>[] = [
    { id: "start", label: "Start", width: 104, sort: "start", cell: (r) => <span class="faint" title={format.time(r.start_time)}>{format.shortTime(r.start_time, now)}</span> },
    { id: "name", label: completions ? "Completion" : "Event", width: 210, grow: 1, cell: (r) => <><TypeIcon type={r.event_type} small /><Value text={r.event_name} onPick={pick("name", r.event_name)} className="strong" />{r.error && <span class="chip bad" title={r.error}><Icon name="alert" small />error</span>}<Commented id={r.event_id} /></> },
    { id: "model", label: "Model", width: 130, cell: (r) => { const model = previewOf(r.event_id)?.model; return model ? <Value text={model} onPick={pick("model", model)} /> : <span class="faint">–</span>; } },
    { id: "input", label: "Input", width: 180, grow: 2, cell: (r) => <span class="ellipsis">{previewOf(r.event_id)?.input ?? <span class="faint">–</span>}</span> },
    { id: "output", label: "Output", width: 180, grow: 2, cell: (r) => <span class="ellipsis">{r.error ? <span class="bad">{r.error}</span> : previewOf(r.event_id)?.output ?? <span class="faint">–</span>}</span> },
    { id: "duration", label: "Duration", width: 90, right: true, sort: "duration", cell: (r) => format.duration(r.duration) },
    { id: "tokens", label: "Tokens", width: 80, right: true, sort: "tokens", cell: (r) => { const n = tokensOf(r.metadata); return n !== undefined ? format.short(n) : <span class="faint">–</span>; } },
    { id: "cost", label: "Cost", width: 104, right: true, sort: "cost", cell: (r) => { const c = r.metadata?.cost; return typeof c === "number" ? format.cost(c) : <span class="faint">–</span>; } },
    { id: "type", label: "Type", width: 84, cell: (r) => <Value text={r.event_type} onPick={pick("type", r.event_type)} /> },
    { id: "source", label: "Source", width: 110, cell: (r) => <Value text={r.source} onPick={pick("source", r.source)} /> },
    { id: "user", label: "User", width: 110, cell: (r) => { const u = r.user_properties?.user_id; return typeof u === "string" ? <Value text={u} onPick={pick("user", u)} /> : <span class="faint">–</span>; } },
    { id: "session", label: "Session", width: 110, cell: (r) => <Value text={r.session_id} onPick={pick("session", r.session_id)} /> },
  ];
  const byItself = ["start", "name", "model", "input", "output", ...metricNames.map((m) => `metrics.${m}`), "duration", "tokens", "cost"];
  const { columns, menu } = chooseColumns(standard, byItself, fields.paths, pick);

  useEffect(() => { void loadPreviews(rows.slice(-pageSize).map((r) => r.event_id)).then((fresh) => { if (fresh) redraw((n) => n + 1); }); }, [rows]);

  const ids = async (signal: AbortSignal) => (await searchFields(["event_id"], [], body(null, 1000), signal)).events.map((e) => e.event_id);
  const reread = () => setTurn((n) => n + 1);
  const gone = (all: boolean) => { // what is shown beside the list may be gone with them
    if (all || choice.ids.includes(selected ?? "")) select(null);
    reread();
  };

  const filtered = query !== "" || range !== "all";
  const title = completions ? "Completions" : "All events";
  return (
    <div class="page">
      <header>
        <h1>{title}</h1>
        <ViewsMenu of={completions ? "completions" : "events"} />
        <span class="grow" />
        {menu}
        <ExportMenu name="events" total={state.total} columns={columns.map((c) => c.id)} search={() => body(null, 1)} range={range} saving={stop} onDeleted={() => gone(true)} onBusy={setLoading} onError={setError} />
      </header>
      <div class="filters">
        <button type="button" class="button icon" aria-pressed={facetsOpen.value} title={`Facets (${keysOf("facets")})`} aria-label="Facets" onClick={toggleFacets}><Icon name="rail" small /></button>
        <FilterBar text={query} of="events" fields={fields.names} values={(field, typed) => valuesOf("events", field, typed)} onChange={(q) => setParams({ q, s: null })} />
        <RangePicker range={range} onChange={(r) => setParams({ range: r === defaultRange ? null : r, s: null })} />
      </div>
      <Histogram range={range} filters={filters} onRange={(r) => setParams({ range: r })} turn={turn} />
      <div class="split">
        {facetsOpen.value && <ListFacets of="events" query={query} also={completions ? completionsOnly : none} range={range} turn={turn} paths={fields.paths} />}
        <div class="main">
          {loading && <div class="progress" role="progressbar" aria-label="Loading" />}
          {error && rows.length === 0 ? <Problem error={error} retry={() => setTurn((n) => n + 1)} /> : rows.length === 0 && !loading ? (
            <Empty title={filtered ? "No event matches" : "No events yet"}>
              {filtered ? <p>{`${query ? `Filter: ${query}. ` : ""}Range: ${rangeLabel(range)}.`}</p> : <p>What your application sends appears here.</p>}
              <div class="form-end">
                {query && <button class="button" onClick={() => setParams({ q: null })}>Clear the filter</button>}
                {range !== "all" && <button class="button" onClick={() => setParams({ range: "all" })}>All time</button>}
                <a class="button" href={href(["start"])}>How to send events</a>
              </div>
            </Empty>
          ) : (
            <Table label={title} columns={columns} rows={rows} rowId={(r) => r.event_id} rowHeight={rowHeight()} lines={density.value === "comfortable" ? 2 : 1} selected={selected}
              sort={{ by: sort, ascending }} onSort={(by) => setParams({ sort: by === "start" ? null : by, order: sort === by && !ascending ? "asc" : null })} onSelect={select} onOpen={open} onEnd={more} total={state.total} choice={choice.table} />
          )}
          <ChoiceBar of="events" choice={choice} total={state.total} search={body(null, 1)} range={range} ids={ids} onDeleted={() => gone(choice.all)} onError={setError} />
          <div class="foot" role="status" aria-live="off">
            <span>{`${format.plural(state.total, "event")}${rows.length < state.total ? `, ${format.count(rows.length)} loaded` : ""}`}</span>
            {state.took > 0 && <span>{format.duration(state.took)}</span>}
            {error && rows.length > 0 ? <span class="bad" role="alert">{format.messageOf(error)}</span> : null}
          </div>
        </div>
        {selected && <Peek id={selected} row={rows[at] ?? null} onClose={() => select(null)} onOpen={() => open(selected)} onFilter={(field, value, exclude) => pick(field, value)(exclude)} />}
      </div>
    </div>
  );
}

/** How many comments are on an event, if its preview has come. */
function Commented({ id }: { id: string }) {
  const n = previewOf(id)?.comments;
  return n ? <span class="chip" title={format.plural(n, "comment")}><Icon name="comment" small />{n}</span> : null;
}

function Peek({ id, row, onClose, onOpen, onFilter }: { id: string; row: Row | null; onClose: () => void; onOpen: () => void; onFilter: (field: string, value: string, exclude: boolean) => void }) {
  const rested = useRested(id, 80);
  const event = useLoaded(rested, (signal) => readEvent(rested, signal));
  const current = event.value?.event_id === id ? event.value : null;
  return (
    <aside class="peek" aria-label="Event">
      <header>
        <EventTitle type={row?.event_type ?? current?.event_type ?? "generic"} name={row?.event_name ?? current?.event_name ?? id} />
        <button type="button" class="button" onClick={onOpen}>Open in its session</button>
        <button type="button" class="button plain icon" aria-label="Close" title="Close (Esc)" onClick={onClose}><Icon name="close" small /></button>
      </header>
      <div class="scroll">
        {event.loading && <div class="progress" />}
        {event.error && !current ? <Problem error={event.error} retry={event.reload} /> : current && (
          <>
            <Annotate event={current} session={current.session_id} onChange={() => { forget(id); event.reload(); }} />
            <EventView event={current} field={(name, signal) => readField(id, name, signal)} onFilter={onFilter} />
            <Comments key={id} event={id} />
          </>
        )}
      </div>
    </aside>
  );
}
