// Events that were read, kept for a while: a page that goes back shows them at once. Bounded by number; big ones are not kept.
import { call, text } from "./client.ts";
import type { Event, EventPreview, PreviewEventsAnswer, PreviewEventsBody } from "./types.gen.ts";

const maxEvents = 400;
const maxPreviews = 20_000; // with the next that are asked for, all are forgotten
const events = new Map<string, Event>();
const previews = new Map<string, EventPreview>();
const asked = new Set<string>();
const changes = new Map<string, number>();

/** Another text once an event has changed: what shows it reads it again then. */
export const versionOf = (id: string): string => `${id} ${changes.get(id) ?? 0}`;

/** Reads one event whole. */
export async function readEvent(id: string, signal: AbortSignal): Promise<Event> {
  const known = events.get(id);
  if (known) return known;
  const version = versionOf(id);
  const e = await call<Event>(`v1/events/${encodeURIComponent(id)}?children=none`, { signal });
  if (version !== versionOf(id)) return e; // it has changed meanwhile
  if (events.size >= maxEvents) events.delete(events.keys().next().value!);
  events.set(id, e);
  return e;
}

/** Reads the text of one field of an event, digit for digit. */
export function readField(id: string, field: string, signal: AbortSignal): Promise<string> {
  return text(`v1/events/${encodeURIComponent(id)}/fields/${field}`, { signal });
}

/** Forgets an event, because it has changed. */
export function forget(id: string): void {
  if (changes.size > maxPreviews) changes.clear();
  changes.set(id, (changes.get(id) ?? 0) + 1);
  events.delete(id);
  previews.delete(id);
  asked.delete(id);
}

/** The preview of an event, if it was read. */
export function previewOf(id: string): EventPreview | undefined {
  return previews.get(id);
}

/** Reads the previews of those events of which none was asked for; resolves to whether there are new ones. */
export async function loadPreviews(ids: string[]): Promise<boolean> {
  if (ids.every((id) => asked.has(id))) return false;
  if (asked.size > maxPreviews) {
    asked.clear();
    previews.clear();
  }
  const missing = ids.filter((id) => !asked.has(id)).slice(0, 200);
  for (const id of missing) asked.add(id);
  try {
    const answer = await call<PreviewEventsAnswer>("v1/events/previews", { method: "POST", body: { event_ids: missing } satisfies PreviewEventsBody });
    for (const [id, preview] of Object.entries(answer.previews)) previews.set(id, preview);
    return true;
  } catch {
    for (const id of missing) asked.delete(id);
    return false;
  }
}
