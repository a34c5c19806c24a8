// The project that the browser acts in: its name, what it may use, how long its events are kept, and what it has stored.
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { GetIndexAnswer, GetLimitsAnswer, GetRetentionAnswer, GetUsageAnswer, Limits, PreviewRetentionAnswer, Project, Retention } from "../../api/types.gen.ts";
import { allows, loadMe, me } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { Copy, Problem, useLoaded } from "../../parts/common.tsx";
import { Needs, projectPath } from "./common.tsx";
import { changesOf, useWork } from "../../parts/form.tsx";

export function ProjectTab() {
  const project = useLoaded("project", async (signal) => (await call<Project[]>(`v1/projects?name=${encodeURIComponent(me.value!.project.name)}`, { signal }))[0]);
  if (project.error) return <Problem error={project.error} retry={project.reload} />;
  if (!project.value) return null;
  if (!allows("admin")) return <><p>{`${project.value.name}: ${project.value.description || "no description"}`}</p><Needs what="To change the project, or see its limits, retention and usage," /></>;
  return (
    <>
      <Identity of={project.value} onChange={project.reload} />
      <RetentionForm />
      <LimitsForm />
      <Stored />
    </>
  );
}

function Identity({ of: project, onChange }: { of: Project; onChange: () => void }) {
  const [name, setName] = useState(project.name);
  const [description, setDescription] = useState(project.description);
  const { busy, problem, run } = useWork();
  const save = () => run(async () => {
    await call("v1/projects", { method: "PUT", body: { project_id: project.id, ...changesOf({ name: project.name, description: project.description }, { name: name.trim(), description }) } });
    await loadMe();
    onChange();
  });
  const changed = name !== project.name || description !== project.description;
  return (
    <form class="settings-form" onSubmit={(e) => { e.preventDefault(); void save(); }}>
      <h2>Project</h2>
      <p class="secondary">Programs name it in their requests: a new name needs a change in them. Its id stays: <code>{project.id}</code><Copy text={project.id} label="Copy the id" plain /></p>
      <label>Name<input class="input" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
      <label>Description<textarea class="input" rows={2} maxLength={10_000} value={description} onInput={(e) => setDescription(e.currentTarget.value)} /></label>
      {problem && <p class="bad" role="alert">{problem}</p>}
      <div><button type="submit" class="button" disabled={busy || !changed}>Save</button></div>
    </form>
  );
}

const numberOf = (text: string): number | null => (text.trim() === "" ? null : Number(text));
const textOf = (n: number | null | undefined): string => (n === null || n === undefined ? "" : String(n));
const gigabyte = 2 ** 30;

function RetentionForm() {
  const rule = useLoaded("retention", (signal) => call<GetRetentionAnswer>(projectPath("retention"), { signal }));
  if (rule.error) return <Problem error={rule.error} retry={rule.reload} />;
  return rule.value && <RetentionFields key={JSON.stringify(rule.value)} rule={rule.value} onChange={rule.reload} />;
}

function RetentionFields({ rule, onChange }: { rule: GetRetentionAnswer; onChange: () => void }) {
  const [days, setDays] = useState(textOf(rule.retention.event_days));
  const [payload, setPayload] = useState(textOf(rule.retention.payload_days));
  const [size, setSize] = useState(rule.retention.bytes ? String(rule.retention.bytes / gigabyte) : textOf(rule.retention.bytes));
  const [first, setFirst] = useState(rule.retention.payload_first ?? false);
  const [preview, setPreview] = useState<{ of: string; removes: PreviewRetentionAnswer["removes"] } | null>(null);
  const { busy, problem, run } = useWork();
  const bytes = numberOf(size);
  const body: Retention = { event_days: numberOf(days), payload_days: numberOf(payload), bytes: bytes === null ? null : Math.round(bytes * gigabyte), payload_first: first };
  const key = JSON.stringify(body);
  const known = preview?.of === key ? preview.removes : null;
  const count = () => run(async () => setPreview({ of: key, removes: (await call<PreviewRetentionAnswer>(projectPath("retention/preview"), { method: "POST", body })).removes }));
  const save = () => run(async () => {
    await call(projectPath("retention"), { method: "PUT", body });
    onChange();
  });
  const standard = (n: number | null | undefined, unit: string) => (n ? `${format.count(n)} ${unit}` : "for good");
  return (
    <form class="settings-form" onSubmit={(e) => { e.preventDefault(); void (known ? save() : count()); }}>
      <h2>Retention</h2>
      <p class="secondary">{`In force: sessions ${standard(rule.effective.event_days, "days")}, inputs and outputs ${standard(rule.effective.payload_days, "days")}, ${rule.effective.bytes ? `at most ${format.bytes(rule.effective.bytes)}` : "of any size"}. An empty field is the server's default, 0 keeps for good.`}</p>
      <div class="triple">
        <label>Sessions, days<input class="input" type="number" min="0" max="36500" step="1" value={days} onInput={(e) => setDays(e.currentTarget.value)} /></label>
        <label>Inputs and outputs, days<input class="input" type="number" min="0" max="36500" step="1" value={payload} onInput={(e) => setPayload(e.currentTarget.value)} /></label>
        <label>At most, GB<input class="input" type="number" min="0" step="any" value={size} onInput={(e) => setSize(e.currentTarget.value)} /></label>
      </div>
      <label class="check"><input type="checkbox" checked={first} onChange={(e) => setFirst(e.currentTarget.checked)} />Where the size is exceeded, inputs and outputs go before any session</label>
      {problem && <p class="bad" role="alert">{problem}</p>}
      {known && <p role="status" class={known.sessions + known.payloads > 0 ? "warn" : ""}>{known.sessions + known.payloads > 0
        ? `This rule removes ${format.plural(known.sessions, "session")} with ${format.plural(known.events, "event")}, and inputs and outputs of ${format.plural(known.payloads, "more event")}: ${format.bytes(known.bytes)}. That cannot be undone.`
        : "This rule removes nothing now."}</p>}
      <div><button type="submit" class={`button${known && known.sessions + known.payloads > 0 ? " danger" : ""}`} disabled={busy}>{known ? "Set this rule" : "Count what it would remove"}</button></div>
    </form>
  );
}

