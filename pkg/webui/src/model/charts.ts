// Charts and dashboards: what a chart asks, the boards that every project has, and where charts stand on a page of twelve columns.
import type { Chart, ChartSeries, Condition, CreateChartBody, Filter, QueryChartsAnswer, Tile } from "../api/types.gen.ts";
import { cell } from "./export.ts";
import { compile, shortNames, write, type Part } from "./filter.ts";
import * as format from "./format.ts";

/** A chart as pages have it: an unnamed first series, and others beside it. */
export interface Drawing {
  id: string | null; // of the saved chart
  name: string;
  display: string; // lines, bars or number
  series: Series[];
}

export interface Series {
  name: string;
  metric: string;
  aggregation: string;
  groupBy: string;
  filters: Filter[];
}

export const aggregations: [string, string][] = [
  ["count", "Count of events"], ["sum", "Sum"], ["average", "Average, or rate of true"], ["median", "Median"], ["p75", "75th percentile"], ["p90", "90th percentile"], ["p95", "95th percentile"], ["p99", "99th percentile"], ["min", "Least"], ["max", "Greatest"],
];
export const displays: [string, string][] = [["lines", "Lines"], ["bars", "Stacked bars"], ["number", "Number"]];
export const maxSeries = 9;
/** How many scores the board of quality shows. */
export const maxScores = 18;
/** How many groups a chart shows; the others are one. */
export const maxGroups = 8;

const fullNames: Record<string, string> = { cost: "metadata.cost", total_tokens: "metadata.total_tokens", prompt_tokens: "metadata.prompt_tokens", completion_tokens: "metadata.completion_tokens" };

/** The field that a metric names. */
export function metricField(metric: string): string {
  return fullNames[metric] ?? (metric === "duration" || metric.includes(".") ? metric : `metrics.${metric}`);
}

export function fromSaved(c: Chart): Drawing {
  const of = (s: ChartSeries): Series => ({ name: s.name ?? "", metric: s.metric ?? "duration", aggregation: s.aggregation || "average", groupBy: s.groupBy ?? "", filters: (s.filters ?? []) as Filter[] });
  const first: Series = { name: "", metric: c.metric, aggregation: c.func, groupBy: c.groupBy ?? "", filters: c.query as Filter[] };
  return { id: c.id, name: c.name, display: c.display ?? "lines", series: [first, ...((c.series ?? []) as ChartSeries[]).map(of)] };
}

export function toSaved(d: Drawing): CreateChartBody {
  const [first, ...others] = d.series;
  return { name: d.name, metric: first!.metric, func: first!.aggregation as CreateChartBody["func"], groupBy: first!.groupBy, bucketing: "auto", query: first!.filters, display: d.display as CreateChartBody["display"], series: others as ChartSeries[] };
}

const is = (field: string, value: string): Filter => ({ field, operator: "is", value });
const [models, tools, sessions] = ["model", "tool", "session"].map((t) => [is("event_type", t)]) as [Filter[], Filter[], Filter[]];
const failed: Filter[] = [{ field: "error", operator: "exists" }, { field: "event_type", operator: "is not", value: "session" }];

function draw(name: string, display: string, ...series: [metric: string, aggregation: string, groupBy?: string, filters?: Filter[], name?: string][]): Drawing {
  return { id: null, name, display, series: series.map(([metric, aggregation, groupBy = "", filters = [], label = ""]) => ({ name: label, metric, aggregation, groupBy, filters })) };
}

