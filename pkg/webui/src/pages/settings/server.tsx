// The server: how it is, read again every few seconds while somebody looks, and on demand what takes space and what retention would remove.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, text } from "../../api/client.ts";
import type { GetServerSpaceAnswer, ListRetentionAnswer, PreviewRetentionAnswer, Retention, ServerStatus } from "../../api/types.gen.ts";
import { allows, me } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { Copy, Problem, useLoaded } from "../../parts/common.tsx";
import { useWork } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { PlainTable, type PlainColumn } from "../../parts/plaintable.tsx";

/** How often the status is read while the page is seen, in milliseconds. */
const every = 5000;

export function ServerTab() {
  const status = useLoaded("status", (signal) => call<ServerStatus>("v1/server/status", { signal }));
  useEffect(() => {
    const again = () => { if (!document.hidden) status.reload(); };
    const timer = setInterval(again, every);
    document.addEventListener("visibilitychange", again);
    return () => { clearInterval(timer); document.removeEventListener("visibilitychange", again); };
  }, []);
  const s = status.value;
  if (!s) return status.error ? <Problem error={status.error} retry={status.reload} /> : null;
  return (
    <>
      <div class="settings-head">
        <p class="secondary">{status.error ? <span class="bad" role="alert">{`Not read since ${clock(s.time)}: ${format.messageOf(status.error)}`}</span>
          : s.covers === "server" ? `As of ${clock(s.time)}, read again every ${every / 1000} seconds.` : `As of ${clock(s.time)}. Figures of other projects are for keys of scope admin.`}</p>
        <Copy text={() => text("v1/server/diagnosis")} label="Copy diagnosis without content" />
      </div>
      {s.problems.length === 0 ? <p class="notice"><Icon name="check" small tint="good" /> Nothing is wrong.</p>
        : s.problems.map((p) => <p key={p.code} class={`notice ${p.severity === "error" ? "bad" : ""}`}><Icon name="alert" small tint={p.severity === "error" ? "bad" : "warn"} />{` ${sentence(p.message)} `}<code>{p.code}</code></p>)}
      <div class="server-parts">
        <Process of={s} />
        <Store of={s} />
        <Writes of={s} />
        <Waits of={s} />
      </div>
      <Refused of={s} />
      {allows("admin") && <Space />}
      <Rules />
    </>
  );
}

const clock = (time: string) => format.time(Date.parse(time)).slice(11, 19);
const sentence = (message: string) => message.charAt(0).toUpperCase() + message.slice(1) + ".";

