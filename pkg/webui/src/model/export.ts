// What is filtered, as files: JSONL whole, and CSV whose cells no spreadsheet takes for a formula.
import type { EventRow } from "../api/types.ts";

/** One event a line. */
export function jsonl(events: EventRow[]): string {
  return events.map((e) => `${JSON.stringify(e)}\n`).join("");
}

const columns = ["event_id", "session_id", "event_type", "event_name", "source", "start_time", "duration", "error", "inputs", "outputs", "config", "metadata", "metrics", "feedback", "user_properties"] as const;

/** Rows of RFC 4180, JSON in the cells of objects; the first with the names of the columns. */
export function csv(events: EventRow[], head: boolean): string {
  const lines = events.map((e) => columns.map((c) => cell(e[c])).join(","));
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
