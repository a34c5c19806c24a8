/*
The text of a filter bar, and the filters of the API that it stands for.

  name:search            the event's name is "search"
  -type:tool             the type is not tool
  model~gpt              the model contains gpt;  model!~gpt does not
  cost>0.1  duration<2s  numbers; durations may have a unit (ms, s, m, h)
  has:error  -has:error  the field exists, or does not
  "two words"  refund    a word, or words, in what went in or out, the name or the error
  metadata.region:"eu west"   any path; values in quotes where they have spaces, and so paths: "metadata.sales region":west
  model:(o3 OR gpt-4o)   one of several values;  -model:(o3 OR gpt-4o) none of them;  model~(o3 OR gpt) contains one of them
  (type:tool has:error OR cost>1)   all parts of one of the alternatives

In a list of sessions a field is the session's; event.name:search asks for an event in it. parse and write are inverse: write(parse(t))
means the same as t.
*/
import type { Condition, Filter } from "../api/types.gen.ts";

export interface Term {
  field: string; // as it was typed; "" for words
  operator: Operator;
  value: string; // "" for has
  values?: string[]; // of several values in brackets, which value is then not
  any?: Part[][]; // the alternatives of "or"
  from: number; // where the term stands in the text
  to: number;
}

export type Operator = ":" | "-:" | "~" | "!~" | ">" | "<" | "has" | "-has" | "words" | "or";

/** A term without its place in the text. */
export type Part = Omit<Term, "from" | "to">;

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
  ...shortNames, tokens: "totals.tokens", cost: "totals.cost", errors: "totals.errors", events: "totals.events", model_events: "totals.model_events", tool_events: "totals.tool_events",
  id: "session_id", state: "state",
};

/** Returns the filters of a list of sessions that can be asked of its session events alone: those in which no total and no state stands. */
export function withoutTotals(filters: Filter[]): Filter[] {
  return filters.filter((f) => !conditionsOf(f).some(({ field }) => field === "state" || field.startsWith("totals.")));
}

function conditionsOf(filter: Filter): Condition[] {
  return "any" in filter ? filter.any.flat() : [filter];
}

const roots = new Set(["event_id", "session_id", "parent_id", "event_type", "event_name", "source", "error", "start_time", "end_time", "duration",
  "metadata", "metrics", "feedback", "user_properties", "inputs", "outputs", "config", "totals", "text"]);

const numeric = new Set(["duration", "totals.tokens", "totals.cost", "totals.errors", "totals.events", "totals.model_events", "totals.tool_events", "metadata.total_tokens", "metadata.cost"]);
const times = new Set(["start_time", "end_time"]);

/** Reports whether a path begins with a field of events. */
export function isEventField(path: string): boolean {
  const root = path.split(".", 1)[0]!;
  return roots.has(root) && root !== "totals" && root !== "text";
}

/** Reads the text of a filter bar. The first thing that cannot be read is the problem; the terms before it stand. */
export function parse(text: string): Parsed {
  const terms: Term[] = [];
  for (let i = skipSpace(text, 0); i < text.length; i = skipSpace(text, i)) {
    const read = text[i] === "(" ? readAlternatives(text, i) : readTerm(text, i, false);
    if ("message" in read) return { terms, problem: { message: read.message, from: i, to: text.length } };
    if (isOr(read, text, i)) return { terms, problem: { message: "OR stands in brackets, as in (name:a OR name:b) or name:(a OR b).", from: i, to: text.length } };
    terms.push({ ...read, from: i });
    i = read.to;
  }
  return { terms, problem: null };
}

type Read = Omit<Term, "from"> | { message: string };

/** At most this many alternatives stand in brackets, and at most maxValues values: what the API takes. */
const maxAlternatives = 8;
const maxValues = 100;

function skipSpace(text: string, at: number): number {
  let i = at;
  while (i < text.length && /\s/.test(text[i]!)) i++;
  return i;
}

/** Reports whether the word that was read is OR, and not "OR" in quotes. */
function isOr(read: Omit<Term, "from">, text: string, at: number): boolean {
  return read.operator === "words" && read.value === "OR" && text[at] !== '"';
}

/** Reads (a:1 b:2 OR c:3). */
function readAlternatives(text: string, at: number): Read {
  const any: Part[][] = [[]];
  for (let i = skipSpace(text, at + 1); i < text.length; i = skipSpace(text, i)) {
    const last = any[any.length - 1]!;
    if (text[i] === ")") {
      if (last.length === 0) return { message: any.length === 1 ? "There is nothing between the brackets." : "A filter must stand after OR." };
      if (i + 1 < text.length && !/\s/.test(text[i + 1]!)) return { message: "A space must stand after the bracket." };
      return { field: "", operator: "or", value: "", any, to: i + 1 };
    }
    if (text[i] === "(") return { message: "Brackets do not stand in brackets." };
    const read = readTerm(text, i, true);
    if ("message" in read) return read;
    if (isOr(read, text, i)) {
      if (last.length === 0) return { message: "A filter must stand before OR." };
      if (any.length === maxAlternatives) return { message: `At most ${maxAlternatives} alternatives can stand in brackets.` };
      any.push([]);
    } else {
      const { to: _, ...part } = read;
      last.push(part);
    }
    i = read.to;
  }
  return { message: "A bracket is missing at the end." };
}

