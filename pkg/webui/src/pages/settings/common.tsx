// What the pages of settings have in common.
import { me } from "../../app/session.ts";

/** The path of the project that the browser acts in, in the API. */
export const projectPath = (rest: string): string => `v1/projects/${encodeURIComponent(me.value!.project.id)}/${rest}`;

/** What is said where the key of the browser may not look. */
export function Needs({ what }: { what: string }) {
  return <p class="notice">{`${what} needs a key of scope admin; the one that this browser signed in with has the scope ${me.value?.scope}.`}</p>;
}
