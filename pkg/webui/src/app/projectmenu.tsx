// The project that the pages show, and the menu of the others for those who may go there.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { GetMeAnswer } from "../api/types.gen.ts";
import { messageOf } from "../model/format.ts";
import { Icon } from "../parts/icon.tsx";
import { addCommands, keysOf } from "./keymap.ts";
import { loadProjects, projects, switchProject } from "./projects.ts";

/** How many projects the menu shows at once, and from how many on it has a field to find them. */
const most = 50;
const findFrom = 8;

export function ProjectName({ who }: { who: GetMeAnswer }) {
  const key = who.key_project ? `${who.scope} key of ${who.key_project.name}` : `${who.scope} key`;
  return (
    <div class={`who${who.can_switch ? " chosen" : ""}${who.key_project ? " elsewhere" : ""}`}>
      {who.can_switch ? <ProjectMenu who={who} /> : <div class="ellipsis" title={who.project.name}>{who.project.name}</div>}
      <div class="key secondary faint ellipsis" title={key}>{`${key} · ${who.version}`}</div>
    </div>
  );
}

function ProjectMenu({ who }: { who: GetMeAnswer }) {
  const menu = useRef<HTMLDivElement>(null);
  const find = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<void>) => {
    setProblem("");
    setBusy(true);
    try {
      await work();
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  const to = (id: string) => (id === who.project.id ? menu.current?.hidePopover() : void attempt(() => switchProject(id)));
  const opened = async () => {
    setQuery("");
    await attempt(loadProjects);
    setTimeout(() => (find.current ?? menu.current?.querySelector<HTMLElement>("[aria-current]"))?.focus(), 0); // once the list is drawn
  };
  useLayoutEffect(() => addCommands([{ id: "project", keys: ["g p"], label: "Go to another project", group: "Everywhere", run: () => menu.current?.showPopover() }]), []);
  const others = (projects.value ?? []).filter((p) => p.id !== who.project.id);
  useLayoutEffect(() => addCommands(others.map((p) => ({
    id: `project-${p.id}`, keys: [], label: `Switch to project ${p.name}`, group: "Everywhere",
    run: () => { menu.current?.showPopover(); to(p.id); }, // what goes wrong is said in the menu
  }))), [projects.value]);

  const q = query.trim().toLowerCase();
  const found = (projects.value ?? []).filter((p) => p.name.toLowerCase().includes(q) || p.id === q);
  const note = (id: string) => (id === (who.key_project ?? who.project).id ? "of the key" : "");
  return (
    <>
      <button type="button" class="project" popoverTarget="projects-menu" aria-label={`Project ${who.project.name}: go to another`} title={`Project ${who.project.name}: go to another (${keysOf("project")})`}>
        <Icon name="project" small /><span class="ellipsis grow">{who.project.name}</span><span class="more"><Icon name="up" small /></span>
      </button>
      <div ref={menu} id="projects-menu" class="menu projects-menu" popover="auto" role="dialog" aria-label="Projects" aria-busy={busy}
        onToggle={(e) => { if (e.newState === "open") void opened(); }} onKeyDown={(e) => step(e)}>
        {(projects.value?.length ?? 0) >= findFrom && (
          <input ref={find} class="input" type="text" value={query} placeholder="Find a project" aria-label="Find a project" spellcheck={false} onInput={(e) => setQuery(e.currentTarget.value)}
            onKeyDown={(e) => { if (e.key === "Enter" && found[0]) to(found[0].id); }} />
        )}
        <ul aria-label="Projects">
          {found.slice(0, most).map((p) => (
            <li key={p.id}>
              <button type="button" disabled={busy && projects.value === null} aria-current={p.id === who.project.id ? "true" : undefined} title={p.description || p.name} onClick={() => to(p.id)}>
                <span class="grow ellipsis">{p.name}</span>{note(p.id) && <span class="secondary faint">{note(p.id)}</span>}{p.id === who.project.id && <Icon name="check" small />}
              </button>
            </li>
          ))}
          {projects.value && found.length === 0 && <li class="none secondary">No project is called like that</li>}
          {found.length > most && <li class="none secondary">{`${found.length - most} more: type a part of the name`}</li>}
        </ul>
        {problem && <p class="bad" role="alert">{problem}</p>}
      </div>
    </>
  );
}

/** Moves the focus among what can be chosen, by the arrows. */
function step(e: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (!by) return;
  e.preventDefault();
  const all = [...e.currentTarget.querySelectorAll<HTMLElement>("input, li button")];
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[(at + by + all.length) % all.length]?.focus();
}
