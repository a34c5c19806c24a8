// All projects of the server: what each has stored, making one, and deleting one with all its data.
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { ListUsageAnswer } from "../../api/types.gen.ts";
import { switchProject } from "../../app/projects.ts";
import { allows, me } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { Problem, useLoaded } from "../../parts/common.tsx";
import { FormDialog, useWork } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { PlainTable, type PlainColumn } from "../../parts/plaintable.tsx";
import { Needs } from "./common.tsx";

type Row = ListUsageAnswer["projects"][number];

/** The most projects that the page shows. */
const most = 1000;

export function ProjectsTab() {
  const admin = allows("admin");
  const usage = useLoaded(admin ? "usage" : null, (signal) => call<ListUsageAnswer>(`v1/usage?limit=${most}`, { signal }));
  const [making, setMaking] = useState(false);
  const [deleting, setDeleting] = useState<Row | null>(null);
  const { problem, run } = useWork();
  if (!admin) return <Needs what="To see all projects" />;
  if (usage.error) return <Problem error={usage.error} retry={usage.reload} />;
  if (!usage.value) return null;
  const here = me.value!.project.id;
  const columns: PlainColumn<Row>[] = [
    { label: "Project", wide: true, cell: (p) => <><span class="strong">{p.name}</span>{p.project_id === here && <span class="chip">this one</span>}</> },
    { label: "Id", cell: (p) => <code>{p.project_id}</code> },
    { label: "Events", right: true, cell: (p) => format.count(p.events) },
    { label: "Stored", right: true, cell: (p) => format.bytes(p.stored_bytes) },
    { label: "", cell: (p) => p.project_id !== here && <>{me.value!.can_switch && <button type="button" class="button" onClick={() => void run(() => switchProject(p.project_id))}>Go there</button>} <button type="button" class="button danger" onClick={() => setDeleting(p)}>Delete…</button></> },
  ];
  return (
    <>
      <div class="settings-head">
        <p class="secondary">{`${format.plural(usage.value.projects.length, "project")}; the database takes ${format.bytes(usage.value.database_bytes)} on disk.`}</p>
        <button type="button" class="button primary" onClick={() => setMaking(true)}><Icon name="plus" small />New project</button>
      </div>
      {problem && <p class="bad" role="alert">{problem}</p>}
      <PlainTable label="Projects" columns={columns} rows={usage.value.projects} rowId={(p) => p.project_id} />
      {usage.value.projects.length >= most && <p class="secondary">{`The oldest ${most} projects are shown.`}</p>}
      {making && <Make onClose={() => setMaking(false)} onDone={() => { setMaking(false); usage.reload(); }} />}
      {deleting && <Delete of={deleting} onClose={() => setDeleting(null)} onDone={() => { setDeleting(null); usage.reload(); }} />}
    </>
  );
}

function Make({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const make = async () => {
    await call("v1/projects", { method: "POST", body: { name: name.trim(), description } });
    onDone();
  };
  return (
    <FormDialog title="New project" action="Make the project" onSubmit={make} onClose={onClose}>
      <label>Name<input class="input" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
      <label>Description<textarea class="input" rows={2} maxLength={10_000} value={description} onInput={(e) => setDescription(e.currentTarget.value)} /></label>
    </FormDialog>
  );
}

function Delete({ of: project, onClose, onDone }: { of: Row; onClose: () => void; onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const remove = async () => {
    await call(`v1/projects?project_id=${encodeURIComponent(project.project_id)}`, { method: "DELETE" });
    onDone();
  };
  return (
    <FormDialog title={`Delete the project ${project.name}?`} action="Delete all of it" danger ready={typed === project.name} onSubmit={remove} onClose={onClose}>
      <p>{`Its ${format.plural(project.events, "event")} (${format.bytes(project.stored_bytes)}), datasets, metrics, runs, queues and keys go with it. Programs that send to it are refused at once. That cannot be undone.`}</p>
      <label>{`Type its name, ${project.name}, to go on`}<input class="input" value={typed} spellcheck={false} autocomplete="off" onInput={(e) => setTyped(e.currentTarget.value)} /></label>
    </FormDialog>
  );
}
