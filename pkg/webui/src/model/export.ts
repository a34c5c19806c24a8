// Files: which fields that of a list has, and cells of CSV that no spreadsheet takes for a formula.

/** One cell. A text that begins like a formula gets an apostrophe before it, which spreadsheets do not show. */
export function cell(v: unknown): string {
  if (v === undefined || v === null) return "";
  if (typeof v === "number") return String(v);
  let text = typeof v === "string" ? v : JSON.stringify(v);
  if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const shared: Record<string, string> = { start: "start_time" };
const ofEvents: Record<string, string> = {
  ...shared, name: "event_name", model: "config.model", input: "inputs", output: "outputs", tokens: "metadata.total_tokens", cost: "metadata.cost", type: "event_type",
  user: "user_properties.user_id", session: "session_id",
};
const ofSessions: Record<string, string> = {
  ...shared, name: "session_name", user: "user_id", events: "num_events", model_events: "num_model_events", tool_events: "num_tool_events", errors: "num_errors", run: "run_id",
  tokens: "tokens.total",
};

/** Returns the fields that columns of a list show, behind the id of the row; each once. Columns of a path are that path. */
export function fieldsOf(of: "events" | "sessions", columns: readonly string[]): string[] {
  const names = of === "events" ? ofEvents : ofSessions;
  return [...new Set([of === "events" ? "event_id" : "session_id", ...columns.map((id) => (Object.hasOwn(names, id) ? names[id]! : id))])];
}

/** Filters that only the rows with these ids meet: lists of at most a hundred values, as the server takes them. */
export function filtersOf(of: "events" | "sessions", ids: readonly string[]): object[] {
  const field = of === "events" ? "event_id" : "session_id";
  const lists: object[] = [];
  for (let at = 0; at < ids.length; at += 100) lists.push({ field, operator: "is any of", value: ids.slice(at, at + 100) });
  return lists.length > 1 ? [{ any: lists.map((l) => [l]) }] : lists;
}

/** How many rows can be chosen one by one: eight lists of a hundred. */
export const maxChosen = 800;
