// Who is signed in: the project and the key behind the cookie.
import { signal } from "@preact/signals";
import { ApiError, call, projectGone, signedOut } from "../api/client.ts";
import type { GetMeAnswer, LoginBody } from "../api/types.gen.ts";
import { messageOf } from "../model/format.ts";

export const me = signal<GetMeAnswer | null>(null);
export const meError = signal<string | null>(null);

/** Reports whether the key of the browser may do what needs a scope. */
export const allows = (scope: "full" | "admin"): boolean => me.value?.scope === "admin" || me.value?.scope === scope;

/** Asks the server who is signed in. */
export async function loadMe(): Promise<void> {
  try {
    me.value = await call<GetMeAnswer>("v1/me");
    signedOut.value = projectGone.value = false;
    meError.value = null;
  } catch (error) {
    me.value = null;
    if (!(error instanceof ApiError && error.status === 401)) meError.value = messageOf(error);
  }
}

/** Signs in with a key or a one-time code. Throws what the server says. */
export async function signIn(body: LoginBody): Promise<void> {
  await call("v1/login", { method: "POST", body });
  await loadMe();
}

/** Signs out. The page is opened anew, with nothing left of what was read. */
export async function signOut(): Promise<void> {
  await call("v1/logout", { method: "POST" });
  me.value = null;
  location.reload();
}
