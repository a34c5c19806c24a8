/*
The text of a filter bar, and the filters of the API that it stands for.

  name:search            the event's name is "search"
  -type:tool             the type is not tool
  model~gpt              the model contains gpt;  model!~gpt does not
  cost>0.1  duration<2s  numbers; durations may have a unit (ms, s, m, h)
  has:error  -has:error  the field exists, or does not
  "two words"  refund    a word, or words, in what went in or out, the name or the error
  metadata.region:"eu west"   any path; values in quotes where they have spaces

In a list of sessions a field is the session's; event.name:search asks for an event in it. parse and write are inverse: write(parse(t))
means the same as t.
*/
import type { ApiFilter } from "../api/types.ts";

export interface Term {
  field: string; // as it was typed; "" for words
  operator: Operator;
  value: string; // "" for has
  from: number; // where the term stands in the text
  to: number;
}

export type Operator = ":" | "-:" | "~" | "!~" | ">" | "<" | "has" | "-has" | "words";

export interface Parsed {
  terms: Term[];
  problem: { message: string; from: number; to: number } | null;
}

/** The short names of fields, and what they stand for. */
export const shortNames: Record<string, string> = {
  name: "event_name", type: "event_type", model: "config.model", user: "user_properties.user_id", session: "session_id", id: "event_id",
  start: "start_time", end: "end_time", run: "metadata.run_id", provider: "config.provider",
  tokens: "metadata.total_tokens", cost: "metadata.cost",
};

/** What the short names stand for in a list of sessions: totals where the session has them. */
const sessionNames: Record<string, string> = {
  ...shortNames, tokens: "totals.tokens", cost: "totals.cost", errors: "totals.errors", events: "totals.events", model_events: "totals.model_events",
  id: "session_id",
};

const roots = new Set(["event_id", "session_id", "parent_id", "event_type", "event_name", "source", "error", "start_time", "end_time", "duration",
  "metadata", "metrics", "feedback", "user_properties", "inputs", "outputs", "config", "totals", "text"]);

const numeric = new Set(["duration", "totals.tokens", "totals.cost", "totals.errors", "totals.events", "totals.model_events", "metadata.total_tokens", "metadata.cost"]);
const times = new Set(["start_time", "end_time"]);

/** Reports whether a path begins with a field of events. */
export function isEventField(path: string): boolean {
  const root = path.split(".", 1)[0]!;
  return roots.has(root) && root !== "totals" && root !== "text";
}

/** Reads the text of a filter bar. The first thing that cannot be read is the problem; the terms before it stand. */
export function parse(text: string): Parsed {
  const terms: Term[] = [];
  let i = 0;
  while (i < text.length) {
    if (/\s/.test(text[i]!)) {
      i++;
      continue;
    }
    const from = i;
    const read = readTerm(text, i);
    if ("message" in read) return { terms, problem: { message: read.message, from, to: text.length } };
    i = read.to;
    terms.push({ ...read, from });
  }
  return { terms, problem: null };
}

type Read = Omit<Term, "from"> | { message: string };

function readTerm(text: string, at: number): Read {
  let i = at;
  let negative = false;
  if (text[i] === '"') {
    const words = readQuoted(text, i);
    if (!words) return { message: "A quote is missing at the end." };
    return { field: "", operator: "words", value: words.value, to: words.to };
  }
  if (text[i] === "-") {
    negative = true;
    i++;
  }
  const start = i;
  while (i < text.length && !/[\s:~<>!]/.test(text[i]!)) i++;
  const field = text.slice(start, i);
  const sign = text[i];
  if (sign === undefined || /\s/.test(sign)) {
    if (negative) return { message: `-${field}: a word cannot be excluded; name a field, as in -name:${field || "x"}.` };
    return { field: "", operator: "words", value: field, to: i };
  }
  if (field === "") return { message: `A field must stand before ${sign}` };
  let operator: Operator;
  if (sign === "!" && text[i + 1] === "~") {
    operator = "!~";
    i += 2;
  } else if (sign === "!") {
    return { message: "After ! only ~ can stand, as in model!~gpt." };
  } else {
    operator = sign as Operator;
    i++;
  }
  if (negative) {
    if (operator === ":") operator = "-:";
    else if (operator === "~") operator = "!~";
    else return { message: `- does not go with ${sign}` };
  }
  const value = readValue(text, i);
  if (!value) return { message: "A quote is missing at the end." };
  if (value.value === "" && !value.quoted) return { message: `A value must stand after ${field}${sign}` };
  if (field === "has") {
    if (operator !== ":" && operator !== "-:") return { message: "has goes with a colon: has:error" };
    return { field: value.value, operator: operator === ":" ? "has" : "-has", value: "", to: value.to };
  }
  return { field, operator, value: value.value, to: value.to };
}

function readValue(text: string, at: number): { value: string; to: number; quoted: boolean } | null {
  if (text[at] === '"') {
    const quoted = readQuoted(text, at);
    return quoted && { ...quoted, quoted: true };
  }
  let i = at;
  while (i < text.length && !/\s/.test(text[i]!)) i++;
  return { value: text.slice(at, i), to: i, quoted: false };
}

