// JSON as its text: what is read and written back keeps every digit, and the order of its keys. Texts are valid, as the server sends them.

/** Returns where the value that begins at a place ends. */
function end(text: string, at: number): number {
  for (let depth = 0, i = at; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') {
      for (i++; text[i] !== '"' && i < text.length; i++) if (text[i] === "\\") i++;
      if (depth === 0) return i + 1;
    } else if (c === "{" || c === "[") depth++;
    else if (c === "}" || c === "]") {
      if (depth === 0) return i;
      if (--depth === 0) return i + 1;
    } else if (depth === 0 && (c === "," || c <= " ")) return i;
  }
  return text.length;
}

const skip = (text: string, at: number): number => {
  while (at < text.length && (text[at]! <= " " || text[at] === "," || text[at] === ":")) at++;
  return at;
};

/** The elements of an array, each as its text. */
export function elements(text: string): string[] {
  const out: string[] = [];
  for (let at = skip(text, text.indexOf("[") + 1); at < text.length && text[at] !== "]"; ) {
    const to = end(text, at);
    out.push(text.slice(at, to));
    at = skip(text, to);
  }
  return out;
}

/** The members of an object, each value as its text. */
export function members(text: string): Map<string, string> {
  const out = new Map<string, string>();
  for (let at = skip(text, text.indexOf("{") + 1); at < text.length && text[at] !== "}"; ) {
    const colon = end(text, at);
    const key = JSON.parse(text.slice(at, colon)) as string;
    at = skip(text, colon);
    const to = end(text, at);
    out.set(key, text.slice(at, to));
    at = skip(text, to);
  }
  return out;
}

/** Returns the value at a dotted path as its text, found as valueAt finds it. */
export function textAt(text: string, path: string): string | undefined {
  const all = text.startsWith("{") ? members(text) : text.startsWith("[") ? new Map(elements(text).map((v, i) => [String(i), v])) : new Map<string, string>();
  if (all.has(path)) return all.get(path);
  for (let dot = path.indexOf("."); dot > 0; dot = path.indexOf(".", dot + 1)) {
    const below = all.get(path.slice(0, dot));
    const found = below === undefined ? undefined : textAt(below, path.slice(dot + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** An object of members. */
export function object(all: Iterable<[string, string]>): string {
  return `{${[...all].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`;
}

/** A value as a person reads it: a text without its quotes, anything else as JSON. */
export function shown(value: string): string {
  return value.startsWith('"') ? (JSON.parse(value) as string) : value;
}

/** What a person has written, as JSON: a text if it was one before, else any value. null: it is no JSON. */
export function written(text: string, isText: boolean): string | null {
  if (isText) return JSON.stringify(text);
  try {
    JSON.parse(text);
    return text.trim();
  } catch {
    return null;
  }
}

/** JSON over several lines, two columns in for each level, and its texts and numbers as spell writes them. */
export function pretty(text: string, spell: (token: string) => string = (t) => t): string {
  let out = "", pad = "\n";
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === "{" || c === "[") {
      const next = skip(text, i + 1);
      if (text[next] === "}" || text[next] === "]") {
        out += c + text[next];
        i = next;
      } else out += c + (pad += "  ");
    } else if (c === "}" || c === "]") out += (pad = pad.slice(0, -2)) + c;
    else if (c === ",") out += c + pad;
    else if (c === ":") out += ": ";
    else if (c > " ") {
      const to = end(text, i);
      out += spell(text.slice(i, to));
      i = to - 1;
    }
  }
  return out;
}

/** Numbers that JavaScript may not hold digit for digit: with more than 15 digits, or a large exponent. */
const isLong = (token: string): boolean => /^[-\d]/.test(token) && (token.replace(/e.*/i, "").replace(/\D/g, "").length > 15 || /e[+-]?\d{3}/i.test(token));

/** JSON over several lines, in which a value is always spelled in one way, so that two texts differ where values do. All digits stay. */
export const comparable = (text: string): string => pretty(text, (token) => (isLong(token) ? token : JSON.stringify(JSON.parse(token))));