/** The boards that every project has. That of quality has a chart for each score, which may be a rate. */
export function readyMade(id: string, scores: { field: string; rate: boolean }[]): { name: string; charts: Drawing[] } | null {
  switch (id) {
    case "overview": return { name: "Overview", charts: [
      draw("Sessions", "number", ["duration", "count", "", sessions]), draw("Model calls", "number", ["duration", "count", "", models]),
      draw("Errors", "number", ["duration", "count", "", failed]), draw("Cost", "number", ["cost", "sum"]),
      draw("Model calls by model", "bars", ["duration", "count", "config.model", models]), draw("Errors by step", "bars", ["duration", "count", "event_name", failed]),
      draw("Latency of model calls", "lines", ["duration", "median", "", models, "median"], ["duration", "p95", "", models, "p95"]), draw("Duration of sessions", "lines", ["duration", "median", "", sessions, "median"], ["duration", "p95", "", sessions, "p95"]),
      draw("Tokens", "bars", ["prompt_tokens", "sum", "", [], "prompt"], ["completion_tokens", "sum", "", [], "completion"]), draw("Tool calls by tool", "bars", ["duration", "count", "event_name", tools]),
      draw("p95 latency by tool", "lines", ["duration", "p95", "event_name", tools]), draw("Events by source", "bars", ["duration", "count", "source"]),
    ] };
    case "cost": return { name: "Cost", charts: [
      draw("Cost", "number", ["cost", "sum"]), draw("Cost of a session, average", "number", ["cost", "average", "", sessions]), draw("Tokens", "number", ["total_tokens", "sum"]), draw("Model calls", "number", ["duration", "count", "", models]),
      draw("Cost by model", "bars", ["cost", "sum", "config.model", models]), draw("Cost by step", "bars", ["cost", "sum", "event_name", models]),
      draw("Cost of a session", "lines", ["cost", "median", "", sessions, "median"], ["cost", "p95", "", sessions, "p95"]), draw("Cost of a call by model, average", "lines", ["cost", "average", "config.model", models]),
      draw("Tokens by model", "bars", ["total_tokens", "sum", "config.model", models]), draw("Prompt and completion tokens", "bars", ["prompt_tokens", "sum", "", [], "prompt"], ["completion_tokens", "sum", "", [], "completion"]),
    ] };
    case "quality": return { name: "Quality", charts: [
      draw("Errors of model calls", "bars", ["duration", "count", "config.model", [...models, failed[0]!]]), draw("Errors of tools", "bars", ["duration", "count", "event_name", [...tools, failed[0]!]]),
      ...scores.slice(0, maxScores).map(({ field, rate }) => draw(`${field.replace(/^metrics\./, "").replace(/^feedback\./, "Feedback: ")}, ${rate ? "rate of true" : "average"}`, "lines", [field, "average"])),
    ] };
  }
  return null;
}

export const readyMadeIds = ["overview", "cost", "quality"];

/** Places charts one after another: numbers in fours, others in twos. */
export function flow(charts: { id: string; display: string }[]): Tile[] {
  const tiles: Tile[] = [];
  let [x, y, row] = [0, 0, 0];
  for (const c of charts) {
    const [width, height] = c.display === "number" ? [3, 2] : [6, 4];
    if (x + width > 12 || height < row) [x, y, row] = [0, y + row, 0];
    tiles.push({ chart: c.id, x, y, width, height });
    x += width;
    row = Math.max(row, height);
  }
  return tiles;
}

const beside = (a: Tile, b: Tile) => a.x < b.x + b.width && b.x < a.x + a.width;

/** Lets tiles rise as far as others leave them room, in the order in which they stand. */
export function settle(tiles: Tile[]): Tile[] {
  const done: Tile[] = [];
  for (const t of [...tiles].sort((a, b) => a.y - b.y || a.x - b.x)) done.push({ ...t, y: Math.max(0, ...done.filter((d) => beside(d, t)).map((d) => d.y + d.height)) });
  return done;
}

/** Moves a tile by columns and past its neighbours above or below; those that it meets make room. */
export function move(tiles: Tile[], chart: string, dx: number, dy: number): Tile[] {
  const t = tiles.find((o) => o.chart === chart)!;
  const moved = { ...t, x: Math.min(12 - t.width, Math.max(0, t.x + dx)) };
  const others = tiles.filter((o) => o !== t);
  if (dy !== 0) {
    const ways = others.filter((o) => beside(o, t) && (dy < 0 ? o.y < t.y : o.y > t.y)).map((o) => o.y);
    if (ways.length > 0) moved.y = dy < 0 ? Math.max(...ways) - 0.5 : Math.min(...ways) + 0.5;
  }
  return settle([...others, moved]);
}

/** Puts a tile where it was dragged to: before what stands there. */
export function put(tiles: Tile[], chart: string, x: number, y: number): Tile[] {
  return settle(tiles.map((t) => (t.chart === chart ? { ...t, x: Math.min(12 - t.width, Math.max(0, x)), y: y - 0.5 } : t)));
}

