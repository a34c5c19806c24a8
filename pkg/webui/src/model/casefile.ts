// A case file as its page reads it: JSON lines, and what the server would have answered from them.
import type { Event, EventPreview, Run } from "../api/types.gen.ts";
import { members } from "./raw.ts";

/** What the page needs of the result of a run. */
export interface CaseResult {
  passed: string[];
  metrics: { aggregation_function?: string; details?: { metric_name: string; aggregate?: unknown }[] };
  datapoints: { datapoint_id?: string | null; session_id: string; passed: boolean; metrics: { name: string; value: unknown; passed: boolean }[] }[];
}

export interface Case {
  trees: Map<string, string>; // by session, the answer of its tree as text
  events: Map<string, string>; // by id, as text, digit for digit
  previews: Map<string, EventPreview>;
  runs: Run[];
  results: Map<string, CaseResult>;
  nameOf: (session: string) => string;
}

/** Reads the lines of a case file. Of lines that it does not know the page needs nothing. */
export function readCase(text: string): Case {
  const file: Case = {
    trees: new Map(), events: new Map(), previews: new Map(), runs: [], results: new Map(),
    nameOf: (session) => {
      const event = file.events.get(session);
      return event ? (JSON.parse(event) as Event).event_name : session;
    },
  };
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const has = members(line);
    const of = (name: string) => JSON.parse(has.get(name) ?? '""') as string;
    if (has.has("event")) {
      const event = has.get("event")!;
      file.events.set(JSON.parse(members(event).get("event_id")!) as string, event);
    } else if (has.has("tree")) file.trees.set(of("session"), has.get("tree")!);
    else if (has.has("previews")) for (const [id, p] of Object.entries(JSON.parse(has.get("previews")!) as Record<string, EventPreview>)) file.previews.set(id, p);
    else if (has.has("run")) file.runs.push(JSON.parse(has.get("run")!) as Run);
    else if (has.has("result")) file.results.set(of("run_id"), JSON.parse(has.get("result")!) as CaseResult);
  }
  return file;
}

interface Search {
  filters?: { field: string; operator: string; value?: unknown }[];
  limit?: number;
}

/** Returns the answer to a request of the page of a session, as text; null if the file has none. */
export function answerOf(file: Case, path: string, body: unknown): string | null {
  const [route, ...parts] = path.split("?")[0]!.replace(/^v1\//, "").split("/").map(decodeURIComponent);
  if (route === "sessions" && parts[1] === "tree") return file.trees.get(parts[0]!) ?? null;
  if (route !== "events") return null;
  if (parts[0] === "previews") {
    const ids = (body as { event_ids: string[] }).event_ids;
    return JSON.stringify({ previews: Object.fromEntries(ids.flatMap((id) => { const p = file.previews.get(id); return p ? [[id, p]] : []; })) });
  }
  if (parts[0] === "search") return JSON.stringify(search(file, body as Search));
  const event = file.events.get(parts[0]!);
  if (!event) return null;
  return parts[1] === "fields" ? members(event).get(parts[2]!) ?? "null" : event;
}

/** Searches as the page of a session does: events of a session that have scores, or a text in what went in or out. */
function search(file: Case, { filters = [], limit = 100 }: Search): { events: Event[]; totalEvents: number } {
  const value = (field: string) => filters.find((f) => f.field === field)?.value;
  const found: Event[] = [];
  const session = value("session_id"), text = value("text");
  if (value("source") !== "evaluator") { // their records are sessions of their own, which are not in the file
    for (const line of file.events.values()) {
      if (typeof session === "string" && !line.includes(session)) continue;
      const event = JSON.parse(line) as Event;
      if (event.session_id !== session) continue;
      if (filters.some((f) => f.field === "metrics") && Object.keys(event.metrics ?? {}).length === 0) continue;
      if (typeof text === "string" && !JSON.stringify([event.inputs, event.outputs]).includes(JSON.stringify(text).slice(1, -1))) continue;
      found.push(event);
    }
  }
  return { events: found.slice(0, limit), totalEvents: found.length };
}
