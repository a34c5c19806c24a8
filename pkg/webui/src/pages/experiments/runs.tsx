// One run, or runs compared: what their metrics say, and all datapoints, of several runs side by side.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { addCommands } from "../../app/keymap.ts";
import { go, href, route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import { passesText, score } from "../../model/experiments.ts";
import * as format from "../../model/format.ts";
import { Copy, Empty, Problem } from "../../parts/common.tsx";
import { Table, type Column } from "../../parts/table.tsx";
import { ScoreRun } from "../scorerun.tsx";
import { SessionPeek } from "../sessionpeek.tsx";
import { AddRows } from "./add.tsx";
import { Cards } from "./cards.tsx";
import { Detail } from "./detail.tsx";
import { Grid } from "./grid.tsx";
import { Mark, Pick, Status, useDatasetNames } from "./list.tsx";
import { chosen, select, useRows, type Head, type Row } from "./rows.ts";
import { Score } from "./score.tsx";

/** So many metrics of a run have a column; the datapoint that is open has all. */
const mostColumns = 6;

/** So many runs compared have their sentence on the page until somebody asks for all. */
const mostSentences = 3;

export function RunsPage({ ids }: { ids: string[] }) {
  const { params } = route.value;
  const single = ids.length === 1;
  const base = Math.max(0, ids.indexOf(params.get("base") ?? ""));
  const expected = single || params.get("against") === "expected";
  const only = params.get("only");
  const selected = params.get("s");
  const { head, rows, loading, error, more, reload } = useRows({ run_ids: ids, baseline: ids[base]!, ...chosen() });
  const [marks, setMarks] = useState<ReadonlyMap<string, Row>>(new Map()); // rows stay marked whatever is filtered meanwhile
  const some = useRef(false);
  some.current = marks.size > 0;
  const [adding, setAdding] = useState<"queue" | "dataset" | null>(null);
  const [scoring, setScoring] = useState(false);
  const at = rows.findIndex((r) => r.id === selected);
  const row = rows[at];
  useEffect(() => { if (selected && at < 0 && rows.length > 0 && !loading) more(); }, [selected, at, rows, loading]); // an address may name a row of a later page
  const may = allows("full");
  const mark = (r: Row | undefined) => { if (r) setMarks((before) => { const next = new Map(before); if (!next.delete(r.id)) next.set(r.id, r); return next; }); };
  const open = (r: Row | undefined) => { const cell = r?.cells.findLast((c) => c); if (cell) go(href(["session", cell.session_id])); };
  const place = () => rows.findIndex((r) => r.id === route.value.params.get("s")); // keys come faster than the page is drawn
  const step = (by: number) => {
    const to = Math.min(rows.length - 1, Math.max(0, place() + by));
    if (rows[to]) select(rows[to].id);
    if (to > rows.length - 5) more();
  };
  const against = () => setParams({ against: expected ? null : "expected" }, true);
  useLayoutEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Next row", group: "Rows", run: () => step(1) },
    { id: "previous", keys: ["k", "arrowup"], label: "Previous row", group: "Rows", run: () => step(-1) },
    { id: "open", keys: ["enter"], label: "Open the session", group: "Rows", run: () => open(rows[place()]) },
    { id: "mark", keys: ["x"], label: "Mark the row", group: "Rows", run: () => mark(rows[place()]) },
    ...(may ? (["queue", "dataset"] as const).map((to) => ({ id: `to-${to}`, keys: [to === "queue" ? "a" : "s"], label: `Add marked rows to a ${to}`, group: "Rows", run: () => { if (some.current) setAdding(to); } })) : []),
    ...(single ? [] : [{ id: "against", keys: ["o"], label: "Differences from the baseline, or from what was expected", group: "Rows", run: against }]),
    { id: "close", keys: ["escape"], label: "Close the row", group: "Rows", run: () => select(null) },
  ]), [rows, loading, expected]);
  const cell = single && row?.cells[0];
  return (
    <div class="page">
      {single ? <RunHeader head={head} id={ids[0]!} onScore={may ? () => setScoring(true) : null} /> : (
        <header>
          <h1>{`Compare ${format.plural(ids.length, "run")}`}</h1>
          <span class="grow" />
          {head && <Pick label="Baseline" value={ids[base]!} change={(run) => ({ base: run, run: null })} options={head.runs.map((r) => [r.run_id, `Baseline: ${r.name}`])} />}
          <Pick label="Differences" value={expected ? "expected" : ""} change={(v) => ({ against: v, s: selected })} options={[["", "Differences from the baseline"], ["expected", "Differences from expected"]]} />
        </header>
      )}
      {head && !single && <Sentences head={head} link={() => location.href.split("#")[0] + href(["experiments", "compare"], { runs: ids.join(","), base: params.get("base") })} />}
      {head && !single && <Cards head={head} base={ids[base]!} />}
      {head && <Filters head={head} base={ids[base]!} />}
      <div class="run-main">
        {loading && <div class="progress" role="progressbar" aria-label="Loading" />}
        {error && rows.length === 0 ? <Problem error={error} retry={reload} /> : !head ? null : rows.length === 0 && !loading ? (
          only ? <Empty title="No row of this kind"><button class="button" onClick={() => setParams({ only: null })}>Show all</button></Empty>
            : <Empty title="No sessions yet"><p>Those of a run are listed by it, or have an event with its id in metadata.run_id.</p></Empty>
        ) : single ? <RunTable head={head} rows={rows} selected={selected} marks={marks} onMark={mark} onOpen={(id) => open(rows.find((r) => r.id === id))} onEnd={more} />
          : <Grid head={head} rows={rows} base={base} expected={expected} selected={selected} marks={marks} onMark={mark} onEnd={more} />}
        {row && head && <Detail row={row} runs={head.runs} metrics={head.metrics} base={base} expected={expected}>{cell && <SessionPeek id={cell.session_id} row={null} onClose={() => select(null)} />}</Detail>}
        <div class="foot" role="status" aria-live="off">
          {head && <span>{`${format.plural(head.total, "row")}${head.total < head.counts.all ? ` of ${format.count(head.counts.all)}` : ""}${rows.length < head.total ? `, ${format.count(rows.length)} loaded` : ""}`}</span>}
          {marks.size > 0 && (
            <>
              <b>{`${format.count(marks.size)} marked`}</b>
              {may ? <><button type="button" class="button" title="(a)" onClick={() => setAdding("queue")}>To a queue</button><button type="button" class="button" title="(s)" onClick={() => setAdding("dataset")}>To a dataset</button></> : <span>a key that may only read cannot add them</span>}
              <button type="button" class="button plain" onClick={() => setMarks(new Map())}>Mark none</button>
            </>
          )}
          {error && rows.length > 0 ? <span class="bad" role="alert">{String(error)}</span> : null}
        </div>
      </div>
      {adding && head && <AddRows to={adding} rows={[...marks.values()]} runs={head.runs} onDone={() => setMarks(new Map())} onClose={() => setAdding(null)} />}
      {scoring && <ScoreRun run={ids[0]!} onDone={reload} onClose={() => setScoring(false)} />}
    </div>
  );
}

