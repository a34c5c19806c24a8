// The audit log: who did what, in all projects.
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { AuditEntry, Key, ListAuditAnswer, ListKeysAnswer, ListMetricsAnswer, Project } from "../../api/types.gen.ts";
import { route, setParams } from "../../app/router.ts";
import { allows, me } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { PlainTable, type PlainColumn } from "../../parts/plaintable.tsx";
import { dateRange, RangePicker } from "../../parts/range.tsx";
import { readConfigurations } from "../build/list.tsx";
import { Needs, projectPath } from "./common.tsx";

const pageSize = 100;

/** What entries name by ids. */
interface Names { keys: Map<string, Key>; others: Map<string, string> }

/** Reads the names of the keys, metrics and configurations of the project, and of all projects; of what cannot be read the ids are shown. */
async function readNames(signal: AbortSignal): Promise<Names> {
  const read = <T, U>(path: string, list: (answer: T) => U[]) => call<T>(path, { signal }).then(list, (): U[] => []);
  const [keys, projects, metrics, configurations] = await Promise.all([
    read(projectPath(`api_keys?limit=${mostNames}`), (a: ListKeysAnswer) => a.data), read(`v1/projects?limit=${mostNames}`, (a: Project[]) => a),
    read(`v1/metrics?limit=${mostNames}`, (a: ListMetricsAnswer) => a.metrics), readConfigurations(signal).catch(() => []),
  ]);
  return { keys: new Map(keys.map((k) => [k.key_id, k])), others: new Map([...projects, ...metrics, ...configurations].map((x) => [x.id, x.name])) };
}

const mostNames = 1000;

/** A key by its name and its first characters, where they are known. */
const keyText = (name: string, prefix: string) => <>{name} <code>{`${prefix}…`}</code></>;

/** The target of an action: its name, and what follows the id. */
function Target({ of, names }: { of: string; names: Names }) {
  const [, id = of, rest = ""] = /^([\w-]+)(.*)$/.exec(of) ?? [];
  const key = names.keys.get(id);
  const name = names.others.get(id);
  return key ? <span title={of}>{keyText(key.name, key.prefix)}</span> : name ? <span title={of}>{name}{rest && <code>{rest}</code>}</span> : <code>{of}</code>;
}

const columnsWith = (names: Names): PlainColumn<AuditEntry>[] => [
  { label: "Time", cell: (e) => <span title={e.count > 1 ? "of the first" : undefined}>{format.time(Date.parse(e.time)).slice(0, 19)}</span> },
  { label: "Action", cell: (e) => <button type="button" class="value" title="Only these" onClick={() => setParams({ action: e.action, page: null })}>{e.action}</button> },
  { label: "Outcome", cell: (e) => <span class={e.outcome === "SUCCESS" ? "" : "bad"}>{e.outcome}{e.count > 1 && ` × ${format.count(e.count)}`}</span> },
  { label: "Target", wide: true, cell: (e) => (e.target ? <Target of={e.target} names={names} /> : <span class="faint">–</span>) },
  { label: "Project", cell: (e) => { const name = names.others.get(e.project_id ?? ""); return name ? <span title={e.project_id}>{name}</span> : <code>{e.project_id ?? "–"}</code>; } },
  { label: "Key", cell: (e) => <span title={e.key_id}>{e.key_prefix ? keyText(e.key_name ?? "", e.key_prefix) : <code>{e.key_id?.slice(0, 8) ?? "–"}</code>}</span> },
  { label: "From", cell: (e) => e.remote_address ?? <span class="faint">–</span> },
];

export function AuditTab() {
  const admin = allows("admin");
  const { params } = route.value;
  const action = params.get("action") ?? "";
  const own = params.get("project") === "own";
  const range = params.get("range") ?? "7d";
  const page = Math.max(1, Number(params.get("page")) || 1);
  const [known, setKnown] = useState<string[]>([]);
  const query = new URLSearchParams({ limit: String(pageSize), page: String(page) });
  if (action) query.set("action", action);
  if (own) query.set("project_id", me.value!.project.id);
  const bounds = dateRange(range);
  if (bounds) query.set("dateRange", JSON.stringify(bounds));
  const key = admin ? [action, own, range, page].join(" ") : null;
  const entries = useLoaded(key, async (signal) => {
    const answer = await call<ListAuditAnswer>(`v1/audit?${query}`, { signal });
    setKnown((k) => [...new Set([...k, ...answer.entries.map((e) => e.action)])].sort());
    return answer.entries;
  });
  const names = useLoaded(key, readNames);
  if (!admin) return <Needs what="To read the audit log" />;
  const list = entries.value ?? [];
  return (
    <>
      <div class="settings-head">
        <label class="inline">Action
          <select class="input" value={action} onChange={(e) => setParams({ action: e.currentTarget.value || null, page: null })}>
            <option value="">all</option>
            {[...new Set([...known, ...(action ? [action] : [])])].map((a) => <option key={a}>{a}</option>)}
          </select>
        </label>
        <label class="check"><input type="checkbox" checked={own} onChange={(e) => setParams({ project: e.currentTarget.checked ? "own" : null, page: null })} />Only this project</label>
        <span class="grow" />
        <RangePicker range={range} onChange={(r) => setParams({ range: r, page: null })} />
      </div>
      {entries.error ? <Problem error={entries.error} retry={entries.reload} /> : list.length === 0 && !entries.loading ? <Empty title="No entry matches" /> : <PlainTable label="Audit log" columns={columnsWith(names.value ?? { keys: new Map(), others: new Map() })} rows={list} rowId={(e) => `${e.time} ${e.action} ${e.target ?? ""} ${e.outcome}`} />}
      <div class="form-end">
        {page > 1 && <button type="button" class="button" onClick={() => setParams({ page: page > 2 ? String(page - 1) : null })}>Newer</button>}
        {list.length === pageSize && <button type="button" class="button" onClick={() => setParams({ page: String(page + 1) })}>Older</button>}
      </div>
    </>
  );
}
