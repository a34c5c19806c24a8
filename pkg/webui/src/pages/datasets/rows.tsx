// The datapoints of a dataset: a column for each key, edited where they stand. Values are handled as their JSON, so that every digit stays.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, call, isAbort, text } from "../../api/client.ts";
import type { CreateDatapointAnswer, GetDatasetSplitsAnswer } from "../../api/types.gen.ts";
import { addCommands, keysOf } from "../../app/keymap.ts";
import { href, route, setParams } from "../../app/router.ts";
import { columnLabel, readColumns, writeColumns } from "../../model/columns.ts";
import { parts } from "../../model/datafile.ts";
import * as format from "../../model/format.ts";
import { elements, members, object, pretty, shown, written } from "../../model/raw.ts";
import { ColumnMenu, density, rowHeight } from "../../parts/columnmenu.tsx";
import { Dialog, Empty, Problem, useLoaded, useRested } from "../../parts/common.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Table, type Column } from "../../parts/table.tsx";

interface Row {
  id: string;
  version: number;
  raw: Record<string, string>; // the parts, as JSON
  cells: Map<string, string>; // by column
  event: string | null;
  sets: number; // datasets that have it
  deleted: boolean;
}

interface Loaded {
  rows: Row[];
  cursor: string | null;
  total: number;
  looked: number;
  key: string;
}

/** A change that can be taken back. */
interface Step {
  label: string;
  undo: () => Promise<void>;
  id?: string; // of the datapoint whose contents were changed
  version?: number; // of its contents since
}

interface Draft {
  id: string;
  column: string; // a cell, a part as a whole, or history
  text: string;
  isText: boolean;
  before: string; // what it was, as JSON
}

const pageSize = 100, shownColumns = 12;

function cellsOf(raw: Record<string, string>): Map<string, string> {
  const cells = new Map<string, string>();
  for (const part of parts) for (const [key, value] of members(raw[part]!)) cells.set(`${part}.${key}`, value);
  if (raw.history !== "[]") cells.set("history", raw.history!);
  return cells;
}

async function load(id: string, query: URLSearchParams, signal: AbortSignal): Promise<Omit<Loaded, "key">> {
  const answer = members(await text(`v1/datasets/${encodeURIComponent(id)}/rows?${query}`, { signal }));
  const rows = elements(answer.get("rows")!).map((r): Row => {
    const row = members(r), point = members(row.get("datapoint")!);
    const raw = Object.fromEntries([...parts, "history"].map((p) => [p, point.get(p)!]));
    const event = shown(point.get("linked_event") ?? "null");
    return { id: shown(point.get("id")!), version: Number(row.get("datapoint_version")), raw, cells: cellsOf(raw), event: event === "null" ? null : event, sets: elements(point.get("linked_datasets")!).length, deleted: point.get("deleted") === "true" };
  });
  const cursor = shown(answer.get("next_cursor")!);
  return { rows, cursor: cursor === "null" ? null : cursor, total: Number(answer.get("total")), looked: Number(answer.get("looked_at")) };
}