function RunHeader({ head, id, onScore }: { head: Head | null; id: string; onScore: (() => void) | null }) {
  const names = useDatasetNames();
  const run = head?.runs[0];
  const dataset = run?.dataset_id;
  const totals = run ? ([
    [run.datapoints, "datapoints"], [run.sessions, "sessions"], [run.errors, "with an error"], [run.running, "running"],
  ] as const).filter(([n]) => n > 0) : [];
  return (
    <>
      <header>
        <h1 class="ellipsis">{run?.name}</h1>
        {run && <Status of={run.status} />}
        {dataset && <a class="button plain ellipsis" href={href(["datasets", dataset])}>{names.get(dataset) ?? dataset}{run.dataset_version !== undefined && ` version ${run.dataset_version}`}</a>}
        <span class="grow" />
        <a class="button" href={href(["sessions"], { q: `run:${id}`, range: "all" })}>Sessions</a>
        {onScore && <button type="button" class="button" onClick={onScore}>Score…</button>}
        <a class="button primary" href={href(["experiments"], { runs: id, dataset: dataset ?? null })}>Compare with…</a>
      </header>
      {head && (
        <div class="run-totals">
          {totals.map(([n, what]) => <span key={what} class={what === "with an error" ? "bad" : ""}><b>{format.count(n)}</b>{` ${what}`}</span>)}
          {head.metrics.map((m) => { const v = m.runs[0]!; const all = v.passed + v.failed; return v.values > 0 && <span key={m.key}>{`${m.key} `}<b>{score(m, v.aggregate)}</b>{all > 0 && <span class={v.failed ? "bad" : "good"}>{` ${v.failed ? "✕" : "✓"} ${format.count(v.passed)} of ${format.count(all)} pass`}</span>}</span>; })}
        </div>
      )}
    </>
  );
}

