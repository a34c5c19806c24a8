// The list of experiments: runs with their scores, by dataset over time, of which two to eight are marked and compared.
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { call, isAbort } from "../../api/client.ts";
import type { ListDatasetsAnswer, ListRunsAnswer, Run } from "../../api/types.gen.ts";
import { addCommands } from "../../app/keymap.ts";
import { go, href, route, setParams } from "../../app/router.ts";
import { axis, groups, place, score } from "../../model/experiments.ts";
import * as format from "../../model/format.ts";
import { Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { useLateText } from "../../parts/form.tsx";
import { Table, Value, type Column } from "../../parts/table.tsx";
import { select } from "./rows.ts";

/** So many runs are read at once, and at most so many for an order that the server does not know. */
const pageSize = 100;
const summedUp = 10; // runs at a time: those that are listed are shown before what they came to
const every = 3000; // milliseconds between two readings of runs that go on
const mostSorted = 1000;

/** So many can be compared. */
export const mostCompared = 8;

/** So many datasets, metrics of each and runs of each show how scores went. */
const mostTrends = 6;
const mostMetrics = 4;
const mostBars = 40;

const serverSorts = ["created_at", "name", "status"];

type Metric = NonNullable<Run["aggregates"]>["metrics"][number];

/** The names of the project's datasets, by their ids. */
export function useDatasetNames(): Map<string, string> {
  const list = useLoaded("datasets", (signal) => call<ListDatasetsAnswer>("v1/datasets?ids=false", { signal }));
  return useMemo(() => new Map((list.value?.datasets ?? []).map((d) => [d.id, d.name])), [list.value]);
}

export function ListPage() {
  const { params } = route.value;
  const [name, dataset, status] = ["name", "dataset", "status"].map((p) => params.get(p) ?? "") as [string, string, string];
  const typedName = useLateText(name, (text) => setParams({ name: text, s: null }));
  const sort = params.get("sort") ?? "created_at";
  const ascending = params.get("order") === "asc";
  const selected = params.get("s");
  const marks = () => (route.value.params.get("runs") ?? "").split(",").filter(Boolean);
  const marked = marks();
  const names = useDatasetNames();
  const known = serverSorts.includes(sort);
  const query = { name, dataset_id: dataset, status, sort_by: known ? sort : "created_at", sort_order: known && ascending ? "asc" : "desc" };
  const key = JSON.stringify(query);
  const [state, setState] = useState<{ key: string; all: Run[]; page: number; total: number; more: boolean }>({ key: "", all: [], page: 0, total: 0, more: false });
  const [error, setError] = useState<unknown>(null);
  const [loading, setLoading] = useState(true);
  const [turn, setTurn] = useState(0);
  const read = async (page: number, signal?: AbortSignal) => {
    setLoading(true);
    try {
      const asked = new URLSearchParams(Object.entries({ ...query, ids: "false", limit: String(pageSize), page: String(page) }).filter(([, v]) => v));
      const { evaluations, pagination } = await call<ListRunsAnswer>(`v1/runs?${asked}`, signal && { signal });
      setState((s) => (page > 1 && s.key !== key ? s : { key, all: page === 1 ? evaluations : [...s.all, ...evaluations.filter((r) => !s.all.some((k) => k.run_id === r.run_id))], page, total: pagination.total, more: pagination.has_next }));
      setError(null);
    } catch (e) {
      if (isAbort(e)) return;
      setError(e);
    }
    setLoading(false);
  };
  useEffect(() => {
    const stop = new AbortController();
    void read(1, stop.signal);
    return () => stop.abort();
  }, [key]);
  const { all } = state;
  const sumUp = async (ids: string[], signal: AbortSignal) => {
    const asked = new URLSearchParams({ run_ids: ids.join(), aggregates: "true", ids: "false", limit: String(summedUp) });
    const { evaluations } = await call<ListRunsAnswer>(`v1/runs?${asked}`, { signal });
    const now = new Map(evaluations.map((r) => [r.run_id, r]));
    setState((s) => ({ ...s, all: s.all.map((r) => (ids.includes(r.run_id) ? { ...r, aggregates: null, ...now.get(r.run_id) } : r)) })); // one that is gone by now came to nothing
  };
  const waiting = all.filter((r) => r.aggregates === undefined).slice(0, summedUp).map((r) => r.run_id).join();
  useEffect(() => {
    if (waiting === "") return;
    const stop = new AbortController();
    sumUp(waiting.split(","), stop.signal).catch((e) => { if (!isAbort(e)) setError(e); });
    return () => stop.abort();
  }, [waiting, turn]);
  const going = all.filter((r) => r.aggregates !== undefined && ["pending", "running"].includes(r.status)).map((r) => r.run_id).join();
  useEffect(() => {
    if (going === "") return;
    const stop = new AbortController();
    const ids = going.split(",");
    let timer = 0;
    const later = () => { if (!stop.signal.aborted) timer = setTimeout(again, every); };
    const again = () => {
      if (document.hidden) return later();
      ids.push(...ids.splice(0, summedUp)); // many take turns
      sumUp(ids.slice(-summedUp), stop.signal).catch(() => {}).then(later);
    };
    later();
    return () => { stop.abort(); clearTimeout(timer); };
  }, [going]);
  const retry = () => {
    setError(null);
    setTurn((n) => n + 1);
    if (state.more) void read(state.page + 1);
  };
  const more = () => { if (state.more && !loading && !error && state.key === key) void read(state.page + 1); };
  useEffect(() => { if (!known && all.length < mostSorted) more(); }, [known, state, loading]);
  const metrics = useMemo(() => metricsOf(all).slice(0, mostMetrics), [all]);
  const runs = useMemo(() => (known ? all : sorted(all, sort, ascending)), [all, sort, ascending]);
  const mark = (id: string) => { const now = marks(); setParams({ runs: (now.includes(id) ? now.filter((m) => m !== id) : [...now, id].slice(-mostCompared)).join(",") }, true); };
  const open = (id: string) => go(href(["experiments", id]));
  const compare = () => {
    const created = new Map(all.map((r) => [r.run_id, r.created_at])); // the oldest is what the others are compared with
    if (marks().length > 1) go(href(["experiments", "compare"], { runs: marks().sort((a, b) => ((created.get(a) ?? "") < (created.get(b) ?? "") ? -1 : 1)).join(",") }));
  };
  const place = () => route.value.params.get("s"); // keys come faster than the page is drawn
  const step = (by: number) => { const r = runs[Math.min(runs.length - 1, Math.max(0, runs.findIndex((x) => x.run_id === place()) + by))]; if (r) select(r.run_id); };
  useLayoutEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Next run", group: "Experiments", run: () => step(1) },
    { id: "previous", keys: ["k", "arrowup"], label: "Previous run", group: "Experiments", run: () => step(-1) },
    { id: "mark", keys: ["x"], label: "Mark the run", group: "Experiments", run: () => { const id = place(); if (id) mark(id); } },
    { id: "open", keys: ["enter"], label: "Compare what is marked, or open the run", group: "Experiments", run: () => { const id = place(); if (marks().length > 1) compare(); else if (id) open(id); } },
    { id: "compare", keys: ["d"], label: "Compare what is marked", group: "Experiments", run: compare },
    { id: "filter", keys: ["f", "/"], label: "Filter by name", group: "Experiments", run: () => document.getElementById("runs-name")?.focus() },
    { id: "close", keys: ["escape"], label: "Mark none", group: "Experiments", run: () => setParams({ runs: null, s: null }, true) },
  ]), [runs]);

  const now = Date.now();
  const none = <span class="faint">–</span>;
  const without = (r: Run) => (r.aggregates === undefined ? <span class="faint">…</span> : none);
  const number = (id: keyof NonNullable<Run["aggregates"]> & string, label: string, show: (n: number) => string, bad?: boolean): Column<Run> => ({
    id, label, width: id === "datapoints" ? 92 : 76, right: true, sort: id, cell: (r) => { const n = r.aggregates?.[id]; return typeof n === "number" && (n > 0 || !bad) ? <span class={bad ? "bad" : ""}>{show(n)}</span> : without(r); },
  });
  const columns: Column<Run>[] = [
    { id: "mark", label: "", width: 40, cell: (r) => <Mark on={marked.includes(r.run_id)} onChange={() => mark(r.run_id)} /> },
    { id: "name", label: "Experiment", width: 160, grow: 2, sort: "name", cell: (r) => <a class="strong ellipsis" tabIndex={-1} href={href(["experiments", r.run_id])} title={r.name}>{r.name}</a> },
    { id: "status", label: "Status", width: 88, sort: "status", cell: (r) => <Status of={r.status} /> },
    { id: "dataset", label: "Dataset", width: 110, grow: 1, cell: (r) => (r.dataset_id ? <Value text={names.get(r.dataset_id) ?? r.dataset_id} onPick={() => setParams({ dataset: r.dataset_id! })} /> : none) },
    ...metrics.map((m): Column<Run> => { const on = axisOf(m, all); return { id: m.key, label: m.key, width: 86, right: true, sort: `metrics.${m.key}`, cell: (r) => { const v = valueOf(r, m.key); return v ? <Score metric={v} on={on} /> : without(r); } }; }),
    number("datapoints", "Datapoints", format.count), number("errors", "Errors", format.count, true), number("duration", "Duration", format.duration), ...(all.some((r) => r.aggregates?.cost) ? [number("cost", "Cost", format.cost)] : []),
    { id: "created", label: "Created", width: 92, right: true, sort: "created_at", cell: (r) => { const t = Date.parse(r.created_at); return <span class="faint" title={format.time(t)}>{format.shortTime(t, now)}</span>; } },
  ];
  return (
    <div class="page">
      <header>
        <h1>Experiments</h1>
        <span class="grow" />
        <span class="faint">{marked.length > 0 ? `${marked.length} marked` : ""}</span>
        <button type="button" class="button primary" disabled={marked.length < 2} title="Mark two to eight runs (x), then compare them (d)" onClick={compare}>Compare</button>
      </header>
      <div class="filters">
        <input id="runs-name" class="input grow" type="search" placeholder="Name" aria-label="Name" spellcheck={false} {...typedName} onKeyDown={(e) => { if (e.key === "Escape") e.currentTarget.blur(); }} />
        <Pick label="Dataset" value={dataset} change={(v) => ({ dataset: v })} options={[["", "All datasets"], ...names, ...(dataset && !names.has(dataset) ? [[dataset, dataset] as const] : [])]} />
        <Pick label="Status" value={status} change={(v) => ({ status: v })} options={["", "pending", "running", "completed", "failed", "cancelled"].map((v) => [v, v || "Any status"])} />
      </div>
      <Trends runs={all} names={names} selected={selected} />
      <div class="run-main">
        {(loading || (waiting !== "" && !error)) && <div class="progress" role="progressbar" aria-label="Loading" />}
        {error && all.length === 0 ? <Problem error={error} retry={() => void read(1)} /> : all.length === 0 && !loading ? (
          name || dataset || status ? <Empty title="No experiment matches"><button class="button" onClick={() => setParams({ name: null, dataset: null, status: null })}>Clear the filter</button></Empty>
            : <Empty title="No experiments yet"><p>Run a program over a dataset, and score what it says:</p><pre class="code">spangrove eval --dataset questions.csv --command 'python answer.py' --metric exact_match</pre></Empty>
        ) : (
          <Table label="Experiments" columns={columns} rows={runs} rowId={(r) => r.run_id} rowHeight={32} selected={selected} sort={{ by: sort, ascending }}
            onSort={(by) => setParams({ sort: by === "created_at" ? null : by, order: sort === by && !ascending ? "asc" : null })} onSelect={select} onOpen={open} onEnd={more} total={state.total} />
        )}
        <div class="foot" role="status" aria-live="off">
          {state.key && <span>{`${format.plural(state.total, "run")}${all.length < state.total ? `, ${format.count(all.length)} loaded${known ? "" : " and sorted"}` : ""}`}</span>}
          {error && all.length > 0 ? <><span class="bad" role="alert">{format.messageOf(error)}</span><button type="button" class="button plain" onClick={retry}>Try again</button></> : null}
        </div>
      </div>
    </div>
  );
}

