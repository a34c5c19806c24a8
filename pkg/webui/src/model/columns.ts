// Which columns a list shows: those it has by itself, and any field of its rows by its path.

/** Returns the value at a dotted path. Keys may hold dots themselves: the shortest key that leads on is taken. */
export function valueAt(of: unknown, path: string): unknown {
  if (typeof of !== "object" || of === null) return undefined;
  if (Object.hasOwn(of, path)) return (of as Record<string, unknown>)[path];
  for (let dot = path.indexOf("."); dot > 0; dot = path.indexOf(".", dot + 1)) {
    const key = path.slice(0, dot);
    if (!Object.hasOwn(of, key)) continue;
    const found = valueAt((of as Record<string, unknown>)[key], path.slice(dot + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Reads the columns of an address; null: those the list has by itself. Paths may hold commas, so each stands encoded. */
export function readColumns(text: string | null): string[] | null {
  if (text === null) return null;
  const out: string[] = [];
  for (const part of text.split(",")) {
    let id = part;
    try {
      id = decodeURIComponent(part);
    } catch {
      // As it was typed.
    }
    if (id !== "" && !out.includes(id)) out.push(id);
  }
  return out.length === 0 ? null : out;
}

/** Writes columns as an address has them. */
export function writeColumns(ids: string[] | null): string | null {
  return ids === null || ids.length === 0 ? null : ids.map((id) => id.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");
}

/** What a column of a path is called: its last two parts, without the field that it is in. */
export function columnLabel(path: string): string {
  const rest = path.slice(path.indexOf(".") + 1).split(".");
  return rest.slice(-2).join(".");
}
