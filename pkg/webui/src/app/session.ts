// Who is signed in: the project and the key behind the cookie.
import { signal } from "@preact/signals";
import { ApiError, call, projectGone, signedOut } from "../api/client.ts";
import type { GetMeAnswer } from "../api/types.gen.ts";
import { messageOf } from "../model/format.ts";

export const me = signal<GetMeAnswer | null>(null);
export const meError = signal<string | null>(null);

/** Reports whether the key of the browser may do what needs a scope. */
export const allows = (scope: "full" | "admin"): boolean => me.value?.scope === "admin" || me.value?.scope === scope;

/** Asks the server who is signed in. Throws what it says. */
export async function readMe(): Promise<void> {
  me.value = await call<GetMeAnswer>("v1/me");
  signedOut.value = projectGone.value = false;
  meError.value = null;
}

/** As readMe, but keeps why nobody knows. Who was signed in before stays, with what is on the page. */
export async function loadMe(): Promise<void> {
  try {
    await readMe();
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) meError.value = messageOf(error);
  }
}
