// The list of datasets, and the frame of one: its datapoints, versions and runs.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { call, url } from "../../api/client.ts";
import type { CreateDatasetAnswer, GetDatasetAnswer, ListDatasetsAnswer } from "../../api/types.gen.ts";
import { addCommands } from "../../app/keymap.ts";
import { go, href, route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { rowHeight } from "../../parts/columnmenu.tsx";
import { Dialog, Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { FormDialog } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Table, type Column } from "../../parts/table.tsx";
import { Import } from "./import.tsx";
import { Rows } from "./rows.tsx";
import { Runs, Versions } from "./versions.tsx";

type Head = ListDatasetsAnswer["datasets"][number];

export function Page({ path: [id] }: { path: string[] }) {
  if (id === "import") return <Import dataset={null} />;
  return id ? <One key={id} id={id} /> : <List />;
}

/** Reports whether the key may change something. */
const most = 1000; // datasets of the list

function List() {
  const { params } = route.value;
  const find = params.get("find") ?? "";
  const selected = params.get("s");
  const [dialog, setDialog] = useState(false);
  const list = useLoaded("datasets", (signal) => call<ListDatasetsAnswer>(`v1/datasets?ids=false&limit=${most}`, { signal }));
  const all = list.value?.datasets ?? [];
  const rows = all.filter((d) => d.name.toLowerCase().includes(find.toLowerCase())).reverse();
  const at = rows.findIndex((d) => d.id === selected);
  const step = (by: number) => { const d = rows[Math.max(0, Math.min(rows.length - 1, at + by))]; if (d) setParams({ s: d.id }, true); };
  const open = (id: string) => go(href(["datasets", id]));
  const may = allows("full");
  useLayoutEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Next dataset", group: "Datasets", run: () => step(1) },
    { id: "previous", keys: ["k", "arrowup"], label: "Previous dataset", group: "Datasets", run: () => step(-1) },
    { id: "open", keys: ["enter"], label: "Open the dataset", group: "Datasets", run: () => { if (selected) open(selected); } },
    { id: "filter", keys: ["f", "/"], label: "Find by name", group: "Datasets", run: () => document.getElementById("find")?.focus() },
    ...(may ? [{ id: "new", keys: ["n"], label: "New dataset", group: "Datasets", run: () => setDialog(true) }, { id: "import", keys: ["i"], label: "Import a file", group: "Datasets", run: () => go(href(["datasets", "import"])) }] : []),
  ]), [rows.length, at, selected, find]);
  const now = Date.now();
  const date = (text: string | null | undefined) => (text ? <span class="faint" title={format.time(Date.parse(text))}>{format.shortTime(Date.parse(text), now)}</span> : <span class="faint">–</span>);
  const columns: Column<Head>[] = [
    { id: "name", label: "Name", width: 200, grow: 2, cell: (d) => <><Icon name="dataset" small /><a class="strong ellipsis" href={href(["datasets", d.id])}>{d.name}</a></> },
    { id: "description", label: "Description", width: 120, grow: 2, cell: (d) => <span class="ellipsis faint">{d.description ?? ""}</span> },
    { id: "points", label: "Datapoints", width: 90, right: true, cell: (d) => format.count(d.num_points) },
    { id: "version", label: "Version", width: 70, right: true, cell: (d) => d.version },
    { id: "changed", label: "Changed", width: 110, cell: (d) => date(d.updated_at ?? d.created_at) },
    { id: "created", label: "Created", width: 110, cell: (d) => date(d.created_at) },
    { id: "type", label: "Type", width: 90, cell: (d) => d.type },
  ];
  return (
    <div class="page">
      <header>
        <h1>Datasets</h1>
        <input id="find" class="input" type="text" value={find} placeholder="Find by name" aria-label="Find by name" onInput={(e) => setParams({ find: e.currentTarget.value, s: null }, true)}
          onKeyDown={(e) => { if (e.key === "Escape") e.currentTarget.blur(); }} />
        <span class="grow" />
        {may && <><a class="button" href={href(["datasets", "import"])}>Import a file</a><button type="button" class="button primary" onClick={() => setDialog(true)}><Icon name="plus" small />New dataset</button></>}
      </header>
      {list.loading && <div class="progress" role="progressbar" aria-label="Loading" />}
      {list.error ? <Problem error={list.error} retry={list.reload} /> : rows.length > 0 ? (
        <Table label="Datasets" columns={columns} rows={rows} rowId={(d) => d.id} rowHeight={rowHeight()} selected={selected} onSelect={(s) => setParams({ s }, true)} onOpen={open} total={rows.length} />
      ) : !list.loading && (
        find ? <Empty title="No dataset has such a name"><button class="button" onClick={() => setParams({ find: null })}>All datasets</button></Empty> : (
          <Empty title="No datasets yet">
            <p>A dataset is a list of examples: what goes in, and what should come out. Import one from a file, or add events to one from any list.</p>
            {may ? <a class="button primary" href={href(["datasets", "import"])}>Import a file</a> : <p>It takes a key of scope full to make one.</p>}
          </Empty>
        )
      )}
      <div class="foot" role="status">{`${format.plural(rows.length, "dataset")}${rows.length < all.length ? ` of ${all.length}` : ""}${all.length === most ? ", the oldest: others are found by their ids" : ""}`}</div>
      {dialog && <Naming label="New dataset" name="" onClose={() => setDialog(false)} onSave={async (name, description) => {
        const made = await call<CreateDatasetAnswer>("v1/datasets", { method: "POST", body: { name, description } });
        open(made.result.insertedId);
      }} />}
    </div>
  );
}

