// Who has done what in a queue, and how far they agree.
import { call } from "../../api/client.ts";
import type { GetQueueAgreementAnswer, ListQueueAnnotatorsAnswer, Queue } from "../../api/types.gen.ts";
import * as format from "../../model/format.ts";
import { Problem, useLoaded } from "../../parts/common.tsx";

/** A bound of the table of annotators; how many are left out is said. */
const most = 200;

export function People({ queue }: { queue: Queue }) {
  const loaded = useLoaded(queue.id, async (signal) => {
    const [people, agreement] = await Promise.all([
      call<ListQueueAnnotatorsAnswer>(`v1/queues/${queue.id}/annotators`, { signal }), call<GetQueueAgreementAnswer>(`v1/queues/${queue.id}/agreement`, { signal }),
    ]);
    return { people: people.annotators, metrics: agreement.metrics };
  });
  if (loaded.error && !loaded.value) return <Problem error={loaded.error} retry={loaded.reload} />;
  if (!loaded.value) return <div class="progress" role="progressbar" aria-label="Loading" />;
  const { people, metrics } = loaded.value;
  const now = Date.now();
  return (
    <div class="people" role="region" aria-label="People" tabIndex={0}>
      <section>
        <h2>Annotators</h2>
        {people.length === 0 ? <p class="secondary">Nobody has annotated anything yet.</p> : (
          <table>
            <thead><tr><th>Name</th><th>Annotated</th><th>Skipped</th><th>Held now</th><th>Last</th></tr></thead>
            <tbody>{people.slice(0, most).map((p) => <tr key={p.annotator}><th scope="row">{p.annotator}</th><td>{format.count(p.annotated)}</td><td>{format.count(p.skipped)}</td><td>{format.count(p.held)}</td><td>{p.last_at ? format.ago(Date.parse(p.last_at), now) : "–"}</td></tr>)}</tbody>
          </table>
        )}
        {people.length > most && <p class="secondary">{`${people.length >= 1000 ? "At least " : ""}${format.count(people.length - most)} more are not shown.`}</p>}
      </section>
      <section>
        <h2>Agreement</h2>
        <p class="secondary">Kappa says how much of the agreement chance would not give: 1 is all of it, 0 none. Of numbers, a near miss counts less than a far one.</p>
        {metrics.length === 0 ? <p class="secondary">No item has two annotations yet.</p> : (
          <table>
            <thead><tr><th>Metric</th><th>Between</th><th>Compared</th><th>Equal</th><th>Kappa</th></tr></thead>
            {metrics.map((m) => (
              <tbody key={m.name}>
                <tr><th scope="row">{m.name}</th><td>{m.of.length === 1 ? m.of[0]!.annotators.join(" and ") : "all pairs"}</td><Figures of={m} /></tr>
                {m.of.length > 1 && m.of.slice(0, most).map((of) => <tr key={of.annotators.join("\n")}><th /><td>{of.annotators.join(" and ")}</td><Figures of={of} /></tr>)}
                {m.of.length > most && <tr><td colSpan={5}>{`${format.count(m.of.length - most)} more pairs are not shown.`}</td></tr>}
              </tbody>
            ))}
          </table>
        )}
      </section>
    </div>
  );
}

function Figures({ of }: { of: { pairs: number; observed_agreement: number | null; kappa: number | null; reason?: string } }) {
  return (
    <>
      <td>{format.count(of.pairs)}</td>
      <td>{of.observed_agreement === null ? "–" : `${Math.round(of.observed_agreement * 100)} %`}</td>
      <td>{of.kappa === null ? <span class="faint">{of.reason}</span> : of.kappa.toFixed(2)}</td>
    </>
  );
}
