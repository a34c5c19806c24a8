// What the tab of the browser keeps over a reload, until it is closed.

/** What is kept under a key; null if there is nothing, or nothing that can be read. */
export function readKept<T>(key: string): T | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") as T | null;
  } catch {
    return null;
  }
}