/** Asks for the name and the description of a dataset. */
function Naming({ label, name: before, description: about = "", onSave, onClose }: { label: string; name: string; description?: string; onSave: (name: string, description: string) => Promise<void>; onClose: () => void }) {
  const [name, setName] = useState(before);
  const [description, setDescription] = useState(about);
  return (
    <FormDialog title={label} action="Save" ready={name.trim() !== ""} onClose={onClose} onSubmit={async () => { await onSave(name.trim(), description); onClose(); }}>
      <label>Name<input class="input" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
      <label>Description<textarea class="input" rows={2} value={description} onInput={(e) => setDescription(e.currentTarget.value)} /></label>
    </FormDialog>
  );
}

const views = [["rows", "Datapoints"], ["versions", "Versions"], ["runs", "Runs"]] as const;

function One({ id }: { id: string }) {
  const { params } = route.value;
  const view = params.get("view") ?? "rows";
  const version = params.get("version");
  const [dialog, setDialog] = useState<"" | "name" | "delete">("");
  const [problem, setProblem] = useState("");
  const at = `v1/datasets/${encodeURIComponent(id)}`;
  const head = useLoaded(id, async (signal) => (await call<GetDatasetAnswer>(`${at}?ids=false`, { signal })).dataset);
  const set = head.value;
  const may = allows("full");
  useEffect(() => { if (set) document.title = `${set.name} · Datasets · Spangrove`; }, [set?.name]);
  useLayoutEffect(() => addCommands(views.map(([v, label], i) => ({ id: `view-${v}`, keys: [String(i + 1)], label, group: "Dataset", run: () => setParams({ view: v === "rows" ? null : v, s: null }) }))), []);
  if (head.error && !set) return <div class="page"><Problem error={head.error} retry={head.reload} /></div>;
  if (!set) return <div class="page"><div class="progress" role="progressbar" aria-label="Loading" /></div>;
  if (view === "import" && may) return <Import dataset={{ id, name: set.name }} />;
  const filter = new URLSearchParams([...params].filter(([k]) => ["text", "field", "value", "version"].includes(k)));
  return (
    <div class="page">
      <header>
        <a href={href(["datasets"])}>Datasets</a><span class="faint">/</span><h1 class="ellipsis" title={set.description ?? set.name}>{set.name}</h1>
        <span class="faint">{`v${version ?? set.version}`}</span>
        <span class="grow" />
        <nav class="data-tabs" aria-label="Parts of the dataset">{views.map(([v, label]) => <a key={v} href={href(["datasets", id], { view: v === "rows" ? null : v })} aria-current={view === v ? "page" : undefined}>{label}</a>)}</nav>
        <button type="button" class="button icon" popoverTarget="export-menu" title="Export, import, rename, delete" aria-label="More"><Icon name="down" small /></button>
        <div id="export-menu" class="menu export-menu" popover="auto" onClick={(e) => e.currentTarget.hidePopover()}>
          {["jsonl", "csv"].map((f) => <a key={f} href={url(`${at}/export?${new URLSearchParams([...filter, ["format", f]])}`)} download><Icon name="download" small />{`Export ${f.toUpperCase()}${filter.size > 0 ? ", what is shown" : ""}`}</a>)}
          {may && <>
            <a href={href(["datasets", id], { view: "import" })}><Icon name="plus" small />Import a file into it</a>
            <button type="button" onClick={() => setDialog("name")}>Rename, describe</button>
            <button type="button" class="bad" onClick={() => setDialog("delete")}><Icon name="trash" small />Delete</button>
          </>}
        </div>
      </header>
      {view === "versions" ? <Versions id={id} current={set.version} /> : view === "runs" ? <Runs id={id} current={set.version} /> : <Rows id={id} name={set.name} current={set.version} may={may && version === null} onChange={head.reload} />}
      {dialog === "name" && <Naming label="Rename, describe" name={set.name} description={set.description ?? ""} onClose={() => setDialog("")} onSave={async (name, description) => {
        await call(`${at}?ids=false`, { method: "PUT", body: { name, description } });
        head.reload();
      }} />}
      {dialog === "delete" && (
        <Dialog label="Delete" onClose={() => setDialog("")}>
          <div class="form">
            <h2>Delete this dataset?</h2>
            <p>{`“${set.name}” goes with its ${format.plural(set.version, "version")}. Its ${format.plural(set.num_points, "datapoint")} stay, without it. This cannot be undone.`}</p>
            {problem && <p class="bad" role="alert">{problem}</p>}
            <div class="form-end"><button type="button" class="button" onClick={() => setDialog("")}>Cancel</button>
              <button type="button" class="button danger" onClick={() => call(at, { method: "DELETE" }).then(() => go(href(["datasets"])), (e) => setProblem(format.messageOf(e)))}>Delete</button></div>
          </div>
        </Dialog>
      )}
    </div>
  );
}