function Sentences({ head, link }: { head: Head; link: () => string }) {
  const [all, setAll] = useState(false);
  const said = head.runs.filter((r) => r.sentence);
  return (
    <div class="run-sentences" tabIndex={0}>
      {said.slice(0, all ? undefined : mostSentences).map((r) => <p key={r.run_id}><b>{r.name}</b>{`: ${r.sentence} `}<Copy text={() => `${r.name}: ${r.sentence}\n${link()}`} label="Copy the sentence with its link" plain /></p>)}
      {!all && said.length > mostSentences && <button type="button" class="button" onClick={() => setAll(true)}>{`Show the sentences of ${format.plural(said.length - mostSentences, "other run")}`}</button>}
    </div>
  );
}

const kinds = [["", "All"], ["improved", "Improved"], ["degraded", "Degraded"], ["same", "Same"], ["differing", "Differing"], ["failed", "Failed"], ["errors", "With errors"]] as const;
const orders = [["", "In order"], ["delta asc", "Lowest difference first"], ["delta desc", "Highest difference first"], ["value asc", "Lowest first"], ["value desc", "Highest first"]] as const;

/** The counters of rows, each of which filters, and the metric, the run and the order that they are about. */
function Filters({ head, base }: { head: Head; base: string }) {
  const { params } = route.value;
  const many = head.runs.length > 1;
  const now = (p: string) => params.get(p) ?? "";
  return (
    <div class="filters row-counters">
      {kinds.filter((_, i) => many || i === 0 || i > 4).map(([kind, label]) => (
        <button key={kind} type="button" class="button" aria-pressed={now("only") === kind} onClick={() => setParams({ only: kind, s: null })}>{label}<b>{format.count(head.counts[kind || "all"])}</b></button>
      ))}
      <Pick label="Metric" value={now("metric")} change={(metric) => ({ metric, sort: null, order: null })} options={[["", "Any metric"], ...head.metrics.map((m) => [m.key, m.key] as const)]} />
      {many && <Pick label="Run" value={now("run")} change={(run) => ({ run })} options={[["", "Any run"], ...head.runs.filter((r) => r.run_id !== base).map((r) => [r.run_id, r.name] as const)]} />}
      {now("metric") && <Pick label="Order" value={now("sort") && `${now("sort")} ${now("order") || "asc"}`} change={(v) => ({ sort: v.split(" ")[0]!, order: v.split(" ")[1] ?? null })} options={orders.filter(([o]) => many || !o.startsWith("delta"))} />}
    </div>
  );
}

function RunTable({ head, rows, selected, marks, onMark, onOpen, onEnd }: { head: Head; rows: Row[]; selected: string | null; marks: ReadonlyMap<string, Row>; onMark: (row: Row) => void; onOpen: (id: string) => void; onEnd: () => void }) {
  const { params } = route.value;
  const sort = params.get("sort") === "value" ? params.get("metric") ?? "" : "";
  const ascending = params.get("order") !== "desc";
  const text = (label: string, grow: number, of: (r: Row) => string | undefined): Column<Row> => ({ id: label, label, width: 150, grow, cell: (r) => <span class="ellipsis" title={of(r)}>{of(r) || "–"}</span> });
  const own = head.metrics.filter((m) => m.metric_type !== "SESSION");
  const columns: Column<Row>[] = [
    { id: "mark", label: "", width: 40, cell: (r) => <Mark on={marks.has(r.id)} onChange={() => onMark(r)} /> },
    text("Input", 3, (r) => r.input), text("Expected", 2, (r) => r.expected),
    { ...text("Output", 3, (r) => r.cells[0]?.output), cell: (r) => { const c = r.cells[0]; return <><span class={`ellipsis${c?.error ? " bad" : ""}`} title={c?.error ?? c?.output}>{c?.error ?? (c?.output || "–")}</span>{c && c.sessions > 1 && <span class="chip" title="Repetitions">{`× ${format.count(c.sessions)}`}</span>}</>; } },
    ...[...own.slice(0, mostColumns), ...head.metrics.filter((m) => m.key === "duration" || (m.key === "cost" && m.runs[0]!.values > 0))].map((m): Column<Row> => ({
      id: m.key, label: m.key, width: 116, right: true, sort: m.key, title: passesText(m) && `passes: ${passesText(m)}`, cell: (r) => { const s = r.cells[0]?.scores[m.key]; return s ? <Score metric={m} of={s} className="ellipsis" /> : <span class="faint">–</span>; },
    })),
  ];
  return <Table label="Datapoints" columns={columns} rows={rows} rowId={(r) => r.id} rowHeight={32} selected={selected} sort={{ by: sort, ascending }}
    onSort={(metric) => setParams({ metric, sort: "value", order: sort === metric && ascending ? "desc" : "asc" })} onSelect={select} onOpen={onOpen} onEnd={onEnd} total={head.total} />;
}
