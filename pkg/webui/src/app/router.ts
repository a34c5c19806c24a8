// Routes stand behind the # of the address: paths of the API keep theirs, any path prefix of a proxy works, and filter texts, which are
// people's words, never reach an access log.
import { computed, signal } from "@preact/signals";

export interface Route {
  path: string[]; // "#/session/abc" is ["session", "abc"]
  params: URLSearchParams;
}

const hash = signal(location.hash);

/** The address as the pages know it. While browsers refuse to change it, the route is ahead of it. */
let seen = location.hash;

/** How long after browsers have refused a change of the address it is tried again, in milliseconds. */
const refusedFor = 1000;
let retry = 0;

/** A page may keep the address where it is: keep is asked before each change that did not come from the page itself. */
export const holding: { keep: ((to: string) => boolean) | null } = { keep: null };

addEventListener("hashchange", () => {
  const before = seen;
  seen = location.hash;
  if (seen === before || seen === hash.value) return; // the pages have changed it themselves
  if (holding.keep?.(seen)) write();
  else hash.value = seen;
});

export const route = computed<Route>(() => {
  const [path = "", query = ""] = hash.value.replace(/^#\/?/, "").split("?", 2);
  return { path: path.split("/").filter(Boolean).map(decode), params: new URLSearchParams(query) };
});

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the address of a page: href("session", id). */
export function href(path: string[], params: Record<string, string | null> = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value !== null && value !== "") query.set(key, value);
  const text = query.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Goes to a page, with an entry in the browser's history. */
export function go(address: string): void {
  if (holding.keep?.(address)) return;
  location.hash = address.replace(/^#/, "");
  if (location.hash !== asWritten(address)) return replace(address); // the browser has refused
  hash.value = seen = location.hash;
}

/** Goes to a page in the place of this one: the browser's history keeps no entry of it. */
export function replace(address: string): void {
  hash.value = address;
  write();
}

/** Writes the route into the address. Browsers take only so many changes in some seconds, and a key that is held makes more: the last is written later. */
function write(): void {
  clearTimeout(retry);
  try {
    history.replaceState(history.state, "", hash.value);
  } catch {
    // Some say that they refuse, others do nothing.
  }
  seen = location.hash;
  if (seen !== asWritten(hash.value)) retry = setTimeout(() => { if (settled()) write(); }, refusedFor);
}

/** An address with the escapes that browsers write. */
const asWritten = (address: string): string => new URL(address, location.href).hash;

/** Reports whether nobody has changed the address but the pages: somebody has, for a moment, while they go to another page. */
const settled = (): boolean => location.hash === seen;

/**
 * Changes parameters of the address; null and "" take one away. A change in place leaves no entry in the history, and none is made while
 * somebody goes to another page: it would lead back.
 */
export function setParams(changes: Record<string, string | null>, inPlace = false): void {
  if (inPlace && !settled()) return;
  const { path, params } = route.value;
  const next: Record<string, string | null> = Object.fromEntries(params);
  Object.assign(next, changes);
  const address = href(path, next);
  if (address === hash.value) return;
  if (inPlace) replace(address);
  else go(address);
}
