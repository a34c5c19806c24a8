// Routes stand behind the # of the address: paths of the API keep theirs, any path prefix of a proxy works, and filter texts, which are
// people's words, never reach an access log.
import { computed, signal } from "@preact/signals";

export interface Route {
  path: string[]; // "#/session/abc" is ["session", "abc"]
  params: URLSearchParams;
}

const hash = signal(location.hash);

/** A page may keep the address where it is: keep is asked before each change that did not come from the page itself. */
export const holding: { keep: ((to: string) => boolean) | null } = { keep: null };

addEventListener("hashchange", () => {
  if (location.hash === hash.value) return;
  if (holding.keep?.(location.hash)) history.replaceState(history.state, "", hash.value);
  else hash.value = location.hash;
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
  hash.value = location.hash;
}

/** Goes to a page in the place of this one: the browser's history keeps no entry of it. */
export function replace(address: string): void {
  history.replaceState(history.state, "", address);
  hash.value = address;
}

/** Reports whether the route is that of the address: it is not for a moment while somebody goes to another page. */
const settled = (): boolean => hash.value === location.hash;

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
  if (address === location.hash) return;
  if (inPlace) replace(address);
  else go(address);
}
