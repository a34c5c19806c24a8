// How far a metric agrees with people, and the cases in which it does not.
import { call } from "../../api/client.ts";
import type { GetMetricAgreementAnswer, ListMetricsAnswer, ListMetricVersionsAnswer } from "../../api/types.gen.ts";
import { route, setParams } from "../../app/router.ts";
import * as format from "../../model/format.ts";
import { Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { dateRange, RangePicker } from "../../parts/range.tsx";
import { useFields } from "../completion.ts";
import { Button, Choice, Events, Figures, part, Score } from "./parts.tsx";

const most = 1000; // cases of one answer

export function Agreement({ id, name }: { id: string; name: string }) {
  const { params } = route.value;
  const { paths } = useFields("events");
  const [range, version, cases] = [params.get("range") ?? "all", params.get("of") ?? "", params.get("cases") ?? "50"];
  const known = useLoaded(id, async (signal) => {
    const [people, versions] = await Promise.all([call<ListMetricsAnswer>("v1/metrics?type=HUMAN&limit=1000", { signal }), call<ListMetricVersionsAnswer>(`v1/metrics/${id}/versions?limit=1000`, { signal })]);
    return { people: people.metrics.filter((m) => m.name !== name).map((m) => `metrics.${m.name}`), versions: versions.data };
  });
  const labels = [...(known.value?.people ?? []), ...paths.filter((p) => /^feedback\.(?!(comment|ground_truth)\b)/.test(p))];
  const label = params.get("with") ?? labels[0] ?? "";
  const within = dateRange(range);
  const asked = new URLSearchParams({ with: label, limit: cases, ...(version && { version }), ...(within && { dateRange: typeof within === "string" ? within : JSON.stringify(within) }) });
  const found = useLoaded(label && `${asked}`, (signal) => (label ? call<GetMetricAgreementAnswer>(`v1/metrics/${id}/agreement?${asked}`, { signal }) : Promise.resolve(null)));
  const a = found.error ? null : found.value;
  const { classes = null, numbers = null } = a ?? {};
  return (
    <div class="metric-scroll">
      {found.loading && <div class="progress" role="progressbar" aria-label="Loading" />}
      <div class="metric-tools">
        <Choice short label="Labels of people" value={label} on={(v) => setParams({ with: v })} options={(label === "" ? ["none"] : [...new Set([label, ...labels])]).map((l) => [l, l.replace(/^metrics\./, "")])} />
        <Choice short label="Scores of" value={version} on={(v) => setParams({ of: v })} options={[["", "any version, as they stand"], ...(known.value?.versions ?? []).map((v) => [v.name, `${v.name}${v.deployed ? " (deployed)" : ""}`] as const)]} />
        <RangePicker range={range} onChange={(r) => setParams({ range: r === "all" ? null : r })} />
      </div>
      {found.error !== null && <Problem error={found.error} retry={found.reload} />}
      {label === "" && known.value && <Empty title="Nobody has labelled events yet"><p>Labels are scores of metrics for people, given in annotation queues, and fields of feedback such as feedback.rating.</p></Empty>}
      {a && a.compared === 0 && (a.labelled === 0 ? <Empty title="No event has this label" />
        : a.scored === 0 ? <Empty title="The metric has scored none of the labelled events"><p>{`${format.plural(a.labelled, "event has", "events have")} the label. A backfill, under Scored events, scores them.`}</p></Empty>
        : <Empty title="Scores and labels are of different kinds"><p>Numbers are compared with true and false once the metric says which pass.</p></Empty>)}
      {a && a.compared > 0 && (
        <>
          <Figures list={[
            ["Compared", format.count(a.compared), `of ${format.count(a.labelled)}${a.complete ? "" : " newest"} labelled${a.scored < a.labelled ? `, ${format.count(a.labelled - a.scored)} without a score` : ""}${a.unlike > 0 ? `, ${format.count(a.unlike)} of another kind` : ""}`],
            classes && ["Agree", `${Math.round(classes.accuracy * 1000) / 10} %`, classes.by_threshold > 0 ? "by whether they pass" : undefined],
            classes && ["Kappa", part(classes.kappa), classes.kappa === null ? "always one and the same answer" : "1 agrees, 0 as by chance"],
            numbers && ["Correlation", part(numbers.correlation)],
            numbers && ["Mean difference", part(numbers.mean_difference), `${part(numbers.mean_absolute_difference)} without its sign`],
            numbers && ["Concordance", part(numbers.kappa), "kappa weighted by squares"],
          ]} />
          {classes && (
            <div class="metric-wide" role="region" aria-label="By value" tabIndex={0}><table class="metric-table">
              <thead><tr>{["Value", "People", "Metric", "Both", "Precision", "Recall", "F1"].map((h) => <th key={h} scope="col">{h}</th>)}</tr></thead>
              <tbody>{classes.values.map((c) => <tr key={JSON.stringify(c.value)}><th scope="row" class="ellipsis">{classes.by_threshold > 0 && typeof c.value === "boolean" ? (c.value ? "passes" : "does not pass") : format.value(c.value)}</th>{[...[c.labelled, c.given, c.both].map(format.count), ...[c.precision, c.recall, c.f1].map(part)].map((v, i) => <td key={i}>{v}</td>)}</tr>)}</tbody>
            </table>{classes.omitted > 0 && <p class="secondary">{`${format.plural(classes.omitted, "rarer value")} not listed.`}</p>}</div>
          )}
          <h2>{a.disagreements === 0 ? "They agree on all of them" : format.plural(a.disagreements, "disagreement")}</h2>
          <Events label="Disagreements" list={a.cases.map((c) => ({
            event: c.event_id, session: c.session_id, name: c.event_name, note: format.shortTime(c.start_time, Date.now()), said: c.explanation, right: <><span>people <Score value={c.label} /></span><span>metric <Score value={c.score} /></span></>,
          }))} />
          {a.cases.length < a.disagreements && (a.cases.length < most ? <Button label={`Show more of ${format.count(a.disagreements)}`} on={() => setParams({ cases: String(Math.min(most, Number(cases) + 200)) }, true)} /> : <p class="secondary">{`The first ${format.count(most)} are listed.`}</p>)}
        </>
      )}
    </div>
  );
}
