// Configurations: prompts with their models and settings, in versions, and where they are deployed.
import { useLayoutEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { Configuration, ConfigurationInput, CreateConfigurationAnswer, Environment, GetConfigurationAnswer, ListConfigurationVersionsAnswer } from "../../api/types.gen.ts";
import { keep as keepInTab, readKept, unkept } from "../../app/kept.ts";
import { addCommands } from "../../app/keymap.ts";
import { go, href, route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { fromConfiguration, numbers, parametersOf, variablesOf, type Variant } from "../../model/playground.ts";
import { Problem, useLoaded } from "../../parts/common.tsx";
import { FormDialog, useWork } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { PlainTable } from "../../parts/plaintable.tsx";
import { Prompt } from "../../parts/prompt.tsx";
import { TextDiff } from "../../parts/textdiff.tsx";
import { List, readConfigurations } from "./list.tsx";

const environments = ["dev", "staging", "prod"] as const;
const path = (id: string, rest = "") => `v1/configurations/${encodeURIComponent(id)}${rest}`;

export function Page({ path: [id] }: { path: string[] }) {
  return id ? <One key={id} id={id} /> : <All />;
}

/** The environments that a configuration is deployed to, each with the version at which it stays. */
const Environments = ({ of }: { of: Configuration }) => <>{of.env.map((e) => <Chip key={e} env={e}>{of.env_versions[e]}</Chip>)}</>;
const Chip = ({ env, children }: { env: string; children?: number }) => <span class={`chip${env === "prod" ? " running" : ""}`}>{env}{children && ` ${children}`}</span>;

function All() {
  const list = useLoaded("configurations", readConfigurations);
  const [adding, setAdding] = useState(false);
  const [name, setName] = useState("");
  const [model, setModel] = useState("");
  const create = async () => {
    const body = { name: name.trim(), provider: "default", parameters: { call_type: "chat", model: model.trim(), template: [{ role: "system", content: "" }, { role: "user", content: "" }] } };
    go(href(["configurations", (await call<CreateConfigurationAnswer>("v1/configurations", { method: "POST", body })).insertedId]));
  };
  return (
    <List title="Configurations" list={list} onNew={() => setAdding(true)} text={(c) => `${c.name} ${c.provider} ${c.parameters.model} ${c.tags.join(" ")} ${c.env.join(" ")}`}
      empty="A configuration is a prompt with its model and settings, in versions, which programs read by name and environment."
      table={(rows) => (
        <PlainTable label="Configurations" rows={rows} rowId={(c) => c.id} columns={[
          { label: "Name", wide: true, cell: (c) => <a class="strong" href={href(["configurations", c.id])}>{c.name}</a> },
          { label: "Model", cell: (c) => <>{c.parameters.model} <span class="faint">{c.provider}</span></> },
          { label: "Deployed to", cell: (c) => <Environments of={c} /> },
          { label: "Tags", cell: (c) => c.tags.join(", ") },
          { label: "Version", right: true, cell: (c) => c.version },
          { label: "Changed", right: true, cell: (c) => format.ago(Date.parse(c.updated_at ?? c.created_at), Date.now()) },
        ]} />
      )}>
      {adding && (
        <FormDialog title="New configuration" action="Create" onClose={() => setAdding(false)} onSubmit={create}>
          <label>Name<input class="input" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
          <label>Model<input class="input" required maxLength={200} value={model} placeholder="gpt-4o-mini" onInput={(e) => setModel(e.currentTarget.value)} /></label>
        </FormDialog>
      )}
    </List>
  );
}

/** A version as a text, to be compared with another. */
function textOf(c: Configuration): string {
  const v = fromConfiguration(c);
  const settings = Object.entries(v.settings).map(([k, t]) => `${k}: ${t}`);
  return [`name: ${c.name}`, `provider: ${c.provider}`, `model: ${v.model}`, ...settings, ...v.messages.map((m) => `\n[${m.role}]\n${m.text}`), ...(v.tools ? [`\ntools: ${v.tools}`] : [])].join("\n");
}

/** Edits live in the tab of the browser until they are saved, with the version that they began at. */
interface Kept { version: number; variant: Variant }
const keptUnder = (id: string) => `spangrove.configuration.${id}`;

function One({ id }: { id: string }) {
  const { params } = route.value;
  const version = params.get("version");
  const read = async (v: string | null, signal: AbortSignal) => (await call<GetConfigurationAnswer>(path(id, v ? `?version=${v}` : ""), { signal })).configuration;
  const current = useLoaded(id, (signal) => read(null, signal));
  const versions = useLoaded(`${id} versions`, (signal) => call<ListConfigurationVersionsAnswer>(path(id, "/versions"), { signal }));
  const old = useLoaded(version, (signal) => read(version, signal));
  const [draft, setDraft] = useState(() => readKept<Kept>(keptUnder(id)));
  const [deleting, setDeleting] = useState(false);
  const { busy, problem, run } = useWork();
  const c = current.value;
  const v = draft?.variant ?? (c && fromConfiguration(c));
  const changes = allows("full");
  const keep = (d: Kept | null) => {
    setDraft(d);
    keepInTab(keptUnder(id), d);
  };
  const put = (body: ConfigurationInput) => run(async () => {
    const now = await read(null, new AbortController().signal);
    if (now.version !== c!.version) {
      current.reload();
      versions.reload();
      throw new Error(`Version ${now.version} was saved meanwhile. A second try puts yours in its place.`);
    }
    await call(path(id), { method: "PUT", body: { name: now.name, ...body } });
    keep(null);
    setParams({ version: null }, true);
    current.reload();
    versions.reload();
  });
  // Where it is deployed is no part of a version: what is being written stays.
  const deploy = (e: Environment, version: string) => run(async () => {
    const now = await read(null, new AbortController().signal); // others deploy, too
    await call(path(id), { method: "PUT", body: { name: now.name, ...(version ? { env_versions: { [e]: Number(version) } } : { env: now.env.filter((x) => x !== e) }) } });
    current.reload();
  });
  const save = () => run(async () => put({ provider: v!.provider || c!.provider, parameters: parametersOf(v!, c!.parameters) }));
  useLayoutEffect(() => addCommands([
    { id: "playground", keys: ["p"], label: "Open in the playground", group: "Configuration", run: () => go(href(["playground"], { config: id, version })) },
    { id: "close", keys: ["escape"], label: "Back to the current version", group: "Configuration", run: () => setParams({ version: null }, true) },
  ]), [id, version]);
  if (current.error) return <Problem error={current.error} retry={current.reload} />;
  if (!c || !v) return null;
  const set = (change: Partial<Variant>) => keep({ version: draft?.version ?? c.version, variant: { ...v, ...change } });
  const names = variablesOf(v.messages.map((m) => m.text));
  const shown = version && old.value ? old.value : null;
  const follow = c.env.filter((e) => !c.env_versions[e]);
  return (
    <div class="page">
      <header>
        <a class="secondary" href={href(["configurations"])}>Configurations</a><span class="faint">/</span>
        <h1 class="ellipsis">{c.name}</h1><Environments of={c} />
        <span class="grow" />
        <a class="button" title="p" href={href(["playground"], { config: id, version })}><Icon name="playground" small />Playground</a>
        {changes && <button type="button" class="button danger" onClick={() => setDeleting(true)}>Delete…</button>}
      </header>
      <div class="configuration">
        <section aria-label={shown ? `Version ${version}` : "The current version"}>
          {problem && <p class="bad" role="alert">{problem}</p>}
          {shown ? (
            <>
              <header class="inline"><h2 class="grow">{`Version ${version} against the current one, ${c.version}`}</h2>
                {changes && <button type="button" class="button" disabled={busy} onClick={() => void put({ name: shown.name, provider: shown.provider, parameters: shown.parameters })}>Make it the current one</button>}</header>
              <TextDiff left={textOf(shown)} right={textOf(c)} />
            </>
          ) : (
            <>
              <div class="settings-row">
                <label>provider<input class="input" value={v.provider} readOnly={!changes} onInput={(e) => set({ provider: e.currentTarget.value })} /></label>
                <label>model<input class="input" value={v.model} readOnly={!changes} onInput={(e) => set({ model: e.currentTarget.value })} /></label>
                {[...new Set([...numbers.slice(0, 3), ...Object.keys(v.settings)])].map((n) => <label key={n}>{n.replaceAll("_", " ")}<input class="input" value={v.settings[n] ?? ""} placeholder="default" readOnly={!changes} onInput={(e) => set({ settings: { ...v.settings, [n]: e.currentTarget.value } })} /></label>)}
              </div>
              <p class="secondary">{names.length > 0 ? `${format.plural(names.length, "variable")}: ${names.join(", ")}` : "No variables: {{name}} makes one."}</p>
              <Prompt messages={v.messages} onChange={(messages) => set({ messages })} disabled={!changes} />
              {v.tools && <details><summary>{format.plural((JSON.parse(v.tools) as unknown[]).length, "tool")}</summary><pre class="code" tabIndex={0}>{v.tools}</pre></details>}
              {changes && <div class="inline"><button type="button" class="button primary" disabled={!draft || busy} onClick={() => void save()}>{`Save as version ${c.version + 1}`}</button>{draft && <button type="button" class="button" onClick={() => keep(null)}>Undo</button>}{unkept(keptUnder(id)) && <span class="warn">{unkept(keptUnder(id))}</span>}{draft && draft.version !== c.version && <span class="bad">{`These edits began at version ${draft.version}.`}</span>}{draft && follow.length > 0 && <span class="secondary">{`Programs of ${follow.join(" and ")} get it at once.`}</span>}</div>}
            </>
          )}
        </section>
        <aside>
          <h2>Environments</h2>
          {environments.map((e) => (
            <label key={e} class="deployed"><span>{e}</span>
              <select class="input" disabled={!changes || busy} value={c.env.includes(e) ? String(c.env_versions[e] ?? 0) : ""} onChange={(x) => void deploy(e, x.currentTarget.value)}>
                <option value="">not deployed</option>
                <option value="0">{`always the current, ${c.version}`}</option>
                {versions.value?.versions.map((r) => <option key={r.version} value={r.version}>{`version ${r.version}`}</option>)}
              </select></label>
          ))}
          <p class="secondary">Programs that ask for an environment get its version.</p>
          <h2>Versions</h2>
          {versions.error && <p class="bad">{(versions.error as Error).message}</p>}
          <ul>{versions.value?.versions.map((r) => {
            const now = r.version === c.version;
            const env = c.env.filter((e) => (c.env_versions[e] ?? c.version) === r.version);
            return <li key={r.version}><a aria-current={now ? !shown || undefined : version === String(r.version) || undefined} href={href(["configurations", id], { version: now ? null : String(r.version) })}>{`Version ${r.version}`}</a> <span class="faint">{now ? "current" : format.ago(Date.parse(r.created_at), Date.now())}</span> {env.map((e) => <Chip key={e} env={e} />)}</li>;
          })}</ul>
        </aside>
      </div>
      {deleting && <FormDialog title={`Delete ${c.name}?`} action="Delete" danger onClose={() => setDeleting(false)} onSubmit={async () => { await call(path(id), { method: "DELETE" }); go(href(["configurations"])); }}><p>{`All ${format.plural(c.version, "version")} go with it; programs that read it find nothing.`}</p></FormDialog>}
    </div>
  );
}