/** A choice that changes the address. */
export function Pick({ label, value, change, options }: { label: string; value: string; change: (v: string) => Record<string, string | null>; options: readonly (readonly [string, string])[] }) {
  return <select class="input" aria-label={label} value={value} onChange={(e) => setParams({ s: null, ...change(e.currentTarget.value) })}>{options.map(([v, text]) => <option key={v} value={v}>{text}</option>)}</select>;
}

export function Status({ of }: { of: string }) {
  return <span class={`chip${of === "failed" ? " bad" : of === "running" ? " running" : ""}`}>{of}</span>;
}

/** A box that marks a row. */
export function Mark({ on, onChange }: { on: boolean; onChange: () => void }) {
  return <label class="row-mark" onClick={(e) => e.stopPropagation()} onDblClick={(e) => e.stopPropagation()}><input type="checkbox" tabIndex={-1} aria-label="Mark" checked={on} onChange={onChange} /></label>;
}

const valueOf = (r: Run, key: string): Metric | undefined => r.aggregates?.metrics.find((m) => m.key === key);

/** The axis of a metric over runs; rates stand between 0 and 1. */
const axisOf = (m: Metric, runs: Run[]) => axis([...runs.map((r) => valueOf(r, m.key)?.aggregate ?? undefined), m.is_boolean ? 1 : undefined]);

