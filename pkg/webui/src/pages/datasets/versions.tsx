// What a dataset was: its versions, how two of them differ, and which runs used which.
import { useEffect, useState } from "preact/hooks";
import { call, text } from "../../api/client.ts";
import type { GetDatasetDiffAnswer, ListDatasetVersionsAnswer, ListRunsAnswer } from "../../api/types.gen.ts";
import { go, href, route, setParams } from "../../app/router.ts";
import * as format from "../../model/format.ts";
import { elements, members, pretty, shown } from "../../model/raw.ts";
import { rowHeight } from "../../parts/columnmenu.tsx";
import { Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { useWork } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Table, type Column } from "../../parts/table.tsx";
import { TextDiff } from "../../parts/textdiff.tsx";

type Run = ListRunsAnswer["evaluations"][number];
type Edit = GetDatasetDiffAnswer["rows"][number] & { raw: Map<string, string> }; // before and after as they are stored

const most = 1000; // runs and versions that are shown, the newest

const loadRuns = (id: string) => async (signal: AbortSignal) => {
  const runs: Run[] = [];
  for (let page = 1; runs.length === 100 * (page - 1) && runs.length < most; page++) runs.push(...(await call<ListRunsAnswer>(`v1/runs?dataset_id=${encodeURIComponent(id)}&ids=false&limit=100&page=${page}`, { signal })).evaluations);
  return runs;
};
const date = (text: string | null | undefined) => (text ? <span class="faint" title={format.time(Date.parse(text))}>{format.shortTime(Date.parse(text), Date.now())}</span> : null);

