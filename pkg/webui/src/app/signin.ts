// Signing in and out. All tabs of a browser have one cookie, so that each tells the others in which project it acts from now on.
import { call, signedOut, url } from "../api/client.ts";
import type { LoginBody } from "../api/types.gen.ts";
import { placeElsewhere } from "../model/place.ts";
import { holding } from "./router.ts";
import { loadMe, me, readMe } from "./session.ts";

const tabs = new BroadcastChannel(`spangrove ${url(".")}`);

/** What the other tabs are told when somebody signs out. */
const out = "";

/** Tells the other tabs that the browser acts in a project, the id of which is given. */
export function tellTabs(project: string): void {
  tabs.postMessage(project);
}

tabs.onmessage = (e: MessageEvent<string>) => {
  if (!me.value) void loadMe();
  else if (e.data === out && holding.keep) signedOut.value = true; // what is not saved stays
  else if (e.data === out) leave();
  else if (me.value.project.id !== e.data) reopen();
  else void loadMe();
};

/** Opens the page anew, with nothing left of what was read. */
function leave(): void {
  me.value = null; // what is shown goes at once, with its requests
  location.reload();
}

/** As leave, but in the same list, as far as that is of no one project. */
export function reopen(): void {
  history.replaceState(null, "", placeElsewhere(location.hash));
  leave();
}

/** Signs in with a key or a one-time code. What is shown stays if it is of the same project. Throws what the server says. */
export async function signIn(body: LoginBody): Promise<void> {
  const before = me.value?.project.id;
  await call("v1/login", { method: "POST", body });
  await readMe();
  const now = me.value!.project.id;
  tellTabs(now);
  if (before && before !== now) reopen();
}

/** Signs out. The page is opened anew, with nothing left of what was read. Throws what the server says. */
export async function signOut(): Promise<void> {
  await call("v1/logout", { method: "POST" });
  tellTabs(out);
  leave();
}