/** A score with a thin bar: what of it passed where a rule says what does, else how much it is. */
function Score({ metric: m, on }: { metric: Metric; on: [number, number] }) {
  const judged = m.passed + m.failed;
  const share = judged ? (m.passed / judged) * 100 : m.aggregate === null ? 0 : place(on, m.aggregate);
  return (
    <span class="run-score" title={`${m.key} ${score(m, m.aggregate)}${judged ? `, ${format.count(m.passed)} of ${format.count(judged)} passed` : ""}`}>
      {score(m, m.aggregate)}<i class={judged ? "judged" : ""}><i style={{ width: `${share}%` }} /></i>
    </span>
  );
}

/** The metrics of runs, those that most of them have first. */
const metricsOf = (runs: Run[]): Metric[] => groups(runs.flatMap((r) => r.aggregates?.metrics ?? []).filter((m) => m.metric_type !== "SESSION"), (m) => m.key).sort((a, b) => b[1].length - a[1].length).map(([, list]) => list[0]!);

/** Runs in an order that the server does not know; those without a value come last. */
function sorted(runs: Run[], by: string, ascending: boolean): Run[] {
  const of = (r: Run): number => {
    const v = by.startsWith("metrics.") ? valueOf(r, by.slice(8))?.aggregate : r.aggregates?.[by as "cost"];
    return typeof v !== "number" ? Infinity : ascending ? v : -v;
  };
  return [...runs].sort((a, b) => { const [x, y] = [of(a), of(b)]; return x === y ? 0 : x < y ? -1 : 1; });
}

