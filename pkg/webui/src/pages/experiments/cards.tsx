// A card a metric: the difference of each run from the baseline with its interval, all on one axis, and the counters that filter.
import { useState } from "preact/hooks";
import { route, setParams } from "../../app/router.ts";
import { arrows, axis, difference, place, score } from "../../model/experiments.ts";
import * as format from "../../model/format.ts";
import type { Head, Metric } from "./rows.ts";

/** So many metrics have a card until somebody asks for all. */
const mostCards = 12;

export function Cards({ head, base }: { head: Head; base: string }) {
  const [all, setAll] = useState(false);
  const unpaired = (m: Metric) => Number(!m.runs.some((r) => r.run_id !== base && r.pairs > 0));
  const cards = head.metrics.filter((m) => m.runs.some((r) => r.values > 0)).sort((a, b) => unpaired(a) - unpaired(b));
  return (
    <div class="run-cards" tabIndex={0} role="group" aria-label="Metrics">
      {cards.slice(0, all ? undefined : mostCards).map((m) => <Card key={m.key} metric={m} head={head} base={base} />)}
      {!all && cards.length > mostCards && <button type="button" class="button" onClick={() => setAll(true)}>{`Show the other ${format.plural(cards.length - mostCards, "metric")}`}</button>}
      {head.omitted > 0 && <p class="faint">{`${format.plural(head.omitted, "metric")} not compared`}</p>}
    </div>
  );
}

const verdicts = { better: ["good", "better"], worse: ["bad", "worse"], cannot_tell: ["faint", "cannot tell"] } as const;
const changes = [["improved", "good"], ["degraded", "bad"], ["same", "faint"]] as const;

function Card({ metric: m, head, base }: { metric: Metric; head: Head; base: string }) {
  const { params } = route.value;
  const others = m.runs.filter((r) => r.run_id !== base);
  const of = m.runs.find((r) => r.run_id === base);
  const on = axis(others.flatMap((r) => [r.difference, r.interval?.low, r.interval?.high]));
  return (
    <section class="run-card" aria-label={m.key}>
      <h2><span class="ellipsis" title={m.key}>{m.key}</span><span class="faint" title={m.direction_given ? "as its rule says" : "no rule says so"}>{`${m.lower_is_better ? "lower" : "higher"} is better`}</span></h2>
      <div class="run-against faint"><span>{`baseline ${score(m, of?.aggregate)} over ${format.plural(of?.values ?? 0, "value")}`}</span><span class="delta">difference</span>{changes.map(([change]) => <span key={change} class="delta">{change}</span>)}</div>
      {others.map((r) => {
        const [tone, verdict] = verdicts[r.verdict ?? "cannot_tell"];
        const name = head.runs.find((x) => x.run_id === r.run_id)?.name;
        const d = r.difference;
        return (
          <div key={r.run_id} class="run-against">
            <span class="ellipsis" title={`${name}: ${score(m, r.aggregate)} over ${format.plural(r.values, "value")}${d === undefined ? "" : `; over ${format.plural(r.pairs, "pair")} ${score(m, r.paired_aggregate)}, and the baseline ${score(m, r.baseline_aggregate)}`}`}>{name}<small class="faint">{format.plural(r.pairs, "pair")}</small></span>
            {d !== undefined && r.interval ? <Whisker zero on={on} low={r.interval.low} high={r.interval.high} middle={d} tone={tone} label={`${verdict}: ${difference(m, d)}, between ${difference(m, r.interval.low)} and ${difference(m, r.interval.high)} (95 %), ${format.plural(r.pairs, "pair")}`} />
              : <span />}
            <span class={`delta ${tone}`}>{d === undefined ? "–" : difference(m, d)}{d !== undefined && <small>{verdict}</small>}</span>
            {changes.map(([change, colour]) => {
              const here = params.get("metric") === m.key && params.get("run") === r.run_id && params.get("only") === change;
              return <button key={change} type="button" class={`delta ${colour}`} aria-pressed={here} aria-label={`${format.count(r[change])} ${change}`} disabled={r[change] === 0}
                onClick={() => setParams({ s: null, sort: null, order: null, ...(here ? { metric: null, run: null, only: null } : { metric: m.key, run: r.run_id, only: change }) })}>{`${arrows[change]} ${format.short(r[change])}`}</button>;
            })}
          </div>
        );
      })}
    </section>
  );
}

/** An interval as a whisker on an axis, with its middle. */
export function Whisker({ on, low, high, middle, tone, zero, label }: { on: [number, number]; low: number; high: number; middle: number; tone?: string; zero?: boolean; label: string }) {
  const x = (v: number) => `${place(on, v)}%`;
  const line = (from: number, to: number, up: number) => <line x1={x(from)} x2={x(to)} y1={8 - up} y2={8 + up} />;
  return (
    <svg class={`whisker ${tone ?? ""}`} role="img" aria-label={label}>
      <title>{label}</title>
      {zero && <g class="zero">{line(0, 0, 8)}</g>}
      {line(low, high, 0)}{line(low, low, 4)}{line(high, high, 4)}
      <circle cx={x(middle)} cy="8" r="3" />
    </svg>
  );
}
