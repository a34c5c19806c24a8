// What a metric has done: how many of its events it has scored, what that cost, what failed, and backfills over past events.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { searchFields } from "../../api/search.ts";
import type { Backfill, Evaluation, GetMetricCoverageAnswer, ListBackfillsAnswer, ListEvaluationsAnswer, RetryEvaluationsAnswer } from "../../api/types.gen.ts";
import { route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { failureText, type Definition } from "../../model/metric.ts";
import { Problem, useLoaded } from "../../parts/common.tsx";
import { dateRange, defaultRange, RangePicker, ranges } from "../../parts/range.tsx";
import { Button, Choice, Events, Figures, Num, Score, useAct } from "./parts.tsx";

const beat = 2000; // milliseconds between looks at a backfill that runs

export function Runs({ id, metric }: { id: string; metric: Definition }) {
  const range = route.value.params.get("range") ?? defaultRange;
  const [turn, setTurn] = useState(0);
  const again = () => setTurn((n) => n + 1);
  const within = dateRange(range) ?? { $gte: 0 };
  const coverage = useLoaded(`${id} ${range} ${turn}`, (signal) => call<GetMetricCoverageAnswer>(`v1/metrics/${id}/coverage?${new URLSearchParams({ dateRange: typeof within === "string" ? within : JSON.stringify(within) })}`, { signal }));
  const c = coverage.value;
  const people = metric.type === "HUMAN";
  const sum = (name: "waiting" | "paused" | "failed" | "dead" | "cost") => c!.online[name] + c!.backfills[name];
  const both = (name: "waiting" | "failed" | "dead"): string => format.count(sum(name));
  return (
    <div class="metric-scroll">
      <div class="metric-tools"><RangePicker range={range} onChange={(r) => setParams({ range: r })} /><Button label="Look again" on={again} /></div>
      {coverage.error !== null ? <Problem error={coverage.error} retry={coverage.reload} /> : c && (
        <>
          <Figures list={[
            ["Events it is for", format.count(c.matching)],
            ["Scored", format.count(c.scored), c.matching > 0 ? `${Math.round((c.scored / c.matching) * 1000) / 10} %${metric.enabled_in_prod && metric.sampling_percentage < 100 ? `; its sample is ${metric.sampling_percentage} %` : ""}` : undefined],
            ...(people ? [] : [
              ["Waiting", both("waiting"), sum("paused") > 0 ? `${format.count(sum("paused"))} paused` : undefined],
              ["No score", both("failed"), [...c.online.failures, ...c.backfills.failures].map((f) => `${failureText(f.failure)} ${format.count(f.count)}`).join(", ")],
              ["Dead", both("dead"), "tried too often"],
              metric.type === "LLM" ? ["Cost", format.cost(sum("cost")), c.backfills.cost > 0 ? `${format.cost(c.backfills.cost)} of it backfills` : undefined] : null,
            ] as [string, string, string?][]),
          ]} />
          {people ? <p class="secondary">People give its scores, in annotation queues.</p> : <>
            <Backfills id={id} onChange={again} />
            <Evaluations id={id} turn={turn} first={sum("dead") > 0 ? "dead" : sum("failed") > 0 ? "failed" : "done"} onRetry={again} />
          </>}
        </>
      )}
    </div>
  );
}

/** Single evaluations: the dead ones first, if there are any. */
function Evaluations({ id, turn, first, onRetry }: { id: string; turn: number; first: string; onRetry: () => void }) {
  const state = route.value.params.get("state") ?? first;
  const [pages, setPages] = useState(1);
  const [note, setNote] = useState("");
  const { act, problem } = useAct();
  const loaded = useLoaded(`${id} ${state} ${turn} ${pages}`, async (signal) => {
    const list: Evaluation[] = [];
    let next: string | undefined = "";
    for (let page = 0; page < pages && next !== undefined; page++) {
      const answer: ListEvaluationsAnswer = await call(`v1/evaluations?${new URLSearchParams({ metric_id: id, state, limit: "50", ...(next && { before: next }) })}`, { signal });
      list.push(...answer.evaluations);
      next = answer.next;
    }
    const events = new Map<string, { session_id: string; event_name: string }>();
    for (let i = 0; i < list.length; i += 100) {
      const { events: found } = await searchFields(["event_id", "session_id", "event_name"], [], { filters: [{ field: "event_id", operator: "is any of", value: list.slice(i, i + 100).map((e) => e.event_id) }], limit: 100 }, signal);
      for (const e of found) events.set(e.event_id, e);
    }
    return { list, events, more: next !== undefined };
  });
  const { list = [], events, more = false } = loaded.value ?? {};
  const retry = (which: Record<string, string>) => act(async () => {
    const { retried } = await call<RetryEvaluationsAnswer>("v1/evaluations/retry", { method: "POST", body: { metric_id: id, ...which } });
    setNote(retried === 0 ? "None waits anew: the metric does not run over new events." : `${format.plural(retried, "evaluation waits", "evaluations wait")} anew.`);
    onRetry();
  });
  const may = allows("full") && (state === "dead" || state === "failed");
  return (
    <section>
      <div class="metric-tools">
        <h2>Evaluations</h2>
        <Choice label="" aria-label="State" value={state} on={(v) => setParams({ state: v })} options={[["dead", "dead"], ["failed", "no score"], ["done", "done"], ["waiting", "waiting"], ["paused", "paused"]]} />
        {may && list.length > 0 && <Button label={`Retry all ${state === "dead" ? "dead" : "without a score"}`} on={() => retry({ state })} />}
        <span class="secondary" role="status">{note}</span>
      </div>
      {problem}
      {loaded.error !== null && <Problem error={loaded.error} retry={loaded.reload} />}
      {loaded.value && list.length === 0 && <p class="secondary">There are none.</p>}
      <Events label="Evaluations" list={list.map((e) => {
        const event = events?.get(e.event_id);
        return {
          event: e.event_id, session: event?.session_id, name: event?.event_name ?? e.event_id, said: e.explanation,
          note: [e.metric_version, format.shortTime(Date.parse(e.finished_at ?? e.created_at), Date.now()), e.attempts > 1 && `${e.attempts} attempts`, e.backfill_id && "backfill", e.cost > 0 && format.cost(e.cost)].filter(Boolean).join(" · "),
          right: <>{e.score !== undefined ? <Score value={e.score} passed={e.passed} /> : <span class="chip">{e.failure ? failureText(e.failure) : e.state}</span>}{may && <Button label="Retry" kind="plain" on={() => retry({ id: e.id })} />}</>,
        };
      })} />
      {more && <Button label="Show more" on={() => setPages(pages + 1)} />}
    </section>
  );
}

/** Backfills of the metric, newest first, and a form for another. */
function Backfills({ id, onChange }: { id: string; onChange: () => void }) {
  const [turn, setTurn] = useState(0);
  const [form, setForm] = useState<{ range: string; limit: number | null } | null>(null);
  const [all, setAll] = useState(false);
  const { act, problem } = useAct();
  const loaded = useLoaded(`${id} ${turn}`, async (signal) => {
    const list: Backfill[] = [];
    for (let page = 1; ; page++) {
      const { backfills } = await call<ListBackfillsAnswer>(`v1/metrics/${id}/backfills?limit=1000&page=${page}`, { signal });
      list.push(...backfills);
      if (backfills.length < 1000) return list.reverse();
    }
  });
  const list = loaded.value ?? [];
  const running = list.some((b) => b.state === "running");
  useEffect(() => {
    if (!running || loaded.loading) return;
    const timer = setTimeout(() => { setTurn((n) => n + 1); onChange(); }, beat);
    return () => clearTimeout(timer);
  }, [loaded.value, loaded.loading]);
  const send = (path: string, body?: unknown) => act(async () => {
    await call(`v1/metrics/${id}/backfills${path}`, { method: "POST", body });
    setForm(null);
    setTurn((n) => n + 1);
  });
  const may = allows("full");
  return (
    <section>
      <div class="metric-tools"><h2>Backfills</h2>{may && !form && <Button label="Score past events" on={() => setForm({ range: defaultRange, limit: null })} />}</div>
      {form && (
        <form class="metric-tools" onSubmit={(e) => { e.preventDefault(); void send("", { dateRange: dateRange(form.range) ?? null, limit: form.limit }); }}>
          <Choice short label="Events of" value={form.range} on={(range) => setForm({ ...form, range })} options={ranges} />
          <Num short label="at most" placeholder="all" value={form.limit} on={(limit) => setForm({ ...form, limit })} />
          <button type="submit" class="button primary">Start</button><Button label="Close" on={() => setForm(null)} />
          <span class="secondary">By the deployed version, over the events that it is for, without a sample.</span>
        </form>
      )}
      {problem}
      {loaded.error !== null && <Problem error={loaded.error} retry={loaded.reload} />}
      {loaded.value && list.length === 0 && !form && <p class="secondary">None yet.</p>}
      <ul class="metric-events">
        {(all ? list : list.slice(0, 5)).map((b) => {
          const wanted = Math.min(b.total, b.limit ?? Infinity);
          const done = b.skipped + b.done + b.failed + b.dead;
          const open = b.state === "running" || b.state === "paused";
          return (
            <li key={b.id} class="line">
              <span class={`chip ${b.state}`}>{b.state}</span>{b.metric_version}
              <progress max={wanted} value={done} aria-label="Events looked at" />{`${format.count(done)} of ${format.count(wanted)}`}
              <span class="faint">{([[b.failed, "without a score"], [b.dead, "dead"], [b.skipped, "scored before"], [b.waiting + b.paused, "waiting"]] as const).filter(([n]) => n > 0).map(([n, what]) => `${format.count(n)} ${what}`).join(", ")}</span>
              <span class="grow" /><span class="faint">{format.ago(Date.parse(b.created_at), Date.now())}</span>
              {may && open && <><Button label={b.state === "running" ? "Pause" : "Resume"} on={() => send(`/${b.id}/${b.state === "running" ? "pause" : "resume"}`)} /><Button label="Cancel" kind="danger" on={() => send(`/${b.id}/cancel`)} /></>}
            </li>
          );
        })}
      </ul>
      {!all && list.length > 5 && <Button label={`Show all ${list.length}`} on={() => setAll(true)} />}
    </section>
  );
}