/** How the scores over each dataset went from run to run: a bar a run, the oldest first. */
function Trends({ runs, names, selected }: { runs: Run[]; names: Map<string, string>; selected: string | null }) {
  const sets = useMemo(() => groups(runs.filter((r) => r.aggregates?.sessions), (r) => r.dataset_id ?? "").filter(([, list]) => list.length > 1), [runs]);
  return sets.length > 0 && (
    <div class="run-trends" tabIndex={0} role="group" aria-label="Scores over time">
      {sets.slice(0, mostTrends).map(([id, list]) => {
        const metrics = metricsOf(list);
        const shown = [...list].sort((a, b) => (a.created_at < b.created_at ? -1 : 1)).slice(-mostBars);
        return (
          <section key={id}>
            <span class="ellipsis">{id === "" ? "no dataset" : names.get(id) ?? id}</span>
            {metrics.slice(0, mostMetrics).map((m) => {
              const on = axisOf(m, shown);
              const values = shown.map((r) => valueOf(r, m.key)?.aggregate ?? null);
              return (
                <figure key={m.key}>
                  <figcaption class="ellipsis">{`${m.key} `}<b>{score(m, values.findLast((v) => v !== null))}</b></figcaption>
                  <div class="run-trend" role="img" aria-label={`${m.key}, the oldest run first: ${values.map((v) => score(m, v)).join(", ")}`}>
                    {shown.map((r, i) => <i key={r.run_id} title={`${r.name}: ${score(m, values[i])}`} class={r.run_id === selected ? "on" : ""} style={{ height: `${values[i] == null ? 0 : place(on, values[i]!)}%` }} onClick={() => select(r.run_id)} />)}
                  </div>
                </figure>
              );
            })}
            {metrics.length > mostMetrics && <span class="faint">{`+${metrics.length - mostMetrics}`}</span>}
          </section>
        );
      })}
      {sets.length > mostTrends && <p class="faint">{format.plural(sets.length - mostTrends, "other dataset")}</p>}
    </div>
  );
}
