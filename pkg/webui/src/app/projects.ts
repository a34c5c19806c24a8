// The projects that a browser of an admin's key can act in, and going from one to another.
import { signal } from "@preact/signals";
import { call } from "../api/client.ts";
import type { Project, SwitchProjectAnswer, SwitchProjectBody } from "../api/types.gen.ts";
import { reopen, tellTabs } from "./signin.ts";

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

/** Acts in another project from now on; null is that of the key. Throws what the server says. */
export async function switchProject(id: string | null): Promise<void> {
  const answer = await call<SwitchProjectAnswer>("v1/login/project", { method: "POST", body: { id } satisfies SwitchProjectBody });
  tellTabs(answer.project.id);
  reopen();
}
