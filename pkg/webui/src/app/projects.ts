// The projects that a browser of an admin's key can act in, and going from one to another.
import { signal } from "@preact/signals";
import { call, url } from "../api/client.ts";
import type { Project, SwitchProjectAnswer, SwitchProjectBody } from "../api/types.gen.ts";
import { placeElsewhere } from "../model/place.ts";
import { me } from "./session.ts";

/** All projects, as they were read last; null if they were not. */
export const projects = signal<Project[] | null>(null);

const pageSize = 1000; // the most that the server gives

/** Reads all projects. */
export async function loadProjects(): Promise<void> {
  const all: Project[] = [];
  for (let page = 1; ; page++) {
    const some = await call<Project[]>(`v1/projects?limit=${pageSize}&page=${page}`);
    all.push(...some);
    if (some.length < pageSize) break;
  }
  projects.value = all;
}

/** Tells the other tabs of the browser, which have the same cookie, where it acts. */
const tabs = new BroadcastChannel(`spangrove ${url(".")}`);

/** Acts in another project from now on; null is that of the key. Throws what the server says. */
export async function switchProject(id: string | null): Promise<void> {
  const answer = await call<SwitchProjectAnswer>("v1/login/project", { method: "POST", body: { id } satisfies SwitchProjectBody });
  tabs.postMessage(answer.project.id);
  reopen();
}

tabs.onmessage = (e: MessageEvent<string>) => {
  if (me.value && me.value.project.id !== e.data) reopen();
};

/** Opens the page anew, with nothing left of what was read: in the same list, as far as that is of no one project. */
function reopen(): void {
  me.value = null; // what is shown goes at once, with its requests
  history.replaceState(null, "", placeElsewhere(location.hash));
  location.reload();
}