/** Makes a tile larger or smaller, within the columns. */
export function resize(tiles: Tile[], chart: string, width: number, height: number): Tile[] {
  return settle(tiles.map((t) => (t.chart === chart ? { ...t, width: Math.min(12 - t.x, Math.max(2, width)), height: Math.min(20, Math.max(2, height)) } : t)));
}

/** The short names of fields by their names in the API. */
export const longNames: Record<string, string> = Object.fromEntries(Object.entries(shortNames).map(([short, long]) => [long, short]));

/** The text of the filter bar that stands for filters, and those that no text stands for. */
export function textOf(filters: Filter[]): { text: string; rest: Filter[] } {
  const parts: Part[] = [];
  const rest: Filter[] = [];
  for (const f of filters) {
    const part = partOf(f);
    if (part && same(compile(write([part]), "events").filters, [f])) parts.push(part);
    else rest.push(f);
  }
  return { text: write(parts), rest };
}

/** Compares filters, whatever the order of their members. */
function same(a: Filter[], b: Filter[]): boolean {
  const plain = (f: Filter): unknown => ("any" in f ? f.any.map((l) => l.map(plain)) : [f.field, f.operator, f.type ?? "string", f.value ?? null]);
  return JSON.stringify(a.map(plain)) === JSON.stringify(b.map(plain));
}

function partOf(f: Filter): Part | null {
  if ("any" in f) {
    const any = f.any.map((list) => list.map(partOf));
    return any.flat().includes(null) ? null : { field: "", operator: "or", value: "", any: any as Part[][] };
  }
  return conditionPart(f);
}

function conditionPart(c: Condition): Part | null {
  const field = longNames[c.field] ?? c.field;
  const value = String(c.value ?? "");
  switch (c.operator) {
    case "exists": return { field, operator: "has", value: "" };
    case "not exists": return { field, operator: "-has", value: "" };
    case "contains": return c.field === "text" ? { field: "", operator: "words", value } : { field, operator: "~", value };
    case "not contains": return { field, operator: "!~", value };
    case "is": return { field, operator: ":", value };
    case "is not": return { field, operator: "-:", value };
    case "is any of": return Array.isArray(c.value) ? { field, operator: ":", value: "", values: c.value.map(String) } : null;
    case "greater than": case "after": return { field, operator: ">", value };
    case "less than": case "before": return { field, operator: "<", value };
  }
  return null;
}

