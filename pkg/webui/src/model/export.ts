// What is filtered, as files: JSONL whole, and CSV whose cells no spreadsheet takes for a formula.

/** One row a line. */
export function jsonl(rows: object[]): string {
  return rows.map((e) => `${JSON.stringify(e)}\n`).join("");
}

/** The columns of files of events and of sessions. */
export const eventColumns = ["event_id", "session_id", "event_type", "event_name", "source", "start_time", "duration", "error", "inputs", "outputs", "config", "metadata", "metrics", "feedback", "user_properties"] as const;
export const sessionColumns = ["session_id", "session_name", "source", "start_time", "end_time", "duration", "state", "user_id", "run_id", "num_events", "num_model_events", "num_tool_events", "num_errors", "tokens", "cost", "error", "input", "output", "metrics", "feedback", "metadata"] as const;

/** Rows of RFC 4180, JSON in the cells of objects; the first with the names of the columns. */
export function csv(rows: object[], columns: readonly string[], head: boolean): string {
  const lines = rows.map((row) => columns.map((c) => cell((row as Record<string, unknown>)[c])).join(","));
  if (head) lines.unshift(columns.join(","));
  return lines.map((l) => `${l}\r\n`).join("");
}

/** One cell. A text that begins like a formula gets an apostrophe before it, which spreadsheets do not show. */
export function cell(v: unknown): string {
  if (v === undefined || v === null) return "";
  if (typeof v === "number") return String(v);
  let text = typeof v === "string" ? v : JSON.stringify(v);
  if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
