// What filter bars complete and facets count: fields that events have, and values that occur.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client.ts";
import type { Filter, ListEventValuesAnswer, ListEventValuesBody, Schema } from "../api/types.gen.ts";
import { compile, isEventField, shortNames, withoutTotals, withValues } from "../model/filter.ts";
import type { Facet, FacetValues } from "../parts/facets.tsx";
import { dateRange } from "../parts/range.tsx";

type Of = "sessions" | "events";

/** The names to complete in a list before the fields that events have. */
const ownNames: Record<Of, string[]> = {
  sessions: ["name", "user", "errors", "cost", "tokens", "duration", "events", "run", "source", "has:error", "event.name", "event.model", "event.type", "event.error", "event.duration"],
  events: ["name", "type", "model", "user", "error", "duration", "cost", "tokens", "source", "provider", "run", "session", "has:error"],
};

/** The facets of a list, before those that a person adds. */
export const ownFacets: Record<Of, Facet[]> = {
  sessions: [
    { field: "name", label: "Name" }, { field: "user", label: "User" }, { field: "source", label: "Source" },
    { field: "event.model", label: "Model of an event" }, { field: "event.name", label: "Name of an event" },
  ],
  events: [
    { field: "type", label: "Type" }, { field: "name", label: "Name" }, { field: "model", label: "Model" },
    { field: "provider", label: "Provider" }, { field: "source", label: "Source" },
  ],
};

type Field = Schema["fields"][number];

let known: Promise<Field[]> | null = null;
let knownAt = 0;

/** The fields that events have, read at most once a minute. */
function schema(): Promise<Field[]> {
  if (!known || Date.now() - knownAt > 60_000) {
    knownAt = Date.now();
    known = call<Schema>("v1/events/schema").then((s) => s.fields, () => { known = null; return []; });
  }
  return known;
}

/** Returns the paths that rows of a list have, and the names that its filter bar completes. */
export function useFields(of: Of): { paths: string[]; names: string[] } {
  const [fields, setFields] = useState<Field[]>([]);
  useEffect(() => {
    let gone = false;
    void schema().then((f) => { if (!gone) setFields(f); });
    return () => { gone = true; };
  }, []);
  const all = [...new Set(fields.map((f) => f.name))].sort();
  const paths = of === "events" ? all : [...new Set(fields.filter((f) => f.event_type === "session").map((f) => f.name))].sort().filter((p) => /^(metadata|metrics|feedback)\./.test(p));
  return { paths, names: [...ownNames[of], ...(of === "events" ? all : [...paths, ...all.map((p) => `event.${p}`)])] };
}

/** The fields that charts and alerts sum up, among paths that events have. */
export const summable = (paths: string[]): string[] => ["duration", "cost", "total_tokens", "prompt_tokens", "completion_tokens", ...paths.filter((p) => /^(metrics|feedback|metadata)\./.test(p))];

/** The values of a field that begin with what was typed, with how often each occurs. */
export async function valuesOf(of: Of, field: string, typed: string): Promise<{ value: string; count: number }[]> {
  return (await ask(of, field, typed, 20, [], undefined)).values;
}

/** The values of a field among what a list shows: with its filters, but for what they ask of the field itself. */
export async function facetValues(of: Of, field: string, query: string, also: Filter[], range: string, limit: number, signal: AbortSignal): Promise<FacetValues> {
  const { filters, eventFilters } = compile(withValues(query, field, []), of);
  if (of === "events") return { ...(await ask(of, field, "", limit, [...also, ...filters], range, signal)), counted: true };
  if (field.startsWith("event.")) return { ...(await ask(of, field, "", limit, eventFilters, range, signal)), counted: false };
  const own = withoutTotals(filters);
  return { ...(await ask(of, field, "", limit, own, range, signal)), counted: own.length === filters.length && eventFilters.length === 0 };
}

async function ask(of: Of, field: string, prefix: string, limit: number, filters: Filter[], range?: string, signal?: AbortSignal): Promise<{ values: { value: string; count: number }[]; complete: boolean }> {
  const inEvent = of === "sessions" && field.startsWith("event.");
  const name = inEvent ? field.replace(/^event\./, "") : field;
  const path = Object.hasOwn(shortNames, name) ? shortNames[name]! : name;
  if (!isEventField(path) || path.endsWith(".")) return { values: [], complete: true };
  // The type spares the server what cannot have the field: models and providers are those of model calls.
  const type = path.startsWith("config.") ? "model" : of === "sessions" && !inEvent ? "session" : null;
  const all: Filter[] = type === null ? filters : [{ field: "event_type", operator: "is", value: type }, ...filters];
  const body: ListEventValuesBody = { field: path, prefix, filters: all, limit, ...(range ? { dateRange: dateRange(range) } : {}) };
  const answer = await call<ListEventValuesAnswer>("v1/events/values", { method: "POST", body, signal });
  return { values: answer.values, complete: answer.complete };
}
