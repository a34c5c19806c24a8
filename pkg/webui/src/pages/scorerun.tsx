// Metrics score the events of a run that is stored.
import { useState } from "preact/hooks";
import { call } from "../api/client.ts";
import type { Backfill, ListMetricsAnswer, Metric } from "../api/types.gen.ts";
import { href } from "../app/router.ts";
import * as format from "../model/format.ts";
import { eventsText } from "../model/metric.ts";
import { Dialog, Problem, useLoaded } from "../parts/common.tsx";
import { useWork } from "../parts/form.tsx";

/** Reads all metrics of the project, the newest first. */
export async function readMetrics(signal: AbortSignal): Promise<Metric[]> {
  const list: Metric[] = [];
  for (let page = 1; ; page++) {
    const { metrics } = await call<ListMetricsAnswer>(`v1/metrics?limit=1000&page=${page}`, { signal });
    list.push(...metrics);
    if (metrics.length < 1000) return list.reverse();
  }
}

/** The metrics that a program can compute, to be chosen; nothing where there are none. */
export function Scorers({ chosen, onChange }: { chosen: readonly Metric[]; onChange: (chosen: Metric[]) => void }) {
  const list = useLoaded("metrics", readMetrics);
  const metrics = list.value?.filter((m) => m.type !== "HUMAN") ?? [];
  if (list.error) return <Problem error={list.error} retry={list.reload} />;
  if (metrics.length === 0) return list.value && <p class="secondary">There are no metrics yet. <a href={href(["metrics"])}>Metrics</a></p>;
  return (
    <div class="points" tabIndex={0} role="group" aria-label="Metrics">
      {metrics.map((m) => (
        <label key={m.id} class="check">
          <input type="checkbox" checked={chosen.some((c) => c.id === m.id)} onChange={(e) => onChange(e.currentTarget.checked ? [...chosen, m] : chosen.filter((c) => c.id !== m.id))} />
          {m.name}<span class="ellipsis faint">{eventsText(m) || "all events but sessions"}</span>
        </label>
      ))}
    </div>
  );
}

/** Has metrics score the events of a run that they are for, and returns how many those are, by the names of the metrics. */
export async function scoreRun(run: string, metrics: readonly Metric[]): Promise<[string, number][]> {
  const begun: [string, number][] = [];
  for (const m of metrics) {
    const { total } = await call<Backfill>(`v1/metrics/${m.id}/backfills`, { method: "POST", body: { evaluation_id: run } });
    begun.push([m.name, total]);
  }
  return begun;
}

/** What became of scoreRun, in words. */
export const begunText = (begun: [string, number][]): string =>
  begun.map(([name, n]) => (n > 0 ? `${name} scores ${format.plural(n, "event")}` : `${name} is for none of its events`)).join(", ");

export function ScoreRun({ run, onDone, onClose }: { run: string; onDone: () => void; onClose: () => void }) {
  const [chosen, setChosen] = useState<Metric[]>([]);
  const [begun, setBegun] = useState("");
  const work = useWork();
  const close = () => { if (begun) onDone(); onClose(); };
  return (
    <Dialog label="Score the run" onClose={close}>
      <form class="form" onSubmit={(e) => { e.preventDefault(); if (begun) close(); else void work.run(async () => setBegun(begunText(await scoreRun(run, chosen)))); }}>
        <h2>Score the run</h2>
        {begun ? <p role="status">{`${begun}. Scores appear as they are made; how far each metric has come stands under its scored events.`}</p> : (
          <>
            <Scorers chosen={chosen} onChange={setChosen} />
            <p class="secondary">By the deployed versions, over the events of the run that each is for. What a version has scored stays.</p>
          </>
        )}
        {work.problem && <p class="bad" role="alert">{work.problem}</p>}
        <div class="form-end">
          {!begun && <button type="button" class="button" onClick={close}>Cancel</button>}
          <button class="button primary" type="submit" disabled={!begun && (chosen.length === 0 || work.busy)}>{begun ? "Close" : "Score"}</button>
        </div>
      </form>
    </Dialog>
  );
}
