// Tools: functions that models may call, each with the JSON Schema of its arguments.
import { useState } from "preact/hooks";
import { call, text } from "../../api/client.ts";
import type { Tool } from "../../api/types.gen.ts";
import { go, href } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { elements, members, pretty } from "../../model/raw.ts";
import { readSchema } from "../../model/toolschema.ts";
import { Problem, useLoaded } from "../../parts/common.tsx";
import { FormDialog, useWork } from "../../parts/form.tsx";
import { PlainTable } from "../../parts/plaintable.tsx";
import { List, readConfigurations } from "./list.tsx";

/** A tool with the text of its schema, as it is stored. */
type Stored = Tool & { schema: string };

const firstSchema = JSON.stringify({ type: "object", properties: { query: { type: "string", description: "what to look for" } }, required: ["query"] }, null, 2);

export function Page({ path: [id] }: { path: string[] }) {
  const list = useLoaded("tools", async (signal) => {
    const list = elements(members(await text("v1/tools", { signal })).get("tools")!);
    return list.map((t): Stored => ({ ...(JSON.parse(t) as Tool), schema: members(t).get("parameters") ?? "{}" }));
  });
  const configurations = useLoaded("configurations", readConfigurations);
  const users = (t: Tool) => (configurations.value ?? []).filter((c) => c.parameters.selectedFunctions?.some((f) => f.id === t.id || f.name === t.name));
  if (id) {
    const tool = list.value?.find((t) => t.id === id) ?? null;
    if (list.error) return <Problem error={list.error} retry={list.reload} />;
    if (!list.value) return null;
    if (!tool && id !== "new") return <Problem error={new Error("There is no such tool; it may have been deleted.")} />;
    return <Editor key={id} tool={tool} users={tool ? users(tool) : []} unknown={configurations.error} onChange={list.reload} />;
  }
  return (
    <List title="Tools" list={list} onNew={() => go(href(["tools", "new"]))} text={(t) => `${t.name} ${t.description ?? ""}`} empty="A tool is a function that a model may call: a name, what it is for, and a schema of its arguments."
      table={(rows) => (
        <PlainTable label="Tools" rows={rows} rowId={(t) => t.id} columns={[
          { label: "Name", cell: (t) => <a class="strong" href={href(["tools", t.id])}>{t.name}</a> },
          { label: "What it is for", wide: true, cell: (t) => t.description || <span class="faint">–</span> },
          { label: "Arguments", cell: (t) => Object.keys((t.parameters as { properties?: object } | null)?.properties ?? {}).join(", ").slice(0, 60) || <span class="faint">none</span> },
          { label: "Used by", right: true, cell: (t) => (configurations.value ? format.plural(users(t).length, "configuration") : "…") },
          { label: "Changed", right: true, cell: (t) => format.ago(Date.parse(t.updated_at ?? t.created_at), Date.now()) },
        ]} />
      )} />
  );
}

function Editor({ tool, users, unknown, onChange }: { tool: Stored | null; users: { id: string; name: string }[]; unknown: unknown; onChange: () => void }) {
  const [name, setName] = useState(tool?.name ?? "");
  const [about, setAbout] = useState(tool?.description ?? "");
  const [schema, setSchema] = useState(tool ? pretty(tool.schema) : firstSchema);
  const [deleting, setDeleting] = useState(false);
  const { busy, problem, run } = useWork();
  const { value, flaws } = readSchema(schema);
  const changes = allows("full");
  const broken = value === null;
  const save = () => run(async () => {
    const rest = JSON.stringify({ ...(tool && { id: tool.id }), name: name.trim(), description: about });
    await call("v1/tools", { method: tool ? "PUT" : "POST", json: `{"parameters":${schema},${rest.slice(1)}` });
    onChange();
    go(href(["tools"]));
  });
  return (
    <div class="page">
      <header>
        <a class="secondary" href={href(["tools"])}>Tools</a><span class="faint">/</span><h1 class="ellipsis">{tool?.name ?? "New tool"}</h1><span class="grow" />
        {changes && tool && <button type="button" class="button danger" onClick={() => setDeleting(true)}>Delete…</button>}
      </header>
      <div class="configuration">
        <form onSubmit={(e) => { e.preventDefault(); void save(); }}>
          <label class="stacked">Name, as the model calls it<input class="input" required maxLength={200} value={name} readOnly={!changes} onInput={(e) => setName(e.currentTarget.value)} /></label>
          <label class="stacked">What it is for, which the model reads<textarea class="input" rows={2} value={about} readOnly={!changes} onInput={(e) => setAbout(e.currentTarget.value)} /></label>
          <label class="stacked">Schema of its arguments, JSON Schema<textarea class="input mono" rows={8} spellcheck={false} value={schema} readOnly={!changes} aria-invalid={flaws.length > 0} aria-describedby="flaws" onInput={(e) => setSchema(e.currentTarget.value)} /></label>
          <div id="flaws" role="status"><ul>{flaws.length > 0 ? flaws.map((f) => <li key={f} class={broken ? "bad" : "warn"}>{f}</li>) : <li class="good">Nothing is wrong with the schema.</li>}</ul></div>
          {problem && <p class="bad" role="alert">{problem}</p>}
          {changes && <div class="inline"><button type="submit" class="button primary" disabled={busy || broken || !name.trim()}>{tool ? "Save" : "Create"}</button></div>}
        </form>
        {tool && (
          <aside>
            <h2>Used by</h2>
            {unknown ? <p class="bad">{(unknown as Error).message}</p> : users.length === 0 ? <p class="secondary">No configuration.</p> : <ul>{users.map((c) => <li key={c.id}><a href={href(["configurations", c.id])}>{c.name}</a></li>)}</ul>}
            <a href={href(["events"], { q: `type:tool name:${JSON.stringify(tool.name)}` })}>Its calls</a>
          </aside>
        )}
      </div>
      {deleting && <FormDialog title={`Delete ${tool!.name}?`} action="Delete" danger onClose={() => setDeleting(false)} onSubmit={async () => { await call(`v1/tools?id=${encodeURIComponent(tool!.id)}`, { method: "DELETE" }); onChange(); go(href(["tools"])); }}>
        <p>{users.length > 0 ? `${format.plural(users.length, "configuration")} that use it keep their copy.` : "No configuration uses it."}</p></FormDialog>}
    </div>
  );
}