/** Reads one term; in brackets one that ends before the closing bracket. */
function readTerm(text: string, at: number, inBrackets: boolean): Read {
  const ends = (c: string) => /\s/.test(c) || (inBrackets && c === ")");
  let i = at;
  let negative = false;
  if (text[i] === "-") {
    negative = true;
    i++;
  }
  const start = i;
  let field: string;
  if (text[i] === '"') {
    const quoted = readQuoted(text, i);
    if (!quoted) return { message: "A quote is missing at the end." };
    ({ value: field, to: i } = quoted);
  } else {
    while (i < text.length && !ends(text[i]!) && !/[:~<>!]/.test(text[i]!)) i++;
    field = text.slice(start, i);
  }
  const sign = text[i];
  if (sign === undefined || !/[:~<>!]/.test(sign)) {
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
  if (field === "text" && !operator.endsWith("~")) return { message: "text goes with ~: text~hello" };
  if (text[i] === "(" && field !== "has") {
    if (operator === ">" || operator === "<") return { message: `Brackets do not go with ${operator}` };
    const list = readValues(text, i);
    return "message" in list ? list : { field, operator, value: "", values: list.values, to: list.to };
  }
  const value = readValue(text, i, ends);
  if (!value) return { message: "A quote is missing at the end." };
  if (value.value === "" && !value.quoted) return { message: `A value must stand after ${field}${sign}` };
  if (field === "has") {
    if (operator !== ":" && operator !== "-:") return { message: "has goes with a colon: has:error" };
    return { field: value.value, operator: operator === ":" ? "has" : "-has", value: "", to: value.to };
  }
  return { field, operator, value: value.value, to: value.to };
}

/** Reads (a OR b OR "c d"). */
function readValues(text: string, at: number): { values: string[]; to: number } | { message: string } {
  const values: string[] = [];
  let i = skipSpace(text, at + 1);
  for (;;) {
    const value = readValue(text, i, (c) => /[\s)]/.test(c));
    if (!value || i >= text.length) return { message: value ? "A bracket is missing at the end." : "A quote is missing at the end." };
    if (!value.quoted && (value.value === "" || value.value === "OR")) return { message: "A value must stand on both sides of OR." };
    values.push(value.value);
    i = skipSpace(text, value.to);
    if (text[i] === ")") break;
    if (i >= text.length) return { message: "A bracket is missing at the end." };
    if (text.slice(i, i + 2) !== "OR" || !/\s/.test(text[i + 2] ?? "")) return { message: "OR must stand between the values in brackets." };
    i = skipSpace(text, i + 2);
    if (values.length === maxValues) return { message: `At most ${maxValues} values can stand in brackets.` };
  }
  return { values, to: i + 1 };
}

