// A chart is built: what it sums up, of which events, by what, and how it is drawn. What was changed is in the address.
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { call, isAbort } from "../../api/client.ts";
import type { GetChartAnswer } from "../../api/types.gen.ts";
import { go, href, route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import { aggregations, displays, fromSaved, maxSeries, textOf, type Drawing, type Series } from "../../model/charts.ts";
import { compile } from "../../model/filter.ts";
import * as format from "../../model/format.ts";
import { Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { FilterBar } from "../../parts/filterbar.tsx";
import { isDouble, useLateText } from "../../parts/form.tsx";
import { defaultRange, RangePicker } from "../../parts/range.tsx";
import { summable, useFields, valuesOf } from "../completion.ts";
import { addToBoard, saveChart } from "./boards.tsx";
import { ChartBody } from "./chart.tsx";
import { loadCharts, useBooleans, type Answers } from "./data.ts";

const plain: Series = { name: "", metric: "duration", aggregation: "count", groupBy: "", filters: [] };

export function Page({ path }: { path: string[] }) {
  const id = path[0] && path[0] !== "new" ? path[0] : null;
  const saved = useLoaded(id, async (s) => fromSaved((await call<GetChartAnswer>(`v1/charts/${encodeURIComponent(id!)}`, { signal: s })).data));
  if (saved.error) return <div class="page"><Problem error={saved.error} retry={saved.reload} /></div>;
  if (id && !saved.value) return <div class="page"><div class="progress" role="progressbar" aria-label="Loading" /></div>;
  return <Builder key={id} saved={saved.value ?? { id: null, name: "", display: "lines", series: [plain] }} />;
}

/** Reads a chart of the address; what is no chart is passed over. */
function readDrawing(text: string | null): Drawing | null {
  try {
    const d = JSON.parse(text ?? "") as Drawing;
    const filled = d.series.slice(0, maxSeries).map((s) => ({ ...plain, ...s, filters: Array.isArray(s.filters) ? s.filters : [] }));
    return filled.length > 0 ? { id: null, name: String(d.name ?? ""), display: String(d.display), series: filled } : null;
  } catch {
    return null;
  }
}

function Builder({ saved }: { saved: Drawing }) {
  const { params } = route.value;
  const text = params.get("c");
  const drawing = useMemo(() => ({ ...(readDrawing(text) ?? saved), id: saved.id }), [text, saved]);
  const range = params.get("range") ?? defaultRange;
  const board = params.get("board");
  const [answers, setAnswers] = useState<Answers | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [loading, setLoading] = useState(false);
  const [doomed, setDoomed] = useState(false);
  const [busy, setBusy] = useState(false);
  const cursor = useMemo(() => signal<number | null>(null), []);
  const booleans = useBooleans(drawing.series);
  const { paths, names } = useFields("events");
  const set = (change: Partial<Drawing>) => setParams({ c: JSON.stringify({ ...drawing, ...change }) }, true);
  const setSeries = (i: number, change: Partial<Series>) => set({ series: drawing.series.map((s, k) => (k === i ? { ...s, ...change } : s)) });
  const asked = JSON.stringify([drawing.series, range]);
  useEffect(() => {
    const mine = new AbortController();
    const timer = setTimeout(() => {
      setLoading(true);
      loadCharts([drawing], [], range, range !== "all", mine.signal, setAnswers).then(() => setFailure(null), (e) => { if (!isAbort(e)) setFailure(e); }).finally(() => setLoading(false));
    }, 250);
    return () => { clearTimeout(timer); mine.abort(); };
  }, [asked]);
  const save = async () => {
    setBusy(true);
    try {
      const id = await saveChart({ ...drawing, name: drawing.name.trim() });
      if (board && board.length > 10) await addToBoard(board, id);
      go(board ? href(["dashboards", board]) : href(["charts", id]));
      if (!board && drawing.id) location.reload();
    } catch (e) { setFailure(e); }
    setBusy(false);
  };
  const remove = async (e: MouseEvent) => {
    if (!doomed) return setDoomed(true);
    if (isDouble(e)) return;
    try {
      await call(`v1/charts/${drawing.id}`, { method: "DELETE" });
      go(href(board ? ["dashboards", board] : ["dashboards"]));
    } catch (e) { setFailure(e); }
  };
  const metrics = summable(paths);
  const groups = ["config.model", "event_name", "event_type", "source", "error", "config.provider", ...paths.filter((p) => !/^(metrics|inputs|outputs)\./.test(p))];
  return (
    <div class="page">
      {loading && <div class="progress" role="progressbar" aria-label="Loading" />}
      <header>
        <h1 class="ellipsis">{drawing.name || "New chart"}</h1>
        <a class="button plain" href={href(board ? ["dashboards", board] : ["dashboards"])}>Dashboards</a>
        <span class="grow" />
        <RangePicker range={range} onChange={(r) => setParams({ range: r === defaultRange ? null : r })} />
        {allows("full") && <>
          {drawing.id && <><a class="button" href={href(["alerts"], { chart: drawing.id })}>Alert on this …</a><button type="button" class={`button${doomed ? " danger" : ""}`} onClick={(e) => void remove(e)}>{doomed ? "Delete the chart, on all dashboards?" : "Delete"}</button></>}
          <button type="button" class="button primary" disabled={busy || !drawing.name.trim() || (drawing.id !== null && text === null)} title={drawing.name.trim() ? "" : "It needs a name"} onClick={() => void save()}>{board ? "Save to the dashboard" : "Save"}</button>
        </>}
      </header>
      <div class="builder">
        <form class="chart-form" onSubmit={(e) => e.preventDefault()}>
          <label class="secondary">Name<input class="input" maxLength={200} value={drawing.name} onInput={(e) => set({ name: e.currentTarget.value })} /></label>
          <Choice label="Drawn as" value={drawing.display} options={displays} onChange={(display) => set({ display })} />
          {drawing.series.map((s, i) => {
            const own = textOf(s.filters);
            return (
              <fieldset key={i}>
                <legend>{drawing.series.length > 1 ? `Series ${i + 1}` : "What"}</legend>
                {i > 0 && <label class="secondary">Name<input class="input" maxLength={200} value={s.name} onInput={(e) => setSeries(i, { name: e.currentTarget.value })} /></label>}
                <div class="pair">
                  <Choice label="Summed up as" value={s.aggregation} options={aggregations} onChange={(aggregation) => setSeries(i, { aggregation })} />
                  {s.aggregation !== "count" && <Field label="Of" value={s.metric} list={`metrics-${i}`} options={metrics} onChange={(metric) => setSeries(i, { metric: metric || "duration" })} />}
                </div>
                <div class="secondary">Of the events</div>
                <FilterBar text={own.text} of="events" fields={names} values={(field, typed) => valuesOf("events", field, typed)} onChange={(q) => setSeries(i, { filters: [...compile(q, "events").filters, ...own.rest] })} />
                {own.rest.length > 0 && <p class="secondary">and {format.plural(own.rest.length, "filter")} that no text says <button type="button" class="button plain" onClick={() => setSeries(i, { filters: s.filters.filter((f) => !own.rest.includes(f)) })}>Remove</button></p>}
                <Field label="A row for each value of" value={s.groupBy} list={`groups-${i}`} options={groups} onChange={(groupBy) => setSeries(i, { groupBy })} />
                {drawing.series.length > 1 && <button type="button" class="button" onClick={() => set({ series: drawing.series.filter((_, k) => k !== i) })}>Remove the series</button>}
              </fieldset>
            );
          })}
          {drawing.series.length < maxSeries && <button type="button" class="button" onClick={() => set({ series: [...drawing.series, { ...drawing.series[drawing.series.length - 1]!, name: "" }] })}>Add a series</button>}
        </form>
        <section class="tile" aria-label="Chart">
          {failure !== null && <p class="told bad" role="alert">{format.messageOf(failure)}</p>}
          {answers && answers.times.length > 0 && answers.of[0] && (Array.isArray(answers.of[0]) ? answers.of[0].length === drawing.series.length : true)
            ? <ChartBody drawing={drawing} id="built" answers={answers} at={0} query="" booleans={booleans} cursor={cursor} onRange={(r) => setParams({ range: r })} />
            : failure === null && <Empty title="Loading …" />}
        </section>
      </div>
    </div>
  );
}

function Choice({ label, value, options, onChange }: { label: string; value: string; options: [string, string][]; onChange: (value: string) => void }) {
  return <label class="secondary">{label}<select class="input" value={value} onChange={(e) => onChange(e.currentTarget.value)}>{options.map(([v, name]) => <option key={v} value={v}>{name}</option>)}</select></label>;
}

/** A field of events, typed or chosen; it counts once it is left. */
function Field({ label, value, list, options, onChange }: { label: string; value: string; list: string; options: string[]; onChange: (value: string) => void }) {
  const late = useLateText(value, (text) => onChange(text.trim()));
  return <label class="secondary">{label}<input class="input" list={list} placeholder="nothing" {...late} /><datalist id={list}>{options.map((o) => <option key={o} value={o} />)}</datalist></label>;
}