/** The text of the filter bar for the events behind a row of a series; null if no text says it. */
export function eventsOf(text: string, s: Series, row: { group: string | null; other: boolean } | null): string | null {
  const own = textOf(s.filters);
  if (own.rest.length > 0 || row?.other) return null;
  const parts: Part[] = [];
  const grouped = longNames[s.groupBy] ?? s.groupBy;
  if (grouped && row) parts.push(row.group === null ? { field: grouped, operator: "-has", value: "" } : { field: grouped, operator: ":", value: row.group });
  if (s.aggregation !== "count" && s.metric !== "duration") parts.push({ field: longNames[metricField(s.metric)] ?? metricField(s.metric), operator: "has", value: "" });
  const all = [text, own.text, write(parts)].filter(Boolean).join(" ");
  // What judges sent is in no chart, but in the list of events.
  return s.groupBy === "source" || /(^|[\s(-])(source|session|session_id|id|event_id|parent_id):/.test(all) ? all : `${all} -source:evaluator`.trim();
}

/** A line, a layer of bars or a number of a chart. */
export interface Row {
  label: string;
  tint: number; // 1 to 10, of the colours of series; the last is that of all others
  series: number;
  group: string | null;
  other: boolean;
  values: (number | null)[];
  counts: number[];
  before: (number | null)[] | null;
  total: number | null; // of the whole range; null: percentiles cannot be added up
  totalBefore: number | null;
}

export type Answered = QueryChartsAnswer["series"][number];

/** The rows of a chart, of which groups begin with the largest. */
export function rowsOf(d: Drawing, answers: Answered[]): Row[] {
  const all = d.series.flatMap((s, series) => {
    const name = s.name || (d.series.length > 1 || s.groupBy === "" ? seriesLabel(s) : "");
    const rows = (answers[series]?.rows ?? []).map((r): Row => {
      const group = r.group ?? null;
      const text = s.groupBy === "" ? "" : r.other ? "all others" : group === null ? `no ${longNames[s.groupBy] ?? s.groupBy}` : group || "(empty)";
      const before = r.previous ?? null;
      return {
        label: [name, text].filter(Boolean).join(": "), tint: 10, series, group, other: r.other ?? false, values: r.values, counts: r.counts, before,
        total: totalOf(s.aggregation, r.values, r.counts), totalBefore: before && totalOf(s.aggregation, before, r.previous_counts ?? []),
      };
    });
    const rank = (r: Row) => (r.other ? 2 : r.group === null ? 1 : 0);
    const size = (r: Row) => r.counts.reduce((a, b) => a + b, 0);
    return s.groupBy === "" ? rows : rows.filter((r) => size(r) > 0 || r.before?.some(Boolean)).sort((a, b) => rank(a) - rank(b) || size(b) - size(a));
  });
  all.forEach((r, i) => { if (!r.other) r.tint = (i % 9) + 1; });
  return all;
}

/** The value of the whole range. */
function totalOf(aggregation: string, values: (number | null)[], counts: number[]): number | null {
  const there = values.filter((v) => v !== null);
  const sum = (list: number[]) => list.reduce((a, b) => a + b, 0);
  switch (aggregation) {
    case "count": case "sum": return sum(there);
    case "min": return there.length > 0 ? Math.min(...there) : null;
    case "max": return there.length > 0 ? Math.max(...there) : null;
    case "average": case "avg": case "mean": return there.length > 0 ? sum(values.map((v, i) => (v ?? 0) * counts[i]!)) / sum(counts) : null;
  }
  return null;
}

export function seriesLabel(s: Series): string {
  const what = s.metric.replace(/^(metadata|metrics)\./, "").replaceAll("_", " ");
  return s.aggregation === "count" ? "events" : `${s.aggregation} of ${what}`;
}

/** Reports whether a series gives rates: the average of what is true or false. */
const isRate = (s: Series, booleans: Set<string>): boolean => s.aggregation === "average" && booleans.has(metricField(s.metric));

/** Writes a value of a series. booleans are the metrics that are true or false: their average is a rate. */
export function valueText(s: Series | undefined, v: number | null | undefined, booleans: Set<string>): string {
  if (v === null || v === undefined) return "–";
  const field = metricField(s?.metric ?? "");
  if (!s || s.aggregation === "count") return format.short(v);
  if (field === "duration") return format.duration(v);
  if (/(^|\.)cost$/.test(field)) return format.cost(v);
  if (isRate(s, booleans)) return `${Number((v * 100).toFixed(1))}%`;
  return Math.abs(v) >= 1e4 ? format.short(v) : format.value(v);
}

/** How much a value of a series has grown since the period before: "+12%", or of a rate "+1.8 pp"; "" if that says nothing. */
export function change(s: Series | undefined, now: number | null, before: number | null, booleans: Set<string>): string {
  if (now === null || before === null) return "";
  if (s && isRate(s, booleans)) {
    const points = Number(((now - before) * 100).toFixed(1));
    return `${points < 0 ? "−" : "+"}${Math.abs(points)} pp`;
  }
  if (before === 0) return "";
  const percent = ((now - before) / Math.abs(before)) * 100;
  return `${percent < 0 ? "−" : "+"}${Math.abs(percent) >= 1000 ? format.short(Math.abs(percent)) : Math.abs(percent).toFixed(Math.abs(percent) < 10 ? 1 : 0)}%`;
}

/** The table of a chart as CSV. */
export function csvOf(times: string[], rows: Row[]): string {
  const columns = rows.flatMap((r) => [r.values, ...(r.before ? [r.before] : [])]);
  const head = ["time", ...rows.flatMap((r) => [r.label, ...(r.before ? [`${r.label}, before`] : [])])];
  return [head, ...times.map((t, i) => [t, ...columns.map((c) => c[i])])].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}
