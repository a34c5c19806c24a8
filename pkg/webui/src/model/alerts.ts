// What alerts watch, in words, and their figures in the units of what is measured.
import type { Alert, Chart, Filter } from "../api/types.gen.ts";
import { metricField, seriesLabel, textOf, valueText, type Series } from "./charts.ts";
import * as format from "./format.ts";

/** What an alert measures: its own metric, or that of a saved chart. */
export interface Measured {
  chart: string; // the name of the chart; "": there is none
  metric: string;
  func: string;
  query: Filter[];
}

/** Returns what an alert measures; null if its chart is not among those that are given. */
export function measuredBy(a: Pick<Alert, "chart_id" | "metric" | "func" | "query">, charts: Chart[]): Measured | null {
  if (!a.chart_id) return { chart: "", metric: a.metric ?? "", func: a.func || "average", query: a.query as unknown as Filter[] };
  const c = charts.find((one) => one.id === a.chart_id);
  return c ? { chart: c.name, metric: c.metric, func: c.func || "average", query: c.query as Filter[] } : null;
}

/** Aggregations of the API that charts know by another name. */
const synonyms: Record<string, string> = { avg: "average", mean: "average", p50: "median" };

/** What is measured as a series of a chart. */
export const seriesOf = (m: Measured): Series => ({ name: "", metric: m.metric, aggregation: synonyms[m.func] ?? m.func, groupBy: "", filters: [] });

/** What is measured, with the filter as the filter bar has it: "p95 of duration, type:model". */
export function measuresText(m: Measured): string {
  const what = m.func === "count" ? "number of events" : seriesLabel(seriesOf(m));
  const { text, rest } = textOf(m.query);
  return (m.chart && `chart ${m.chart.slice(0, 80)}: `) + [what, ...(text ? [text] : []), ...(rest.length > 0 ? [format.plural(rest.length, "more filter")] : [])].join(", ");
}

/** A figure in the unit of what is measured, as charts write it. booleans are the fields of metrics that are true or false. */
export function figureText(m: Measured | null, v: number | null | undefined, booleans: Set<string>): string {
  if (v === null || v === undefined) return "–";
  if (v < 0) return `−${figureText(m, -v, booleans)}`;
  return m ? valueText(seriesOf(m), v, booleans) : String(Number(v.toPrecision(6)));
}

/** The unit in which a threshold is typed; "" if it has none. */
export function unitOf(m: Measured, booleans: Set<string>): string {
  const { metric, aggregation } = seriesOf(m);
  const field = metricField(metric);
  if (aggregation === "count") return "events";
  if (field === "duration") return "ms";
  if (/(^|\.)cost$/.test(field)) return "$";
  return aggregation === "average" && booleans.has(field) ? "1 is 100%" : "";
}

/** When an alert fires, in words, with the unit of what is measured: "above 2.00 s over 30 minutes". */
export function conditionText(a: Pick<Alert, "compare" | "condition" | "threshold">, m: Measured | null, booleans: Set<string>): string {
  if (a.compare !== "value") return a.condition;
  return a.condition.replace(/^(above|below) \S+/, (_, op: string) => `${op} ${figureText(m, a.threshold, booleans)}`);
}