const limitLabels: [name: keyof Limits, label: string][] = [
  ["requests_per_second", "Requests a second"], ["request_burst", "Requests at once"], ["key_requests_per_second", "Requests a second, each key"], ["key_request_burst", "Requests at once, each key"],
  ["bytes_per_second", "Bytes a second"], ["byte_burst", "Bytes at once"], ["stored_bytes", "Bytes stored"], ["evaluation_slots", "Evaluations at once"], ["judge_usd_per_day", "Dollars for judges a day"],
];

function LimitsForm() {
  const limits = useLoaded("limits", (signal) => call<GetLimitsAnswer>(projectPath("limits"), { signal }));
  if (limits.error) return <Problem error={limits.error} retry={limits.reload} />;
  return limits.value && <LimitFields key={JSON.stringify(limits.value.limits)} of={limits.value} onChange={limits.reload} />;
}

function LimitFields({ of: limits, onChange }: { of: GetLimitsAnswer; onChange: () => void }) {
  const [opened] = useState<Record<string, string>>(Object.fromEntries(limitLabels.map(([name]) => [name, textOf(limits.limits[name])])));
  const [values, setValues] = useState(opened);
  const { busy, problem, run } = useWork();
  const save = () => run(async () => {
    await call(projectPath("limits"), { method: "PUT", body: Object.fromEntries(Object.entries(changesOf(opened, values)).map(([name, v]) => [name, numberOf(v ?? "")])) });
    onChange();
  });
  return (
    <form class="settings-form" onSubmit={(e) => { e.preventDefault(); void save(); }}>
      <h2>Limits</h2>
      <p class="secondary">An empty field is the server's default, which stands in it; 0 is no bound.</p>
      <div class="triple">
        {limitLabels.map(([name, label]) => (
          <label key={name}>{label}<input class="input" type="number" min="0" step="any" placeholder={textOf(limits.effective[name]) || "0"} value={values[name]} onInput={(e) => setValues({ ...values, [name]: e.currentTarget.value })} /></label>
        ))}
      </div>
      {problem && <p class="bad" role="alert">{problem}</p>}
      <div><button type="submit" class="button" disabled={busy}>Save</button></div>
    </form>
  );
}

function Stored() {
  const [asked, setAsked] = useState(false);
  const usage = useLoaded(asked ? "usage" : null, (signal) => call<GetUsageAnswer>(projectPath("usage"), { signal }));
  const index = useLoaded("index", (signal) => call<GetIndexAnswer>(projectPath("index"), { signal }));
  const u = usage.value;
  const i = index.value;
  const most = Math.max(1, ...(u?.days ?? []).map((d) => d.head_bytes + d.payload_bytes));
  return (
    <section class="settings-form">
      <h2>What is stored</h2>
      {i && <p class="secondary">{`${format.count(i.events)} events in ${format.plural(i.segments, "segment")} of columns (${format.bytes(i.bytes)}), ${format.count(i.unsealed_events)} newer ones read from rows, ${format.count(i.waiting_events)} wait to be built again, ${format.count(i.waiting_text_events)} wait for the index of words.`}</p>}
      {!asked && <div><button type="button" class="button" onClick={() => setAsked(true)}>Count by day and kind</button></div>}
      {usage.loading && <p role="status">Counting…</p>}
      {usage.error ? <Problem error={usage.error} retry={usage.reload} /> : null}
      {u && (
        <>
          <p>{`${format.plural(u.sessions, "session")}, ${format.plural(u.events, "event")}, ${format.bytes(u.stored_bytes)}: heads ${format.bytes(u.head_bytes)}, inputs and outputs ${format.bytes(u.payload_bytes)}, log records that wait ${format.bytes(u.log_bytes)}.`}</p>
          <ul class="day-bars">
            {u.days.slice(-60).map((d) => (
              <li key={d.day}><span class="faint">{d.day}</span><span class="bar" style={{ width: `${((d.head_bytes + d.payload_bytes) / most) * 60}%` }} /><span>{`${format.bytes(d.head_bytes + d.payload_bytes)}, ${format.plural(d.events, "event")}`}</span></li>
            ))}
          </ul>
          {u.days.length > 60 && <p class="secondary">{`${u.days.length - 60} earlier days are not shown.`}</p>}
        </>
      )}
    </section>
  );
}
