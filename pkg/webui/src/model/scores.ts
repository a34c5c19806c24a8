// The scores of a session's events, with what was said of each and which judge gave it.
import type { Event, EventFields } from "../api/types.gen.ts";

export interface Score {
  metric: string;
  value: unknown;
  explanation: string | null;
  event: string; // id of the event that has the score
  eventName: string;
  judge: { session: string; event: string } | null; // the recorded answer of the judge that gave it
}

const suffix = "_explanation";

/** Returns the scores among metrics: an explanation goes with the score that it explains, and is none itself. */
export function scoresOf(metrics: Record<string, unknown> | undefined): { metric: string; value: unknown; explanation: string | null }[] {
  const out: { metric: string; value: unknown; explanation: string | null }[] = [];
  for (const [metric, value] of Object.entries(metrics ?? {})) {
    if (value === null || value === undefined) continue;
    if (metric.endsWith(suffix) && Object.hasOwn(metrics!, metric.slice(0, -suffix.length))) continue;
    const said = metrics![metric + suffix];
    out.push({ metric, value, explanation: Object.hasOwn(metrics!, metric + suffix) && typeof said === "string" && said !== "" ? said : null });
  }
  return out;
}

/** The names of scores among the names that metrics have: a name is none if it is that of another's explanation. */
export function scoreNames(names: string[]): string[] {
  const all = new Set(names);
  return [...all].filter((n) => !n.endsWith(suffix) || !all.has(n.slice(0, -suffix.length)));
}

/** What is read of an event with scores, and of the record of a judge. */
type Scored = Pick<Event, "event_id" | "event_name" | "metrics">;
type Judged = Pick<Event, "event_id" | "session_id" | "start_time"> & Pick<EventFields, "metadata">;

/** Returns all scores of events, each with the record of its judge: the newest record of the metric about the event. */
export function readScores(events: Scored[], records: Judged[]): Score[] {
  const judges = new Map<string, Judged>();
  for (const r of records) {
    const key = JSON.stringify([r.metadata?.target_event_id, r.metadata?.evaluator_name]);
    const known = judges.get(key);
    if (!known || known.start_time < r.start_time) judges.set(key, r);
  }
  return events.flatMap((e) => scoresOf(e.metrics).map((s) => {
    const judge = judges.get(JSON.stringify([e.event_id, s.metric]));
    return { ...s, event: e.event_id, eventName: e.event_name, judge: judge ? { session: judge.session_id, event: judge.event_id } : null };
  }));
}
