// The audit log: who did what, in all projects.
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { AuditEntry, ListAuditAnswer } from "../../api/types.gen.ts";
import { route, setParams } from "../../app/router.ts";
import { allows, me } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { PlainTable, type PlainColumn } from "../../parts/plaintable.tsx";
import { dateRange, RangePicker } from "../../parts/range.tsx";
import { Needs } from "./common.tsx";

const pageSize = 100;

const columns: PlainColumn<AuditEntry>[] = [
  { label: "Time", cell: (e) => <span title={e.count > 1 ? "of the first" : undefined}>{format.time(Date.parse(e.time)).slice(0, 19)}</span> },
  { label: "Action", cell: (e) => <button type="button" class="value" title="Only these" onClick={() => setParams({ action: e.action, page: null })}>{e.action}</button> },
  { label: "Outcome", cell: (e) => <span class={e.outcome === "SUCCESS" ? "" : "bad"}>{e.outcome}{e.count > 1 && ` × ${format.count(e.count)}`}</span> },
  { label: "Target", wide: true, cell: (e) => <code>{e.target ?? "–"}</code> },
  { label: "Project", cell: (e) => <code>{e.project_id === me.value?.project.id ? me.value?.project.name : e.project_id ?? "–"}</code> },
  { label: "Key", cell: (e) => <code title={e.key_id}>{e.key_id?.slice(0, 8) ?? "–"}</code> },
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
  const entries = useLoaded(admin ? [action, own, range, page].join(" ") : null, async (signal) => {
    const answer = await call<ListAuditAnswer>(`v1/audit?${query}`, { signal });
    setKnown((k) => [...new Set([...k, ...answer.entries.map((e) => e.action)])].sort());
    return answer.entries;
  });
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
      {entries.error ? <Problem error={entries.error} retry={entries.reload} /> : list.length === 0 && !entries.loading ? <Empty title="No entry matches" /> : <PlainTable label="Audit log" columns={columns} rows={list} rowId={(e) => `${e.time} ${e.action} ${e.target ?? ""} ${e.outcome}`} />}
      <div class="form-end">
        {page > 1 && <button type="button" class="button" onClick={() => setParams({ page: page > 2 ? String(page - 1) : null })}>Newer</button>}
        {list.length === pageSize && <button type="button" class="button" onClick={() => setParams({ page: String(page + 1) })}>Older</button>}
      </div>
    </>
  );
}