function readValue(text: string, at: number, ends: (c: string) => boolean): { value: string; to: number; quoted: boolean } | null {
  if (text[at] === '"') {
    const quoted = readQuoted(text, at);
    return quoted && { ...quoted, quoted: true };
  }
  let i = at;
  while (i < text.length && !ends(text[i]!)) i++;
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
  return value !== "" && value !== "OR" && /^[^\s"\\()]+$/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`;
}

/** Writes a word or the name of a field, in quotes where it must. */
export const bare = (word: string): string => (word !== "OR" && /^[^\s"\\:~<>!()-][^\s"\\:~<>!()]*$/.test(word) ? word : `"${word.replace(/[\\"]/g, "\\$&")}"`);

/** Writes one term. */
export function writeTerm(term: Part): string {
  const value = term.values ? `(${term.values.map(quote).join(" OR ")})` : quote(term.value);
  const field = bare(term.field);
  switch (term.operator) {
    case "has": return `has:${quote(term.field)}`;
    case "-has": return `-has:${quote(term.field)}`;
    case "words": return bare(term.value);
    case "or": return `(${(term.any ?? []).map(write).join(" OR ")})`;
    case "-:": return `-${field}:${value}`;
    default: return `${field}${term.operator}${value}`;
  }
}

/** Writes terms, with a space between them. */
export function write(terms: Part[]): string {
  return terms.map(writeTerm).join(" ");
}

/** Returns the values that the text asks a field to be one of. */
export function valuesIn(text: string, field: string): string[] {
  return parse(text).terms.flatMap((t) => (t.field === field && t.operator === ":" ? t.values ?? [t.value] : []));
}

/** Returns the text with a field asked to be one of values; none: whatever it is. The term stays where it stood. */
export function withValues(text: string, field: string, values: string[]): string {
  const term: Part[] = values.length === 0 ? [] : [values.length === 1 ? { field, operator: ":", value: values[0]! } : { field, operator: ":", value: "", values }];
  const { terms, problem } = parse(text);
  if (problem) return text;
  const at = terms.findIndex((t) => t.field === field && t.operator === ":");
  const others = terms.filter((t) => t.field !== field || t.operator !== ":");
  others.splice(at < 0 ? others.length : at, 0, ...(term as Term[]));
  return write(others);
}

/** Adds a term to a text, unless it is there. */
export function addTerm(text: string, term: Part): string {
  const words = writeTerm(term);
  const { terms, problem } = parse(text);
  if (!problem && terms.some((t) => writeTerm(t) === words)) return text;
  return text.trim() === "" ? words : `${text.trim()} ${words}`;
}

export interface Compiled {
  filters: Filter[];
  eventFilters: Filter[]; // in a list of sessions: of an event in it
  problem: string | null;
}

/** Turns the text of a bar into the filters of the API. What cannot be expressed is a problem, never left out. */
export function compile(text: string, of: "sessions" | "events"): Compiled {
  const parsed = parse(text);
  const out: Compiled = { filters: [], eventFilters: [], problem: parsed.problem?.message ?? null };
  for (const term of parsed.terms) {
    const found = term.any ? alternatives(term.any, of) : conditions(term, of);
    if (typeof found === "string") out.problem ??= found;
    else (found.inEvent ? out.eventFilters : out.filters).push(...found.filters);
  }
  return out;
}

interface Found {
  filters: Filter[];
  inEvent: boolean; // in a list of sessions: of an event in it
}

/** Returns the conditions of one term: several where each of several values is excluded. */
function conditions(term: Part, of: "sessions" | "events"): Found | string {
  const inEvent = of === "sessions" && (term.field.startsWith("event.") || term.operator === "words");
  const field = inEvent ? term.field.replace(/^event\./, "") : term.field;
  const names = of === "sessions" && !inEvent ? sessionNames : shortNames;
  const each: (Condition | string)[] = (term.values ?? [term.value]).map((value) => toFilter({ field, operator: term.operator, value }, names));
  const bad = each.find((f) => typeof f === "string");
  if (typeof bad === "string") return bad;
  const list = each as Condition[];
  if (list.length === 1 || term.operator === "-:" || term.operator === "!~") return { filters: list, inEvent };
  const first = list[0]!;
  if (term.operator === ":") return { filters: [{ ...first, operator: "is any of", value: list.flatMap((f) => f.value ?? []) }], inEvent };
  return alternatives(term.values!.map((value) => [{ field: term.field, operator: term.operator, value }]), of);
}

function alternatives(any: Part[][], of: "sessions" | "events"): Found | string {
  if (any.length > maxAlternatives) return `At most ${maxAlternatives} alternatives can stand in brackets.`;
  const lists: Condition[][] = [];
  let inEvent: boolean | null = null;
  for (const parts of any) {
    const list: Condition[] = [];
    for (const part of parts) {
      const found = conditions(part, of);
      if (typeof found === "string") return found;
      if (inEvent !== null && inEvent !== found.inEvent) return "Brackets speak of the session, or all of an event in it: write event. before each field.";
      inEvent = found.inEvent;
      for (const f of found.filters) {
        if ("any" in f) return `${writeTerm(part)} does not stand in brackets.`;
        list.push(f);
      }
    }
    lists.push(list);
  }
  return { filters: [{ any: lists }], inEvent: inEvent ?? false };
}

function toFilter(term: Part, names: Record<string, string>): Condition | string {
  if (term.operator === "words") return { field: "text", operator: "contains", value: term.value };
  const field = Object.hasOwn(names, term.field) ? names[term.field]! : term.field;
  if (field === "state" && names === sessionNames) {
    const operator = term.operator === ":" ? "is" : term.operator === "-:" ? "is not" : null;
    return operator !== null && /^(running|ended)$/.test(term.value) ? { field, operator, value: term.value } : "The state of a session is state:running or state:ended.";
  }
  const root = field.split(".", 1)[0]!;
  if (!roots.has(root)) return `There is no field ${term.field}. Fields of your own begin with metadata., as in ${bare(`metadata.${term.field}`)}:…`;
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

/** What is being typed where the caret stands. */
export interface Typed {
  from: number; // where it begins
  typed: string;
  field: string | null; // in brackets after a field and its sign: that field, typed being one of its values
}

/** Returns what is being typed, for completion; the text before the caret decides. */
export function termAt(text: string, caret: number): Typed {
  let from = 0;
  let quoted = false;
  let list: string | null = null; // the field whose brackets are open
  for (let i = 0; i < caret; i++) {
    const c = text[i]!;
    if (c === '"' && (i === 0 || text[i - 1] !== "\\")) quoted = !quoted;
    if (quoted) continue;
    if (/\s/.test(c)) from = i + 1;
    else if (c === "(") {
      if (i > from) list = /^-?([^:~<>!]+)(?::|~|!~)$/.exec(text.slice(from, i))?.[1] ?? null;
      if (i === from || list !== null) from = i + 1;
    } else if (c === ")") list = null;
  }
  return { from, typed: text.slice(from, caret), field: list };
}
