/*
An index over the text of a JSON value: where each member begins and ends, found when it is opened. The text itself is never parsed
into values, so that every digit stays as it was sent, and a value of 10 MB shows its first rows before it was read to the end.
*/

export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";

export interface Entry {
  key: string | null; // of a member of an object
  index: number; // among its siblings
  kind: Kind;
  start: number; // in the text, of the value
  end: number;
}

const quoteMark = 34, backslash = 92, open = 123, close = 125, openList = 91, closeList = 93, colon = 58, comma = 44;

/** Returns the place after the spaces from i on. */
export function skip(text: string, i: number): number {
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c !== 32 && c !== 10 && c !== 13 && c !== 9) break;
  }
  return i;
}

/** Returns the kind of the value that begins at i. */
export function kindAt(text: string, i: number): Kind {
  switch (text[i]) {
    case "{": return "object";
    case "[": return "array";
    case '"': return "string";
    case "t":
    case "f": return "boolean";
    case "n": return "null";
    default: return "number";
  }
}

/** Returns the end of the value that begins at i, without recursion. */
export function valueEnd(text: string, i: number): number {
  const c = text.charCodeAt(i);
  if (c === quoteMark) return stringEnd(text, i);
  if (c !== open && c !== openList) {
    for (; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (c === comma || c === close || c === closeList || c <= 32) break;
    }
    return i;
  }
  let depth = 0;
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quoteMark) {
      i = stringEnd(text, i) - 1;
    } else if (c === open || c === openList) {
      depth++;
    } else if (c === close || c === closeList) {
      if (--depth === 0) return i + 1;
    }
  }
  return text.length;
}

function stringEnd(text: string, i: number): number {
  for (let at = i + 1; ; ) {
    const end = text.indexOf('"', at);
    if (end < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end + 1;
    at = end + 1;
  }
}

/** Returns up to max members of the object or array that begins at i, from place `from` (an offset that `next` gave) on. */
export function members(text: string, i: number, max: number, from?: { at: number; index: number }): { entries: Entry[]; next: { at: number; index: number } | null } {
  const isObject = text.charCodeAt(i) === open;
  const last = isObject ? close : closeList;
  let at = from?.at ?? skip(text, i + 1);
  let index = from?.index ?? 0;
  const entries: Entry[] = [];
  while (at < text.length && text.charCodeAt(at) !== last) {
    if (entries.length === max) return { entries, next: { at, index } };
    let key: string | null = null;
    if (isObject) {
      const end = stringEnd(text, at);
      key = readString(text.slice(at, end));
      at = skip(text, end);
      if (text.charCodeAt(at) === colon) at = skip(text, at + 1);
    }
    const end = valueEnd(text, at);
    if (end === at) break; // not JSON
    entries.push({ key, index, kind: kindAt(text, at), start: at, end });
    index++;
    at = skip(text, end);
    if (text.charCodeAt(at) === comma) at = skip(text, at + 1);
  }
  return { entries, next: null };
}

/** The text of a JSON string; as it stands if it cannot be read. */
export function readString(json: string): string {
  try {
    return JSON.parse(json) as string;
  } catch {
    return json.slice(1, -1);
  }
}

/** Counts the members of the object or array that begins at i, up to a bound. */
export function countMembers(text: string, i: number, bound: number): { n: number; more: boolean } {
  const { entries, next } = members(text, i, bound);
  return { n: entries.length, more: next !== null };
}

/** Writes a path as programs spell it: metadata.a["b c"][0]. */
export function writePath(path: (string | number)[]): string {
  return path
    .map((p, i) => (typeof p === "number" ? `[${p}]` : /^[A-Za-z_$][\w$-]*$/.test(p) ? (i === 0 ? p : `.${p}`) : `[${JSON.stringify(p)}]`))
    .join("");
}