/** Reads a text in quotes, in which a backslash stands before a quote or a backslash. */
function readQuoted(text: string, at: number): { value: string; to: number } | null {
  let value = "";
  for (let i = at + 1; i < text.length; i++) {
    const c = text[i]!;
    if (c === "\\" && i + 1 < text.length) {
      value += text[++i];
    } else if (c === '"') {
      return { value, to: i + 1 };
    } else {
      value += c;
    }
  }
  return null;
}

/** Writes a value as it stands in the bar, in quotes where it must. */
export function quote(value: string): string {
  return value !== "" && /^[^\s"\\]+$/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`;
}

/** Writes one term. */
export function writeTerm(term: Pick<Term, "field" | "operator" | "value">): string {
  switch (term.operator) {
    case "has": return `has:${quote(term.field)}`;
    case "-has": return `-has:${quote(term.field)}`;
    case "words": return /^[^\s"\\:~<>!-][^\s"\\:~<>!]*$/.test(term.value) ? term.value : `"${term.value.replace(/[\\"]/g, "\\$&")}"`;
    case "-:": return `-${term.field}:${quote(term.value)}`;
    default: return `${term.field}${term.operator}${quote(term.value)}`;
  }
}

/** Writes terms, with a space between them. */
export function write(terms: Pick<Term, "field" | "operator" | "value">[]): string {
  return terms.map(writeTerm).join(" ");
}

/** Adds a term to a text, unless it is there. */
export function addTerm(text: string, term: Pick<Term, "field" | "operator" | "value">): string {
  const words = writeTerm(term);
  const { terms, problem } = parse(text);
  if (!problem && terms.some((t) => writeTerm(t) === words)) return text;
  return text.trim() === "" ? words : `${text.trim()} ${words}`;
}

export interface Compiled {
  filters: ApiFilter[];
  eventFilters: ApiFilter[]; // in a list of sessions: of an event in it
  problem: string | null;
}

/** Turns the text of a bar into the filters of the API. What cannot be expressed is a problem, never left out. */
export function compile(text: string, of: "sessions" | "events"): Compiled {
  const parsed = parse(text);
  const out: Compiled = { filters: [], eventFilters: [], problem: parsed.problem?.message ?? null };
  for (const term of parsed.terms) {
    const inEvent = of === "sessions" && (term.field.startsWith("event.") || term.operator === "words");
    const typed = inEvent ? term.field.replace(/^event\./, "") : term.field;
    const filter = toFilter({ ...term, field: typed }, of === "sessions" && !inEvent ? sessionNames : shortNames);
    if (typeof filter === "string") {
      out.problem ??= filter;
      continue;
    }
    (inEvent ? out.eventFilters : out.filters).push(filter);
  }
  return out;
}

function toFilter(term: Pick<Term, "field" | "operator" | "value">, names: Record<string, string>): ApiFilter | string {
  if (term.operator === "words") return { field: "text", operator: "contains", value: term.value };
  const field = Object.hasOwn(names, term.field) ? names[term.field]! : term.field;
  const root = field.split(".", 1)[0]!;
  if (!roots.has(root)) return `There is no field ${term.field}. Fields of your own begin with metadata., as in metadata.${term.field}:…`;
  const isNumber = numeric.has(field);
  switch (term.operator) {
    case "has": return { field, operator: "exists" };
    case "-has": return { field, operator: "not exists" };
    case "~": return { field, operator: "contains", value: term.value };
    case "!~": return { field, operator: "not contains", value: term.value };
    case ">":
    case "<": {
      if (times.has(field)) return { field, operator: term.operator === ">" ? "after" : "before", type: "datetime", value: term.value };
      const n = readNumber(term.value, field === "duration");
      if (n === null) return `${term.field}${term.operator} needs a number, not ${term.value}`;
      return { field, operator: term.operator === ">" ? "greater than" : "less than", type: "number", value: n };
    }
    default: {
      const operator = term.operator === ":" ? "is" : "is not";
      if (isNumber) {
        const n = readNumber(term.value, field === "duration");
        if (n === null) return `${term.field}: needs a number, not ${term.value}`;
        return { field, operator, type: "number", value: n };
      }
      return { field, operator, value: term.value };
    }
  }
}

/** Reads a number; of a duration with its unit, in milliseconds. */
function readNumber(text: string, isDuration: boolean): number | null {
  const match = /^([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(ms|s|m|h)?$/i.exec(text);
  if (!match || (match[2] && !isDuration)) return null;
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[(match[2] ?? "ms").toLowerCase() as "ms" | "s" | "m" | "h"];
  return Number(match[1]) * unit;
}

/** Returns the term in which the caret stands, for completion; the text before the caret decides. */
export function termAt(text: string, caret: number): { from: number; typed: string } {
  let from = caret;
  let quoted = false;
  for (let i = 0; i < caret; i++) if (text[i] === '"' && text[i - 1] !== "\\") quoted = !quoted;
  while (from > 0 && (quoted || !/\s/.test(text[from - 1]!))) {
    from--;
    if (text[from] === '"') quoted = !quoted;
  }
  return { from, typed: text.slice(from, caret) };
}
