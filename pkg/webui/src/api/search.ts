// Searches of sessions and of events. What an event of a page has depends on the fields that the search asks for.
import { call } from "./client.ts";
import type { Event, EventSearch, FoundEvent, SearchEventsAnswer, SearchSessionsAnswer, SearchSessionsBody } from "./types.gen.ts";

/** A page of a search that asked for some fields, or for whole events: those of the fields that every event has are there. */
export type EventPage<Field extends keyof Event = keyof Event> = Omit<SearchEventsAnswer, "events"> & { events: (FoundEvent & Pick<Event, Field>)[] };

/** Searches sessions. */
export function searchSessions(body: SearchSessionsBody, signal?: AbortSignal): Promise<SearchSessionsAnswer> {
  return call("v1/sessions/search", { method: "POST", body, ...(signal && { signal }) });
}

/** Searches events, of which only some fields are read, and what is at some paths in others, such as metadata.cost. */
export function searchFields<Field extends keyof Event>(fields: readonly Field[], paths: readonly string[], body: Omit<EventSearch, "projections">, signal?: AbortSignal): Promise<EventPage<Field>> {
  return call("v1/events/search", { method: "POST", body: { ...body, projections: [...new Set<string>([...fields, ...paths])] }, ...(signal && { signal }) });
}
