// Events that were read, kept while a page is open: one that is selected again is shown at once. Bounded by number and age; big ones are not kept.
import { call, text } from "./client.ts";
import { members } from "../model/raw.ts";
import type { Event, EventPreview, PreviewEventsAnswer, PreviewEventsBody } from "./types.gen.ts";

const maxEvents = 400;
const maxText = 1_000_000; // of one that is kept, in characters
const maxAge = 30_000; // milliseconds: others may change what is read
const maxPreviews = 20_000; // with the next that are asked for, all are forgotten
const events = new Map<string, { event: Event; at: number }>();
const previews = new Map<string, EventPreview>();
const asked = new Set<string>();
const changes = new Map<string, number>();
let forgotten = 0; // when all was forgotten last

/** Another text once an event has changed: what shows it reads it again then. */
export const versionOf = (id: string): string => `${id} ${changes.get(id) ?? 0}`;

/** Reads one event whole. */
export async function readEvent(id: string, signal: AbortSignal): Promise<Event> {
  const known = events.get(id);
  if (known && Date.now() - known.at < maxAge) return known.event;
  const version = versionOf(id);
  const at = Date.now();
  const whole = await text(`v1/events/${encodeURIComponent(id)}?children=none`, { signal });
  const event = JSON.parse(whole) as Event;
  events.delete(id);
  if (version !== versionOf(id) || at <= forgotten || whole.length > maxText) return event; // what is kept would be old
  if (events.size >= maxEvents) events.delete(events.keys().next().value!);
  events.set(id, { event, at });
  return event;
}

/** An event with the texts of its fields, digit for digit. */
export interface Stored {
  event: Event;
  raw: Map<string, string>;
}

/** Reads one event as it is stored. */
export async function readStored(id: string, signal: AbortSignal): Promise<Stored> {
  const whole = await text(`v1/events/${encodeURIComponent(id)}?children=none`, { signal });
  return { event: JSON.parse(whole) as Event, raw: members(whole) };
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

/** Has all events and previews read anew where they are shown next: they may have changed. */
export function forgetAll(): void {
  forgotten = Date.now();
  events.clear();
  asked.clear();
}

/** The preview of an event, if it was read. */
export function previewOf(id: string): EventPreview | undefined {
  return previews.get(id);
}

/** Reads the previews of those events of which none was asked for; resolves to whether there are new ones. */
export async function loadPreviews(ids: string[]): Promise<boolean> {
  if (ids.every((id) => asked.has(id))) return false;
  if (Math.max(asked.size, previews.size) > maxPreviews) {
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