export function Versions({ id, current }: { id: string; current: number }) {
  const { params } = route.value;
  const to = Number(params.get("to")) || current;
  const from = Number(params.get("from")) || Math.max(1, to - 1);
  const only = params.get("change") ?? "";
  const list = useLoaded(`${id} ${current}`, async (signal) => (await call<ListDatasetVersionsAnswer>(`v1/datasets/${encodeURIComponent(id)}/versions?limit=${most}`, { signal })).versions);
  const runs = useLoaded(id, loadRuns(id));
  const [more, setMore] = useState<{ key: string; rows: Edit[]; cursor: string | null }>({ key: "", rows: [], cursor: null });
  const key = `${id} ${from} ${to} ${only}`;
  const ask = async (cursor: string | null, signal?: AbortSignal) => {
    const whole = await text(`v1/datasets/${encodeURIComponent(id)}/diff?${new URLSearchParams(Object.entries({ from: String(from), to: String(to), change: only, cursor: cursor ?? "" }).filter(([, v]) => v))}`, signal ? { signal } : {});
    const answer = JSON.parse(whole) as GetDatasetDiffAnswer;
    const raw = elements(members(whole).get("rows")!);
    return { ...answer, rows: answer.rows.map((r, i): Edit => ({ ...r, raw: members(raw[i]!) })) };
  };
  const diff = useLoaded(key, (signal) => ask(null, signal));
  const d = diff.value;
  const own = more.key === key ? more : { key, rows: [], cursor: d?.next_cursor ?? null };
  const rows = [...(d?.rows ?? []), ...own.rows];
  const showMore = async () => {
    const a = await ask(own.cursor);
    setMore({ key, rows: [...own.rows, ...a.rows], cursor: a.next_cursor });
  };
  const versions = list.value ?? [];
  const pick = (name: string, v: number) => <select class="input" aria-label={name} value={String(v)} onChange={(e) => setParams({ [name]: e.currentTarget.value })}>
    {!versions.some((x) => x.version === v) && <option value={String(v)}>{`v${v}`}</option>}
    {versions.map((x) => <option key={x.version} value={String(x.version)}>{`v${x.version}`}</option>)}
  </select>;
  return (
    <div class="split versions">
      <aside class="facets" aria-label="Versions">
        <header><h2 class="grow">Versions</h2></header>
        <div class="scroll">
          {list.error ? <Problem error={list.error} retry={list.reload} /> : versions.map((v) => {
            const used = (runs.value ?? []).filter((r) => r.dataset_version === v.version).length;
            return (
              <section key={v.version}>
                <h3><button type="button" aria-pressed={v.version === to} title="What changed in it" onClick={() => setParams({ to: String(v.version), from: String(Math.max(1, v.version - 1)), change: null })}><b>{`v${v.version}`}</b>{date(v.created_at)}</button>
                  {used > 0 && <a href={href(["datasets", id], { view: "runs" })}>{format.plural(used, "run")}</a>}
                  <a href={href(["datasets", id], { version: v.version === current ? null : String(v.version) })} aria-label={`Open v${v.version}`}>open</a></h3>
              </section>
            );
          })}
          {versions.length === most && <p class="faint">The newest 1,000; the address takes any as from and to</p>}
        </div>
      </aside>
      <div class="main">
        {diff.loading && <div class="progress" role="progressbar" aria-label="Loading" />}
        <div class="filters">
          <span>From</span>{pick("from", from)}<span>to</span>{pick("to", to)}
          {d && (["added", "removed", "changed"] as const).map((c) => <button key={c} type="button" class={`button ${c}`} aria-pressed={only === c} disabled={d[c] === 0} onClick={() => setParams({ change: only === c ? null : c })}>{`${format.count(d[c])} ${c}`}</button>)}
        </div>
        <div class="scroll edits">
          {diff.error ? <Problem error={diff.error} retry={diff.reload} /> : d && rows.length === 0 && <Empty title={from === to ? "Choose two versions" : "No datapoint differs"}><p>Only the order, or the dataset's own fields, may have changed.</p></Empty>}
          {rows.map((r) => <EditView key={r.datapoint_id} edit={r} />)}
          {own.cursor && <ShowMore key={key} of={(d?.added ?? 0) + (d?.removed ?? 0) + (d?.changed ?? 0)} onMore={showMore} />}
        </div>
      </div>
    </div>
  );
}

function ShowMore({ of, onMore }: { of: number; onMore: () => Promise<void> }) {
  const { busy, problem, run } = useWork();
  return <><button type="button" class="button" disabled={busy} onClick={() => void run(onMore)}>{`Show more of ${format.count(of)}`}</button>{problem && <p class="bad" role="alert">{problem}</p>}</>;
}

type Contents = NonNullable<Edit["before"]>;

/** What a field of a datapoint says: a key of a part, or a part. */
function textOf(of: string | undefined, field: string): string {
  const [, part = field, key] = /^(.+?)\.([^]*)$/.exec(field) ?? [];
  const whole = members(of ?? "{}").get(part);
  const v = key === undefined ? whole : members(whole ?? "{}").get(key);
  return v === undefined ? "" : v.startsWith('"') ? shown(v) : pretty(v);
}

function fieldsOf(c: Contents): string[] {
  return [...(["inputs", "ground_truth", "metadata"] as const).flatMap((p) => Object.keys(c[p]).map((k) => `${p}.${k}`)), ...(c.history.length > 0 ? ["history"] : [])];
}

const signs = { added: "plus", removed: "close", changed: "fold" } as const;

function EditView({ edit: e }: { edit: Edit }) {
  const fields = e.fields ?? fieldsOf((e.after ?? e.before)!);
  const [before, after] = [e.raw.get("before"), e.raw.get("after")];
  const gone = e.before?.deleted || e.after?.deleted;
  return (
    <details class={e.change} open={e.change === "changed"}>
      <summary><Icon name={signs[e.change]} small /><b>{e.change}</b><span class="ellipsis grow">{e.fields ? e.fields.join(", ") : textOf(after ?? before, fields[0] ?? "")}</span><span class="faint mono">{e.datapoint_id}</span></summary>
      {gone && <p class="warn">It is deleted by now: of what it said nothing is left.</p>}
      {fields.map((f) => <div key={f}><h3>{f}</h3><TextDiff left={textOf(before, f)} right={textOf(after, f)} /></div>)}
    </details>
  );
}

const countedAtOnce = 10;

/** How many datapoints runs came to, as experiments count them, by their ids; some runs at a time. */
function useCounts(runs: Run[]): Map<string, number> {
  const [counts, setCounts] = useState(new Map<string, number>());
  const ids = runs.map((r) => r.run_id).join();
  useEffect(() => {
    const stop = new AbortController();
    const count = async () => {
      for (const rest = ids.split(",").filter(Boolean); rest.length > 0;) {
        const asked = rest.splice(0, countedAtOnce);
        const { evaluations } = await call<ListRunsAnswer>(`v1/runs?${new URLSearchParams({ run_ids: asked.join(), aggregates: "true", ids: "false", limit: String(countedAtOnce) })}`, { signal: stop.signal });
        const of = new Map(evaluations.map((r) => [r.run_id, r.aggregates?.datapoints ?? 0]));
        setCounts((before) => new Map([...before, ...asked.map((id) => [id, of.get(id) ?? 0] as const)]));
      }
    };
    count().catch(() => {}); // those that are not counted stay "…"
    return () => stop.abort();
  }, [ids]);
  return counts;
}

export function Runs({ id, current }: { id: string; current: number }) {
  const selected = route.value.params.get("s");
  const runs = useLoaded(id, loadRuns(id));
  const list = runs.value ?? [];
  const counts = useCounts(list);
  const columns: Column<Run>[] = [
    { id: "version", label: "Version", width: 110, cell: (r) => (r.dataset_version ? <a href={href(["datasets", id], { version: r.dataset_version === current ? null : String(r.dataset_version) })}>{`v${r.dataset_version}${r.dataset_version === current ? ", current" : ""}`}</a> : <span class="faint">–</span>) },
    { id: "name", label: "Run", width: 200, grow: 2, cell: (r) => <a class="strong ellipsis" href={href(["experiments", r.run_id])}>{r.name || r.run_id}</a> },
    { id: "status", label: "Status", width: 100, cell: (r) => r.status },
    { id: "points", label: "Datapoints", width: 100, right: true, cell: (r) => { const n = counts.get(r.run_id); return n === undefined ? <span class="faint">…</span> : format.count(n); } },
    { id: "created", label: "Created", width: 120, cell: (r) => date(r.created_at) },
  ];
  if (runs.error) return <Problem error={runs.error} retry={runs.reload} />;
  if (runs.value && list.length === 0) return <Empty title="No run has used it yet"><p>An experiment over this dataset records the version that it ran with.</p><code>spangrove eval</code></Empty>;
  return <div class="main fill">{runs.loading && <div class="progress" role="progressbar" aria-label="Loading" />}<Table label="Runs" columns={columns} rows={list} rowId={(r) => r.run_id} rowHeight={rowHeight()} selected={selected} onSelect={(s) => setParams({ s }, true)} onOpen={(r) => go(href(["experiments", r]))} total={list.length} />
    <div class="foot" role="status">{`${format.plural(list.length, "run")}${list.length === most ? ", the newest" : ""}`}</div></div>;
}
