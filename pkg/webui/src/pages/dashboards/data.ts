// What charts ask the server, in as few requests as can be.
import { useEffect, useMemo, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { Filter, ListEventValuesAnswer, ListEventValuesBody, ListMetricsAnswer, QueryChartsAnswer, QueryChartsBody, Schema } from "../../api/types.gen.ts";
import { ownZone, utc } from "../../app/zone.ts";
import { maxGroups, maxScores, metricField, type Answered, type Drawing, type Series } from "../../model/charts.ts";
import { scoreNames } from "../../model/scores.ts";
import { bounds, dateRange } from "../../parts/range.tsx";

/** The charts of a page: their buckets are the same. */
export interface Answers {
  times: number[];
  before: number[] | null;
  end: number; // of the last bucket
  ended: number; // of the range
  of: (Answered[] | Error | null)[]; // by chart; null: not there yet
}

/** Reports whether a filter looks into what events say, for which columns do not do: such charts are asked for by themselves. */
const isSlow = (f: Filter): boolean => ("any" in f ? f.any.flat().some(isSlow) : /^(text|inputs|outputs)\b/.test(f.field));

/** Asks for charts: all that columns answer in one request, or as many as one takes, and the others one after another beside it. */
export async function loadCharts(charts: Drawing[], shared: Filter[], range: string, previous: boolean, signal: AbortSignal, show: (a: Answers) => void): Promise<Answers> {
  const slow = (d: Drawing) => [...shared, ...d.series.flatMap((s) => s.filters)].some(isSlow);
  const batches: number[][] = [];
  let [batch, size]: [number[], number] = [[], 0];
  charts.forEach((d, i) => {
    if (slow(d)) return batches.push([i]);
    if (size + d.series.length > 50 || size === 0) batches.unshift(batch = []);
    size = size + d.series.length > 50 ? d.series.length : size + d.series.length;
    return batch.push(i);
  });
  const now = Date.now();
  const { from, to } = bounds(range, now);
  const asked: QueryChartsBody["dateRange"] = from === null ? dateRange(range) : { $gte: from, $lte: to ?? now };
  let out: Answers = { times: [], before: null, end: 0, ended: to ?? now, of: charts.map(() => null) };
  let failed: unknown = null;
  const next = async () => {
    for (let b = batches.shift(); b; b = batches.shift()) {
      try {
        const series = b.flatMap((i) => charts[i]!.series.map(({ metric, aggregation, groupBy, filters }) => ({ metric, aggregation: aggregation as "sum", ...(groupBy ? { groupBy, groups: maxGroups } : {}), filters })));
        const body: QueryChartsBody = { series, filters: shared, previous: previous && from !== null, timezone: utc.value ? "UTC" : ownZone, ...(asked ? { dateRange: asked } : {}) };
        const answer = await call<QueryChartsAnswer>("v1/events/chart", { method: "POST", body, signal });
        const of = [...out.of];
        let at = 0;
        for (const i of b) of[i] = answer.series.slice(at, (at += charts[i]!.series.length));
        const times = out.times.length > 0 ? out.times : answer.buckets.map((t) => Date.parse(t));
        const length = times.length > 1 ? times[times.length - 1]! - times[times.length - 2]! : (to ?? now) - times[0]!;
        out = { ...out, times, before: answer.previous_buckets?.map((t) => Date.parse(t)) ?? null, end: times[times.length - 1]! + Math.max(1000, length), of };
      } catch (e) {
        if (signal.aborted) throw e;
        failed = e;
        out = { ...out, of: out.of.map((o, i) => (b!.includes(i) ? (e as Error) : o)) };
      }
      show(out);
    }
  };
  await Promise.all([next(), next()]);
  if (failed && out.times.length === 0) throw failed;
  return out;
}

/** The fields of these series that are true or false: by their metric, or by their values. */
export function useBooleans(series: Series[]): Set<string> {
  const [declared, setDeclared] = useState<string[]>([]);
  const [seen, setSeen] = useState<string[]>([]);
  const fields = [...new Set(series.filter((s) => s.aggregation === "average").map((s) => metricField(s.metric)))].filter((f) => isScore.test(f)).join("\n");
  useEffect(() => {
    call<ListMetricsAnswer>("v1/metrics").then((a) => setDeclared(a.metrics.filter((m) => m.return_type === "boolean").map((m) => `metrics.${m.name}`)), () => {});
  }, []);
  useEffect(() => {
    if (fields === "") return;
    const stop = new AbortController();
    const list = fields.split("\n");
    void Promise.all(list.map((f) => kindOf(f, stop.signal))).then((kinds) => { if (!stop.signal.aborted) setSeen(list.filter((_, i) => kinds[i] === "boolean")); });
    return () => stop.abort();
  }, [fields]);
  return useMemo(() => new Set([...declared, ...seen]), [declared, seen]);
}

const isScore = /^(metrics|feedback)\.[^.]+$/;

/** What the values of a field were in the last 30 days; "" if there are none, or nobody can tell. */
async function kindOf(field: string, signal: AbortSignal): Promise<"number" | "boolean" | "other" | ""> {
  const body: ListEventValuesBody = { field, dateRange: "30d", limit: 100 };
  const answer = await call<ListEventValuesAnswer>("v1/events/values", { method: "POST", body, signal }).catch(() => null);
  const values = answer?.values.map((v) => v.value) ?? [];
  if (values.some((v) => v.trim() !== "" && Number.isFinite(Number(v)))) return "number";
  if (values.some((v) => v === "true" || v === "false")) return "boolean";
  return values.length > 0 || answer?.left_out ? "other" : "";
}

/** The fields of scores and feedback that events have, without those of which no chart can have a value. */
export async function scoreFields(signal: AbortSignal): Promise<{ field: string; rate: boolean }[]> {
  const { fields } = await call<Schema>("v1/events/schema", { signal });
  const names = scoreNames(fields.map((f) => f.name).filter((n) => isScore.test(n))).sort((a, b) => Number(b.startsWith("metrics")) - Number(a.startsWith("metrics")) || (a < b ? -1 : 1)).slice(0, 2 * maxScores);
  const kinds = await Promise.all(names.map((n) => kindOf(n, signal)));
  return names.map((field, i) => ({ field, rate: kinds[i] === "boolean" })).filter((_, i) => kinds[i] !== "other");
}

/** Saves a file. */
export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name.replace(/[^\p{L}\p{N} ._-]/gu, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
