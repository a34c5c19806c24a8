// Views: what a list is filtered by, how it is sorted and which columns it has, under a name for everybody in the project.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client.ts";
import type { CreateViewAnswer, CreateViewBody, ListViewsAnswer, UpdateViewBody, View } from "../api/types.gen.ts";
import { go, href, route } from "../app/router.ts";
import { allows } from "../app/session.ts";
import { isDouble, useWork } from "../parts/form.tsx";
import { Icon } from "../parts/icon.tsx";

type Of = "sessions" | "completions" | "events";

/** The views that every project has: their names and filters. */
const presets: Record<Of, [string, string][]> = {
  sessions: [["All sessions", ""], ["With errors", "errors>0"], ["Slower than 10 s", "duration>10s"], ["Above $0.10", "cost>0.1"], ["A tool failed", "event.type:tool has:event.error"]],
  completions: [["All completions", ""], ["With errors", "has:error"], ["Slower than 10 s", "duration>10s"], ["Above 10,000 tokens", "tokens>10000"]],
  events: [["All events", ""], ["With errors", "has:error"], ["Tool calls", "type:tool"], ["Failed tool calls", "type:tool has:error"]],
};

/** Parameters of an address that are of the moment, and no part of a view. */
const momentary = new Set(["s", "live", "view"]);

function stateNow(): Record<string, string> {
  return Object.fromEntries([...route.value.params].filter(([key]) => !momentary.has(key)));
}

const same = (a: Record<string, unknown>, b: Record<string, unknown>) => JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

export function ViewsMenu({ of }: { of: Of }) {
  const [views, setViews] = useState<View[] | null>(null);
  const [name, setName] = useState("");
  const listing = useWork();
  const { busy, problem, run } = useWork();
  const [doomed, setDoomed] = useState("");
  const may = allows("full");
  const current = route.value.params.get("view");
  const state = stateNow();
  const load = async () => setViews((await call<ListViewsAnswer>("v1/views?limit=1000")).data.filter((v) => v.page === of));
  useEffect(() => { if (current) void listing.run(load); }, []);
  const change = (work: () => Promise<unknown>) => run(async () => {
    await work();
    await load();
  });
  const save = () => change(async () => {
    const made = await call<CreateViewAnswer>("v1/views", { method: "POST", body: { name: name.trim(), page: of, state } satisfies CreateViewBody });
    setName("");
    hide();
    go(href([of], { ...state, view: made.data.id }));
  });
  const open = (view: View) => go(href([of], { ...texts(view.state), view: view.id }));
  const shown = views?.find((v) => v.id === current) ?? null;
  const preset = shown ? null : presets[of].find(([, q]) => (state.q ?? "") === q);
  return (
    <>
      <button type="button" class="button plain" popoverTarget="views-menu"><span class="ellipsis">{shown?.name ?? preset?.[0] ?? "Views"}</span><Icon name="down" small /></button>
      <div id="views-menu" class="menu views-menu" popover="auto" onToggle={(e) => { if ((e as unknown as ToggleEvent).newState === "open") { setDoomed(""); void listing.run(load); } }}>
        <ul aria-label="Views of every project">
          {presets[of].map(([label, q]) => <li key={label}><a href={href([of], { q, range: state.range ?? null })} title={q || "no filter"} onClick={hide}><span class="grow">{label}</span>{preset?.[0] === label && <Icon name="check" small />}</a></li>)}
        </ul>
        {views && views.length > 0 && (
          <ul aria-label="Saved views">
            {views.map((v) => (
              <li key={v.id}>
                <button type="button" title={texts(v.state).q ?? "no filter"} onClick={() => { hide(); open(v); }}><span class="grow ellipsis">{v.name}</span>{v.id === current && <Icon name="check" small />}</button>
                {may && <button type="button" class={`side${doomed === v.id ? " bad" : ""}`} aria-label={doomed === v.id ? `Yes, delete ${v.name}` : `Delete ${v.name}`}
                  onClick={(e) => (doomed !== v.id ? setDoomed(v.id) : !isDouble(e) && void change(() => call(`v1/views/${v.id}`, { method: "DELETE" })))}>{doomed === v.id ? "Delete?" : <Icon name="trash" small />}</button>}
              </li>
            ))}
          </ul>
        )}
        {may && shown && !same(texts(shown.state), state) && (
          <button type="button" onClick={() => void change(() => call(`v1/views/${shown.id}`, { method: "PUT", body: { state } satisfies UpdateViewBody }))}><Icon name="check" small /><span class="ellipsis">{`Keep the changes in “${shown.name}”`}</span></button>
        )}
        {may && (
          <form onSubmit={(e) => { e.preventDefault(); if (name.trim() !== "") void save(); }}>
            <input class="input" value={name} maxLength={200} placeholder="Save as a view" aria-label="Name of the view" onInput={(e) => setName(e.currentTarget.value)} />
            <button type="submit" class="button" disabled={busy || name.trim() === ""}>Save</button>
          </form>
        )}
        {(problem || listing.problem) && <p class="bad" role="alert">{problem || listing.problem}</p>}
      </div>
    </>
  );
}

function hide(): void {
  document.getElementById("views-menu")?.hidePopover();
}

/** The parameters of a state that are texts; others are of no page, and left out. */
function texts(state: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(state).filter((e): e is [string, string] => typeof e[1] === "string" && !momentary.has(e[0])));
}