/** Facts under a heading; those that are not known are left out. */
function Facts({ title, facts }: { title: string; facts: [name: string, value: ComponentChildren | undefined][] }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <dl>{facts.map(([name, value]) => value !== undefined && <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </section>
  );
}

function Process({ of: { server: p, configuration: c } }: { of: ServerStatus }) {
  return (
    <Facts title="Server" facts={[
      ["Version", `${p.version}, ${p.os}/${p.arch}, ${p.go_version}`],
      ["Started", `${format.time(Date.parse(p.started_at)).slice(0, 19)}, ${format.duration(p.uptime_s * 1000)} ago`],
      ["Memory", `${format.bytes(p.memory_bytes)}, ${format.bytes(p.heap_bytes)} of objects${p.memory_limit ? `; collected harder from ${format.bytes(p.memory_limit)} on` : ""}`],
      ["Goroutines", `${format.count(p.goroutines)} on ${p.gomaxprocs} of ${format.plural(p.cpus, "processor")}`],
      ["Listens for", c && [...new Set(c.listeners.map((l) => `${l.serves}${l.tls ? " (TLS)" : ""}`))].join(", ")],
    ]} />
  );
}

function Store({ of: { store: d, contents: c, covers } }: { of: ServerStatus }) {
  return (
    <Facts title="Store" facts={[
      ["Database", d?.kind ? `${d.kind === "sqlite" ? "SQLite" : "PostgreSQL"} ${d.version}${d.database_bytes != null ? `, ${format.bytes(d.database_bytes)}` : ""}` : undefined],
      ["Directory", d?.directory && <code>{d.directory}</code>],
      ["Disk", d?.disk && `${format.bytes(d.disk.free_bytes)} free of ${format.bytes(d.disk.total_bytes)}`],
      ["Writable", d?.write_check && (d.write_check.ok ? `yes, in ${format.duration(d.write_check.took_ms)}` : <span class="bad">{`no: ${d.write_check.reason}`}</span>)],
      ["Events", c && `${format.count(c.events)} in ${format.plural(c.sessions, "session")}`],
      ["Stored", c && `${format.bytes(c.stored_bytes)}${covers === "server" ? ` in ${format.plural(c.projects, "project")}` : ` in ${me.value!.project.name}`}`],
    ]} />
  );
}

function Writes({ of: { ingest: i, commits: c, queue: q } }: { of: ServerStatus }) {
  return (
    <Facts title="Writes" facts={[
      ["Ingest", i && `${format.count(i.events.per_second_1m)} events/s over a minute, ${format.count(i.events.per_second_5m)} over five`],
      ["Since the start", i && `${format.plural(i.events.total, "event")}: ${format.plural(i.spans.total, "span")}, ${format.count(i.native.total)} native`],
      ["Commits", c && (c.p50_ms === null || c.p99_ms === null ? "none in five minutes" : `p50 ${format.duration(c.p50_ms)}, p99 ${format.duration(c.p99_ms)}${c.count !== undefined ? `, ${format.count(c.count)} in five minutes` : ""}`)],
      ["Batch", c?.mean_events !== undefined ? `${format.count(c.mean_events)} events on average` : undefined],
      ["Failed commits", c?.failed !== undefined ? <span class={c.failed > 0 ? "warn" : ""}>{`${format.count(c.failed)} of ${format.count(c.total ?? 0)}`}</span> : undefined],
      ["Queue", q && `${format.plural(q.requests, "request")} of ${format.count(q.max_requests)}, ${format.plural(q.events, "event")}, ${format.bytes(q.bytes)} of ${format.bytes(q.max_bytes)}`],
      ["Found no room", q && (q.refused > 0 ? <span class="warn">{format.plural(q.refused, "request")}</span> : undefined)],
    ]} />
  );
}

function Waits({ of: { waiting: w, evaluations: e, index: x, packer: p } }: { of: ServerStatus }) {
  return (
    <Facts title="Waiting" facts={[
      ["Early updates", w && `${format.count(w.updates)} of ${format.count(w.max_updates)}`],
      ["Parts of logs", w && format.count(w.log_parts)],
      ["Evaluations", e && `${format.count(e.waiting)} wait, ${format.count(e.delayed)} delayed, ${format.plural(e.new_events, "event")} to look at`],
      ["Without a score", e && (e.failed + e.dead > 0 ? <span class={e.dead > 0 ? "warn" : ""}>{`${format.count(e.failed)} failed, ${format.count(e.dead)} given up`}</span> : "none")],
      ["Segments", x && `${format.count(x.segments)}, ${format.count(x.waiting_segments)} to build anew`],
      ["Read from rows", x && `${format.count(x.unsealed_events)} new events, ${format.count(x.changed_events)} changed`],
      ["Without words", x && `${format.plural(x.waiting_words, "segment")}, ${format.plural(x.waiting_text_events, "event")}`],
      ["Packer", p && `${format.plural(p.sessions, "session")}, ${format.count(p.due)} at rest`],
    ]} />
  );
}

function Refused({ of: { refusals } }: { of: ServerStatus }) {
  const columns: PlainColumn<ServerStatus["refusals"][number]>[] = [
    { label: "Reason", wide: true, cell: (r) => <>{r.reason} <span class="faint">{r.status}</span></> },
    { label: "Requests", right: true, cell: (r) => format.count(r.count) },
    { label: "Last", cell: (r) => <span title={format.time(Date.parse(r.last_at))}>{format.ago(Date.parse(r.last_at), Date.now())}</span> },
  ];
  return (
    <section class="settings-form">
      <h2>Refused since the start</h2>
      {refusals.length === 0 ? <p class="secondary">Nothing was refused.</p> : <PlainTable label="Refusals" columns={columns} rows={refusals} rowId={(r) => String(r.status)} />}
    </section>
  );
}

const kinds: Record<string, string> = {
  heads: "Rows of events", payload: "Inputs and outputs", sessions: "Sessions", logs: "What waits for its event", segments: "Columns", words: "Index of words", evaluations: "Evaluations",
  fields: "Index of fields", resources: "All else", indexes: "Indexes", free: "Free in the files",
};

function Space() {
  const [asked, setAsked] = useState(false);
  const space = useLoaded(asked ? "space" : null, (signal) => call<GetServerSpaceAnswer>("v1/server/space", { signal }));
  const s = space.value;
  const most = Math.max(1, ...(s?.kinds ?? []).map((k) => k.bytes));
  return (
    <section class="settings-form">
      <h2>What takes space</h2>
      {!asked && <div><button type="button" class="button" onClick={() => setAsked(true)}>Count by kind</button></div>}
      {space.loading && <p role="status">Counting…</p>}
      {space.error ? <Problem error={space.error} retry={space.reload} /> : null}
      {s && (
        <>
          <p>{`${format.bytes(s.bytes)}, counted at ${clock(s.counted_at)} in ${format.duration(s.took_ms)}. `}<button type="button" class="button plain" disabled={space.loading} onClick={space.reload}>Count again</button></p>
          <ul class="day-bars kind-bars">
            {s.kinds.map((k) => <li key={k.kind}><span class="faint">{kinds[k.kind] ?? k.kind}</span><span class="bar" style={{ width: `${(k.bytes / most) * 50}%` }} /><span>{format.bytes(k.bytes)}</span></li>)}
          </ul>
        </>
      )}
    </section>
  );
}

/** The most rules that the page shows. */
const mostRules = 1000;

type Rule = ListRetentionAnswer["projects"][number];

function Rules() {
  const [open, setOpen] = useState(false);
  const rules = useLoaded(open ? "rules" : null, (signal) => call<ListRetentionAnswer>(`v1/server/retention?limit=${mostRules}`, { signal }));
  const columns: PlainColumn<Rule>[] = [
    { label: "Project", wide: true, cell: (r) => r.name },
    { label: "Keeps", cell: (r) => keeps(r.effective) },
    ...(allows("admin") ? [{ label: "Would remove now", cell: (r: Rule) => <Removal of={r} /> }] : []),
  ];
  return (
    <section class="settings-form">
      <h2>Retention</h2>
      {!open && <div><button type="button" class="button" onClick={() => setOpen(true)}>Show the rules</button></div>}
      {rules.error ? <Problem error={rules.error} retry={rules.reload} /> : null}
      {rules.value && <PlainTable label="Rules of retention" columns={columns} rows={rules.value.projects} rowId={(r) => r.project_id} />}
      {rules.value && rules.value.projects.length >= mostRules && <p class="secondary">{`The rules of the oldest ${mostRules} projects are shown.`}</p>}
    </section>
  );
}

function keeps(r: Retention): string {
  const parts = [
    r.event_days ? `events for ${format.plural(r.event_days, "day")}` : "",
    r.payload_days ? `inputs and outputs for ${format.plural(r.payload_days, "day")}` : "",
    r.bytes ? `${format.bytes(r.bytes)}${r.payload_first ? ", inputs and outputs go first" : ""}` : "",
  ].filter(Boolean);
  return parts.length === 0 ? "everything" : parts.join(", ");
}

/** What a rule would remove, once somebody asks. */
function Removal({ of: rule }: { of: Rule }) {
  const [counted, setCounted] = useState<{ text: string; at: number } | null>(null);
  const { busy, problem, run } = useWork();
  const count = () => run(async () => {
    const { removes: r } = await call<PreviewRetentionAnswer>(`v1/projects/${encodeURIComponent(rule.project_id)}/retention/preview`, { method: "POST", body: {} });
    const nothing = r.sessions + r.events + r.payloads === 0;
    setCounted({ text: nothing ? "nothing" : `${format.plural(r.sessions, "session")}, ${format.plural(r.events, "event")}, ${format.plural(r.payloads, "payload")}, ${format.bytes(r.bytes)}`, at: Date.now() });
  });
  return (
    <>
      {problem && <span class="bad" role="alert">{problem}</span>}
      {counted && <span title={`counted at ${format.time(counted.at).slice(11, 19)}`}>{counted.text} </span>}
      <button type="button" class="button" disabled={busy} onClick={() => void count()}>{counted ? "Count again" : "Count"}</button>
    </>
  );
}
