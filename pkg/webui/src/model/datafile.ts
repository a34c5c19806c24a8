// Files of rows, CSV (RFC 4180) and JSON lines, read for a preview: the first rows, how many there are, and which are wrong. The server reads the
// file again when it is imported, by the same rules.
import { elements, members } from "./raw.ts";

export interface Wrong {
  row: number; // from 1, without the line of names
  line: number;
  column?: string;
  message: string;
}

export interface DataFile {
  format: "csv" | "jsonl";
  separator: string; // of CSV
  columns: string[];
  rows: Map<string, string>[]; // the first, values as JSON
  total: number;
  wrong: Wrong[]; // the first
  bad: number;
  problem: string; // why the file cannot be read at all
}

const keptRows = 20, keptWrong = 100;
export const maxRows = 10_000, maxBytes = 18 << 20;

/** Reads a file. Its name tells the format, or else how it begins. */
export function readFile(name: string, text: string): DataFile {
  text = text.replace(/^\uFEFF/, "");
  const csv = /\.(csv|tsv)$/i.test(name) || (!/\.(jsonl?|ndjson)$/i.test(name) && !/^\s*[[{]/.test(text));
  const file: DataFile = { format: csv ? "csv" : "jsonl", separator: "", columns: [], rows: [], total: 0, wrong: [], bad: 0, problem: "" };
  (csv ? readCsv : readJson)(file, text);
  if (!file.problem && file.total === 0) file.problem = "The file has no rows.";
  if (!file.problem && file.total > maxRows) file.problem = `The file has ${file.total.toLocaleString("en-US")} rows, and at most ${maxRows.toLocaleString("en-US")} are imported at once: split it.`;
  return file;
}

/** The text of a file in UTF-8, or in UTF-16 with a byte order mark; null if it is in neither, since letters would be lost. */
export function decode(bytes: Uint8Array): string | null {
  const [a, b] = bytes;
  const encoding = a === 0xff && b === 0xfe ? "utf-16le" : a === 0xfe && b === 0xff ? "utf-16be" : "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function fail(file: DataFile, wrong: Wrong): void {
  if (file.bad++ < keptWrong) file.wrong.push(wrong);
}

function keep(file: DataFile, row: Map<string, string>): void {
  if (file.rows.length < keptRows) file.rows.push(row);
}

/** What stands most often between the names of the first line: a comma, a semicolon or a tab. */
export function separatorOf(text: string): string {
  const counts: Record<string, number> = { ",": 0, ";": 0, "\t": 0 };
  for (let i = 0, quoted = false; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') quoted = !quoted;
    else if (!quoted && (c === "\n" || c === "\r")) break;
    else if (!quoted && c in counts) counts[c]!++;
  }
  return [";", "\t"].reduce((best, c) => (counts[c]! > counts[best]! ? c : best), ",");
}

/** The records of CSV with the lines they begin on. A record whose quotes are wrong has a message in place of its cells; empty lines are none. */
export function* records(text: string, separator: string): Generator<{ line: number; cells: string[]; message?: string }> {
  let at = 0, line = 1;
  while (at < text.length) {
    const record: { line: number; cells: string[]; message?: string } = { line, cells: [] };
    for (;;) {
      let cell = "";
      if (text[at] === '"') {
        for (at++; ; ) {
          const quote = text.indexOf('"', at);
          cell += text.slice(at, quote < 0 ? text.length : quote);
          at = quote < 0 ? text.length : quote + 1;
          if (quote < 0) record.message ??= "a cell that begins with a quote does not end with one";
          if (text[at] !== '"' || quote < 0) break;
          cell += '"';
          at++;
        }
        line += cell.split("\n").length - 1;
        if (at < text.length && ![separator, "\n", "\r"].includes(text[at]!)) record.message ??= "there is text behind the quote that ends a cell";
      }
      let to = at;
      while (to < text.length && text[to] !== separator && text[to] !== "\n") to++;
      const rest = text.slice(at, to).replace(/\r$/, "");
      if (rest.includes('"')) record.message ??= "a quote stands in a cell that does not begin with one";
      record.cells.push(cell.replaceAll("\r\n", "\n") + rest);
      at = to + 1;
      if (text[to] !== separator) break;
    }
    line++;
    if (record.cells.length > 1 || record.cells[0] !== "" || text[at - 2] === '"') yield record;
  }
}

function readCsv(file: DataFile, text: string): void {
  file.separator = separatorOf(text);
  let head = true;
  for (const { line, cells, message } of records(text, file.separator)) {
    if (head) {
      head = false;
      file.columns = cells.map((c) => c.trim());
      const twice = file.columns.find((c, i) => file.columns.indexOf(c) < i);
      if (message) file.problem = `The line of names: ${message}.`;
      else if (file.columns.includes("")) file.problem = `Column ${file.columns.indexOf("") + 1} has no name.`;
      else if (twice !== undefined) file.problem = `The column “${twice}” is there twice.`;
      if (file.problem) return;
      continue;
    }
    const row = ++file.total;
    if (message) fail(file, { row, line, message });
    else if (cells.length !== file.columns.length) {
      fail(file, { row, line, ...(cells.length < file.columns.length && { column: file.columns[cells.length]! }), message: `has ${cells.length} cells, the line of names has ${file.columns.length}` });
    } else keep(file, new Map(file.columns.map((c, i) => [c, JSON.stringify(cells[i])])));
  }
}

/** Where a text stops being JSON, as far as the browser says. */
function placeOf(error: unknown, text: string, lines = false): string {
  const { message } = error as Error;
  if (/end of (JSON|the|data)|unterminated/i.test(message)) return ": it ends too early";
  const token = /token '(.+?)'/u.exec(message)?.[1];
  const position = /position (\d+)/.exec(message)?.[1];
  if (position === undefined) return token ? `: ${token} does not belong there` : "";
  const before = text.slice(0, Number(position)).split("\n");
  return `: ${lines ? `line ${before.length}, ` : ""}character ${before.at(-1)!.length + 1} does not belong there`;
}

function readJson(file: DataFile, text: string): void {
  const columns = new Set<string>();
  const take = (raw: string, line: number) => {
    const row = ++file.total;
    try {
      const value: unknown = JSON.parse(raw);
      if (typeof value !== "object" || value === null || Array.isArray(value)) fail(file, { row, line, message: `must be an object, not ${raw.slice(0, 40)}` });
      else {
        for (const key of Object.keys(value)) columns.add(key);
        if (file.rows.length < keptRows) keep(file, members(raw));
      }
    } catch (error) {
      fail(file, { row, line, message: `is no JSON${placeOf(error, raw)}` });
    }
  };
  if (/^\s*\[/.test(text)) {
    try {
      JSON.parse(text);
    } catch (error) {
      file.problem = `The file is no JSON${placeOf(error, text, true)}.`;
      return;
    }
    elements(text).forEach((raw) => take(raw, 1));
  } else text.split("\n").forEach((raw, i) => { if (raw.trim() !== "") take(raw, i + 1); });
  file.columns = [...columns];
}

export const parts = ["inputs", "ground_truth", "metadata"] as const;
const own = new Set(["id", "linked_event", "linked_datasets", "linked_evals", "saved", "type", "created_at", "updated_at"]);
const inputNames = /^(inputs?|questions?|prompts?|query|user|frage)$/i, truthNames = /^(outputs?|answers?|expected|expected_output|reference|target|label|ground[ _]?truth|completion|antwort)$/i;

/** What a column may become by its name: as the server would by itself, but for names that tell what is in them. */
export function guess(column: string): string {
  const [part = "", ...key] = column.split(".");
  if (column === "history" || ((parts as readonly string[]).includes(part) && key.join(".") !== "") || (parts as readonly string[]).includes(column)) return column;
  if (own.has(column)) return "";
  return `${inputNames.test(column) ? "inputs" : truthNames.test(column) ? "ground_truth" : "metadata"}.${column}`;
}

/** A row as the datapoint it would become: the parts, as JSON. message says why it cannot. */
export function asDatapoint(row: Map<string, string>, to: (column: string) => string): { parts: Record<string, string>; message?: string } {
  const out: Record<string, Map<string, string>> = {};
  let history: string | undefined, message: string | undefined;
  for (const [column, value] of row) {
    const target = to(column);
    const dot = target.indexOf(".");
    if (target === "") continue;
    const whole = () => {
      try {
        const v: unknown = JSON.parse(value);
        return typeof v === "string" ? (v.trim() === "" ? undefined : (JSON.parse(v), v)) : value;
      } catch {
        return "";
      }
    };
    if (dot > 0) (out[target.slice(0, dot)] ??= new Map()).set(target.slice(dot + 1), value);
    else {
      const json = whole();
      if (json === undefined) continue;
      if (!json.trimStart().startsWith(target === "history" ? "[" : "{")) message = `column “${column}” must be ${target === "history" ? "an array of objects" : "an object"}`;
      else if (target === "history") history = json;
      else for (const [k, v] of members(json)) (out[target] ??= new Map()).set(k, v);
    }
  }
  const text = Object.fromEntries(Object.entries(out).map(([part, all]) => [part, `{${[...all].map(([k, v]) => `${JSON.stringify(k)}:${v}`).join(",")}}`]));
  return { parts: { ...text, ...(history && { history }) }, ...(message && { message }) };
}
