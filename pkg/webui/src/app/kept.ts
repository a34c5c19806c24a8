// What the tab of the browser keeps over a reload, until it is closed.
import { signal } from "@preact/signals";

/** The key for whose value there was no room last. */
const failed = signal("");

/** Keeps a value under a key, if the browser has room for it; null takes away what is kept. */
export function keep(key: string, value: unknown): void {
  if (failed.value === key) failed.value = "";
  if (value === null) return sessionStorage.removeItem(key);
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    failed.value = key;
  }
}

/** Says that there was no room for what is kept under a key; "" if there was. */
export const unkept = (key: string): string => (failed.value === key ? "The browser has no room to keep this: it is gone when the page is loaded again." : "");

/** What is kept under a key; null if there is nothing, or nothing that can be read. */
export function readKept<T>(key: string): T | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") as T | null;
  } catch {
    return null;
  }
}
