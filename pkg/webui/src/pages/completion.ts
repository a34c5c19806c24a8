// What the filter bar completes: fields that events have, and values that occur.
import { call } from "../api/client.ts";
import type { SessionRow } from "../api/types.ts";
import { isEventField, shortNames } from "../model/filter.ts";

/** The fields to complete in a list, short names first. */
export function fieldNames(of: "sessions" | "events"): string[] {
  const own = of === "sessions"
    ? ["name", "user", "errors", "cost", "tokens", "duration", "events", "run", "source", "has:error", "event.name", "event.model", "event.type", "event.error", "event.duration"]
    : ["name", "type", "model", "user", "error", "duration", "cost", "tokens", "source", "provider", "run", "session", "has:error"];
  return [...own, "metadata.", "metrics.", "feedback.rating", "user_properties.", "inputs.", "outputs.", "config."];
}

interface Values {
  values: { value: unknown; count: number }[];
}

/** The values of a field that begin with what was typed, with how often each occurs. */
export async function valuesOf(of: "sessions" | "events", field: string, typed: string, rows: SessionRow[]): Promise<{ value: string; count: number }[]> {
  const inEvent = of === "sessions" && field.startsWith("event.");
  const name = field.replace(/^event\./, "");
  if (name === "type") return ["model", "tool", "chain", "generic", "session"].filter((t) => t.startsWith(typed)).map((value) => ({ value, count: 0 }));
  const path = Object.hasOwn(shortNames, name) ? shortNames[name]! : name;
  if (!isEventField(path) || path.endsWith(".")) return [];
  // The type spares the server what cannot have the field: models and providers are those of model calls.
  const type = path.startsWith("config.") ? "model" : of === "sessions" && !inEvent ? "session" : null;
  const filters = type === null ? [] : [{ field: "event_type", operator: "is", value: type }];
  try {
    const answer = await call<Values>("v1/events/values", { method: "POST", body: { field: path, prefix: typed, filters, limit: 20 } });
    return answer.values.map((v) => ({ value: typeof v.value === "string" ? v.value : JSON.stringify(v.value), count: v.count }));
  } catch {
    // What the page has loaded, then.
    const counts = new Map<string, number>();
    for (const r of rows) {
      const v = name === "name" ? r.session_name : name === "user" ? r.user_id : name === "source" ? r.source : undefined;
      if (v?.toLowerCase().startsWith(typed.toLowerCase())) counts.set(v, (counts.get(v) ?? 0) + 1);
    }
    return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count).slice(0, 20);
  }
}