export function Rows({ id, name, current, may, onChange }: { id: string; name: string; current: number; may: boolean; onChange: () => void }) {
  const { params } = route.value;
  const get = (p: string) => params.get(p) ?? "";
  const [words, field, value, version, selected] = [get("text"), get("field"), get("value"), get("version"), params.get("s")];
  const [typed, setTyped] = useState(words);
  const rested = useRested(typed, 250);
  const [turn, setTurn] = useState(0);
  const query = new URLSearchParams(Object.entries({ text: words, field, value: field && value, version }).filter(([, v]) => v));
  const key = `${query} ${turn}`;
  const [state, setState] = useState<Loaded>({ rows: [], cursor: null, total: 0, looked: 0, key: "" });
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(true);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const [cell, setCell] = useState("");
  const [draft, setDraft] = useState<Draft | null>(null);
  const [problem, setProblem] = useState("");
  const [note, setNote] = useState("");
  const [removing, setRemoving] = useState(false);
  const [splits, setSplits] = useState(localStorage.getItem("spangrove.splits") !== "closed" && innerWidth > 900);
  const steps = useRef<Step[]>([]);
  const saving = useRef(false);
  const stop = useRef<AbortController | null>(null);

  const ask = (cursor: string | null) => {
    stop.current?.abort();
    const mine = (stop.current = new AbortController());
    setBusy(true);
    load(id, new URLSearchParams([...query, ["limit", String(pageSize)], ...(cursor ? [["cursor", cursor]] : [])] as [string, string][]), mine.signal).then((page) => {
      setState((s) => (cursor && s.key === key ? { ...page, key, looked: s.looked + page.looked, rows: [...s.rows, ...page.rows] } : { ...page, key }));
      setError(null);
      setBusy(false);
    }, (e) => {
      if (isAbort(e)) return;
      setError(e);
      setBusy(false);
    });
  };
  useEffect(() => { ask(null); return () => stop.current?.abort(); }, [key]);
  useEffect(() => { if (rested !== words && rested === typed) setParams({ text: rested, s: null }, true); }, [rested]);
  useEffect(() => setTyped(words), [words]);

  const { rows } = state;
  const at = rows.findIndex((r) => r.id === selected);
  const row = rows[at] ?? null;
  const all = [...parts, "history"].flatMap((part) => [...new Set(rows.flatMap((r) => [...r.cells.keys()].filter((c) => c === part || c.startsWith(`${part}.`))))]);
  const asked = readColumns(params.get("cols"));
  const ids = asked ?? all.slice(0, shownColumns);

  /** Puts a part of a datapoint in place of what it was, and says how it is taken back. */
  const write = async (r: Row, part: string, json: string, label: string): Promise<[Step, Row]> => {
    await call(`v1/datapoints/${r.id}`, { method: "PUT", json: `{${JSON.stringify(part)}:${json},"if_version":${r.version}}` });
    const raw = { ...r.raw, [part]: json };
    const next: Row = { ...r, raw, cells: cellsOf(raw), version: json === r.raw[part] ? r.version : r.version + 1 };
    setState((s) => ({ ...s, rows: s.rows.map((x) => (x.id === r.id ? next : x)) }));
    onChange();
    const step: Step = {
      label, id: r.id, version: next.version, undo: async () => {
        const [{ version }] = await write({ ...next, version: step.version! }, part, r.raw[part]!, label);
        for (const before of steps.current) if (before.id === r.id && before.version === r.version) before.version = version; // its contents are there again
      },
    };
    return [step, next];
  };
  const done = (step: Step) => {
    steps.current.push(step);
    setNote(step.label);
    setProblem("");
  };
  /** Saves what was typed, and resolves to the datapoint as it is then; to null if it is not saved. */
  const save = async (d: Draft): Promise<Row | null> => {
    const r = rows.find((x) => x.id === d.id);
    const json = written(d.text, d.isText);
    const refuse = (why: string) => {
      setProblem(why);
      return null;
    };
    if (!r) return null;
    if (json === null) return refuse("This is no JSON. Put a text between quotes, or choose Text.");
    const dot = d.column.indexOf(".");
    const part = dot > 0 ? d.column.slice(0, dot) : d.column;
    if (dot < 0 && (json[0] !== (part === "history" ? "[" : "{"))) return refuse(part === "history" ? "The history must be an array of objects." : `All of ${part} must be an object.`);
    if (json === (dot > 0 ? r.cells.get(d.column) : r.raw[part])) {
      setDraft(null);
      return r;
    }
    if (saving.current) return null; // Enter was pressed twice
    saving.current = true;
    try {
      const [step, next] = await write(r, part, dot > 0 ? object(members(r.raw[part]!).set(d.column.slice(dot + 1), json)) : json, `Changed ${d.column}`);
      done(step);
      setDraft(null);
      return next;
    } catch (e) {
      if (!(e instanceof ApiError && e.status === 409)) return refuse(format.messageOf(e));
      setTurn((n) => n + 1);
      return refuse("Somebody else has changed this datapoint meanwhile. The list has theirs now; your text is still here, and saving again puts it over theirs.");
    } finally {
      saving.current = false;
    }
  };
  const undo = async () => {
    const step = steps.current.pop();
    if (!step) return setNote("Nothing to undo");
    try {
      await step.undo();
      setNote(`Undone: ${step.label}`);
      setProblem("");
    } catch (e) {
      setProblem(e instanceof ApiError && e.status === 409 ? `Not undone, since somebody else has changed this datapoint after you: ${step.label}` : `Not undone: ${e instanceof Error ? e.message : e}`);
    }
  };
  const change = (body: object) => call(`v1/datasets/${encodeURIComponent(id)}?ids=false`, { method: "PUT", body });
  const again = () => { setTurn((n) => n + 1); onChange(); };
  const doomed = marked.size > 0 ? [...marked] : row ? [row.id] : [];
  const remove = async () => {
    const gone = doomed;
    setRemoving(false);
    try {
      await change({ remove_datapoints: gone });
      setMarked(new Set());
      setParams({ s: null }, true);
      again();
      done({ label: `Removed ${format.plural(gone.length, "datapoint")}`, undo: async () => { await change({ add_datapoints: gone }); again(); } });
    } catch (e) {
      setProblem(format.messageOf(e));
    }
  };
  /** Adds a datapoint with the keys that the others have, empty, behind those that are loaded. */
  const add = async () => {
    const empty = (part: string) => object(all.filter((c) => c.startsWith(`${part}.`)).map((c) => [c.slice(part.length + 1), '""']));
    const raw: Record<string, string> = { inputs: all.length > 0 ? empty("inputs") : '{"question":""}', ground_truth: all.length > 0 ? empty("ground_truth") : '{"answer":""}', metadata: "{}", history: "[]" };
    try {
      const made = (await call<CreateDatapointAnswer>("v1/datapoints", { method: "POST", json: `${object(Object.entries(raw)).slice(0, -1)},"linked_datasets":${JSON.stringify([id])}}` })).result.insertedId;
      const r: Row = { id: made, version: 1, raw, cells: cellsOf(raw), event: null, sets: 1, deleted: false };
      setState((s) => ({ ...s, total: s.total + 1, rows: [...s.rows, r] }));
      onChange();
      select(made);
      void edit(r, [...r.cells.keys()][0] ?? "inputs");
      done({ label: "Added a datapoint", undo: async () => { await change({ remove_datapoints: [made] }); again(); } });
    } catch (e) {
      setProblem(format.messageOf(e));
    }
  };
  const edit = async (of: Row | null, column: string) => {
    if (!may || !of || of.deleted || !column) return;
    const saved = draft && await save(draft); // what was typed elsewhere is not lost
    if (draft && !saved) return;
    const r = saved?.id === of.id ? saved : of;
    const before = column.includes(".") || column === "history" ? r.cells.get(column) ?? (column === "history" ? "[]" : '""') : r.raw[column]!;
    const isText = before.startsWith('"');
    setCell(column);
    setProblem("");
    setDraft({ id: r.id, column, isText, before, text: isText ? shown(before) : pretty(before) });
  };
  const mark = (r: Row | null) => { if (r && may) setMarked((m) => { const next = new Set(m); if (!next.delete(r.id)) next.add(r.id); return next; }); };
  const select = (s: string | null) => { if (s !== selected) setParams({ s }, true); };
  const step = (by: number) => { const r = rows[Math.max(0, Math.min(rows.length - 1, at + by))]; if (r) select(r.id); };
  const aside = (by: number) => setCell(ids[Math.max(0, Math.min(ids.length - 1, ids.indexOf(cell) + by))] ?? "");
  useLayoutEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Next datapoint", group: "Datapoints", run: () => step(1) },
    { id: "previous", keys: ["k", "arrowup"], label: "Previous datapoint", group: "Datapoints", run: () => step(-1) },
    { id: "cell-right", keys: ["arrowright", "h"], label: "Next column", group: "Datapoints", run: () => aside(1) },
    { id: "cell-left", keys: ["arrowleft"], label: "Previous column", group: "Datapoints", run: () => aside(-1) },
    { id: "filter", keys: ["f", "/"], label: "Find in texts", group: "Datapoints", run: () => document.getElementById("find")?.focus() },
    { id: "facets", keys: ["b"], label: "Splits", group: "Datapoints", run: () => setSplits((open) => { localStorage.setItem("spangrove.splits", open ? "closed" : "open"); return !open; }) },
    { id: "close", keys: ["escape"], label: "Close the datapoint", group: "Datapoints", run: () => { setDraft(null); select(null); } },
    ...(!may ? [] : [
      { id: "edit", keys: ["enter", "e"], label: "Edit the cell", group: "Datapoints", run: () => void edit(row, cell || ids[0] || "") },
      { id: "undo", keys: ["u", "mod+z"], label: "Undo the last change", group: "Datapoints", run: () => void undo() },
      { id: "mark", keys: ["x"], label: "Mark the datapoint", group: "Datapoints", run: () => mark(row) },
      { id: "add", keys: ["n"], label: "Add a datapoint", group: "Datapoints", run: () => void add() },
      { id: "remove", keys: ["delete", "shift+delete"], label: "Remove from the dataset", group: "Datapoints", run: () => { if (doomed.length > 0) setRemoving(true); } },
    ]),
  ]), [rows, at, selected, cell, marked, may, params]);

  // As wide as what the first rows have, within bounds.
  const widths = new Map(ids.map((c) => [c, Math.max(60 + 6 * Math.min(30, c.length), Math.min(260, Math.max(0, ...rows.slice(0, 50).map((r) => 24 + 7 * (r.cells.get(c)?.length ?? 0)))))]));
  const editor = draft && <Editor draft={draft} problem={problem} theirs={rows.find((r) => r.id === draft.id)?.cells.get(draft.column) ?? ""} onSave={() => void save(draft)} onCancel={() => { setDraft(null); setProblem(""); }} onKind={(isText) => setDraft({ ...draft, isText })} />;
  const inPeek = draft !== null && !(draft.column.includes(".") && ids.includes(draft.column) && innerWidth > 720);
  // The first click opens the datapoint beside the table, which may move its columns: a double click is of the cell that the first one hit.
  const columns: Column<Row>[] = [
    ...(may ? [{ id: "mark", label: "", width: 40, cell: (r: Row) => <input type="checkbox" tabIndex={-1} aria-label="Mark" checked={marked.has(r.id)} onClick={(e) => { e.stopPropagation(); mark(r); }} /> }] : []),
    ...ids.map((c): Column<Row> => ({
      id: c, label: c, width: widths.get(c)!, grow: widths.get(c)! > 150 ? 1 : 0,
      cell: (r) => {
        if (!inPeek && draft?.id === r.id && draft.column === c) return editor;
        const v = r.cells.get(c);
        const said = v === undefined ? "" : shown(v);
        return <span class={`ellipsis data-cell${r.id === selected && c === cell ? " at" : ""}${v !== undefined && !v.startsWith('"') ? " mono" : ""}`} title={said.slice(0, 400)} onClick={(e) => { if (e.detail < 2) setCell(c); }} onDblClick={(e) => { e.stopPropagation(); void edit(r, cell || c); }}>{v === undefined ? <span class="faint">–</span> : said.slice(0, 300)}</span>;
      },
    })),
  ];
  const filtered = words !== "" || field !== "";
  const clear = () => { setTyped(""); setParams({ text: null, field: null, value: null, s: null }); };
  return (
    <>
      <div class="filters">
        <button type="button" class="button icon" aria-pressed={splits} title={`Splits (${keysOf("facets")})`} aria-label="Splits" onClick={() => setSplits(!splits)}><Icon name="rail" small /></button>
        <div class="bar"><Icon name="search" small /><input id="find" class="input" type="text" value={typed} placeholder="Find in inputs, ground truth, metadata and history" aria-label="Find in texts" onInput={(e) => setTyped(e.currentTarget.value)} onKeyDown={(e) => { if (e.key === "Escape") e.currentTarget.blur(); }} /></div>
        {field && <button type="button" class="button" title="Show all again" onClick={() => setParams({ field: null, value: null, s: null })}><span class="ellipsis">{`${columnLabel(field)}: ${value}`}</span><Icon name="close" small /></button>}
        {version && <a class="button" href={href(["datasets", id])}>{`Version ${version}, read only. To the current one`}</a>}
        <ColumnMenu standard={[]} chosen={ids} fields={all} own={asked !== null} label={columnLabel} onChange={(next) => setParams({ cols: writeColumns(next) }, true)} />
        {may && <button type="button" class="button primary" onClick={() => void add()}><Icon name="plus" small />Add</button>}
      </div>
      <div class="split">
        {splits && <Splits id={id} version={version || String(current)} field={field} value={value} onPick={(f, v) => setParams(f === field && v === value ? { field: null, value: null, s: null } : { field: f, value: v, s: null })} />}
        <div class="main">
          {busy && <div class="progress" role="progressbar" aria-label="Loading" />}
          {error && rows.length === 0 ? <Problem error={error} retry={() => setTurn((n) => n + 1)} /> : rows.length === 0 && !busy ? (
            filtered ? (
              <Empty title="No datapoint matches">
                {state.cursor && <p>{`${format.count(state.looked)} of ${format.count(state.total)} were looked at.`}</p>}
                <div class="form-end">{state.cursor && <button class="button" onClick={() => ask(state.cursor)}>Look on</button>}<button class="button" onClick={clear}>Show all</button></div>
              </Empty>
            ) : (
              <Empty title="No datapoints yet">
                <p>Add one here, import a file, or add events from any list.</p>
                {may && <div class="form-end"><a class="button" href={href(["datasets", id], { view: "import" })}>Import a file</a><button class="button primary" onClick={() => void add()}>Add a datapoint</button></div>}
              </Empty>
            )
          ) : (
            <Table label={`Datapoints of ${name}`} columns={columns} rows={rows} rowId={(r) => r.id} rowHeight={rowHeight()} lines={density.value === "comfortable" ? 2 : 1} selected={selected} onSelect={select} onOpen={select}
              onEnd={() => { if (!busy && state.cursor && state.key === key) ask(state.cursor); }} total={state.total} />
          )}
          <div class="foot" role="status">
            <span>{`${format.plural(state.total, "datapoint")}${filtered ? `, ${format.count(rows.length)}${state.cursor ? " or more" : ""} shown` : rows.length < state.total ? `, ${format.count(rows.length)} loaded` : ""}`}</span>
            {ids.length < all.length && <span>{`${all.length - ids.length} more columns in the menu`}</span>}
            {marked.size > 0 && <><span>{`${marked.size} marked`}</span><button type="button" class="button plain danger" onClick={() => setRemoving(true)}>Remove</button><button type="button" class="button plain" onClick={() => setMarked(new Set())}>Unmark</button></>}
            <span class="grow" />
            {problem && (!draft || inPeek) && <span class="bad" role="alert">{problem}</span>}
            {error !== null && rows.length > 0 && <span class="bad" role="alert">{format.messageOf(error)}</span>}
            {note && <span>{note}</span>}
            {steps.current.length > 0 && <button type="button" class="button plain" title="Until this page is left. What was there before stays under Versions." onClick={() => void undo()}>{`Undo (${keysOf("undo") || "u"})`}</button>}
          </div>
        </div>
        {row && <Peek row={row} may={may} draft={inPeek && draft?.id === row.id ? draft.column : ""} editor={editor} onEdit={(c) => void edit(row, c)} onRemove={() => { setMarked(new Set()); setRemoving(true); }} onClose={() => select(null)} />}
      </div>
      {removing && (
        <Dialog label="Remove" onClose={() => setRemoving(false)}>
          <div class="form">
            <h2>{`Remove ${format.plural(doomed.length, "datapoint")} from the dataset?`}</h2>
            <p>They stay in its earlier versions and in other datasets. Undo puts them back, at the end.</p>
            <div class="form-end"><button type="button" class="button" onClick={() => setRemoving(false)}>Cancel</button><button type="button" class="button danger" onClick={() => void remove()}>Remove</button></div>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Where a value is written. The draft holds the text, so that it outlives the row on screen. */
function Editor({ draft, problem, theirs, onSave, onCancel, onKind }: { draft: Draft; problem: string; theirs: string; onSave: () => void; onCancel: () => void; onKind: (isText: boolean) => void }) {
  const ref = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => { ref.current?.focus(); ref.current?.parentElement?.scrollIntoView({ block: "nearest", inline: "nearest" }); }, []);
  const small = draft.column.includes(".");
  return (
    <div class="data-edit" onClick={(e) => e.stopPropagation()} onDblClick={(e) => e.stopPropagation()}>
      <textarea ref={ref} class="input" rows={Math.min(16, Math.max(3, draft.text.split("\n").length))} defaultValue={draft.text} aria-label={`Value of ${draft.column}`} spellcheck={false} onInput={(e) => { draft.text = e.currentTarget.value; }}
        onKeyDown={(e) => {
          if (e.key === "Escape") onCancel();
          else if (e.key === "Enter" && (e.ctrlKey || e.metaKey || (small && !e.shiftKey))) onSave();
          else return;
          e.preventDefault();
          e.stopPropagation();
        }} />
      {problem && <p class="bad" role="alert">{problem}</p>}
      {theirs !== "" && theirs !== draft.before && <p class="secondary wrap">{`It says now: ${shown(theirs).slice(0, 500)}`}</p>}
      <div class="form-end">
        {small && <select class="input" aria-label="Kind of value" value={draft.isText ? "text" : "json"} onChange={(e) => onKind(e.currentTarget.value === "text")}><option value="text">Text</option><option value="json">JSON</option></select>}
        <span class="grow secondary">{small ? "Enter saves, Shift+Enter is a new line" : "Ctrl+Enter saves"}</span>
        <button type="button" class="button" onClick={onCancel}>Cancel</button><button type="button" class="button primary" onClick={onSave}>Save</button>
      </div>
    </div>
  );
}

const partNames: Record<string, string> = { inputs: "Inputs", ground_truth: "Ground truth", metadata: "Metadata", history: "History" };

function Peek({ row, may, draft, editor, onEdit, onRemove, onClose }: { row: Row; may: boolean; draft: string; editor: preact.JSX.Element | null; onEdit: (column: string) => void; onRemove: () => void; onClose: () => void }) {
  return (
    <aside class="peek" aria-label="Datapoint">
      <header>
        <span class="grow ellipsis mono">{row.id}</span>
        {row.event && <a class="button plain" href={href(["events"], { q: `id:${row.event}`, range: "all" })}>Its event</a>}
        {may && <button type="button" class="button plain" onClick={onRemove}>Remove</button>}
        <button type="button" class="button plain icon" aria-label="Close" title="Close (Esc)" onClick={onClose}><Icon name="close" small /></button>
      </header>
      <div class="scroll data-peek">
        {row.deleted && <p class="warn">This datapoint is deleted. Of what it said nothing is left.</p>}
        {row.sets > 1 && <p class="secondary">{`${format.plural(row.sets, "dataset")} have it: what is changed here changes there, too.`}</p>}
        {Object.keys(partNames).map((part) => (
          <section key={part}>
            <h2>{partNames[part]}{may && !row.deleted && <button type="button" class="button plain" onClick={() => onEdit(part)}>Edit as JSON</button>}</h2>
            {draft === part ? editor : part === "history" ? <pre tabIndex={0}>{row.raw.history === "[]" ? "none" : pretty(row.raw.history!)}</pre> : [...members(row.raw[part]!)].map(([key, v]) => (
              <div key={key}>
                <h3><span class="ellipsis">{key}</span>{may && <button type="button" class="button plain" aria-label={`Edit ${part}.${key}`} onClick={() => onEdit(`${part}.${key}`)}>Edit</button>}</h3>
                {draft === `${part}.${key}` ? editor : <pre tabIndex={0}>{v.startsWith('"') ? shown(v) : pretty(v)}</pre>}
              </div>
            ))}
          </section>
        ))}
      </div>
    </aside>
  );
}

/** The datapoints by the values of metadata; a click shows those of one. */
function Splits({ id, version, field, value, onPick }: { id: string; version: string; field: string; value: string; onPick: (field: string, value: string) => void }) {
  const counted = useLoaded(`${id} ${version}`, (signal) => call<GetDatasetSplitsAnswer>(`v1/datasets/${encodeURIComponent(id)}/splits?version=${version}`, { signal }));
  const answer = counted.value;
  return (
    <aside class="facets" aria-label="Splits">
      <header><h2 class="grow">Splits</h2></header>
      <div class="scroll">
        {counted.error ? <p class="bad" role="alert">{counted.error instanceof Error ? counted.error.message : ""}</p> : answer?.fields.length === 0 && <p class="faint">No datapoint has metadata to split by, such as split or tags.</p>}
        {answer?.fields.map((f) => (
          <section key={f.field}>
            <h3><span class="ellipsis">{columnLabel(f.field)}</span><span class="faint">{format.count(f.with_value)}</span></h3>
            <ul>
              {f.values.slice(0, 12).map((v) => (
                <li key={v.value}><button type="button" class="split-value" aria-pressed={f.field === field && v.value === value} onClick={() => onPick(f.field, v.value)}>
                  <span class="share" style={{ width: `${(100 * v.count) / answer.total}%` }} /><span class="grow ellipsis" title={v.value}>{v.value === "" ? "(empty)" : v.value}</span><span class="faint">{format.count(v.count)}</span>
                </button></li>
              ))}
            </ul>
            {(f.values.length > 12 || f.others) && <p class="faint">{`${format.count(f.values.length + f.more_values - 12 > 0 ? f.values.length + f.more_values - 12 : 0)}${f.others ? " or more" : ""} other values`}</p>}
          </section>
        ))}
        {answer && answer.more_fields > 0 && <p class="faint">{`${answer.more_fields} more fields were not counted`}</p>}
      </div>
    </aside>
  );
}
