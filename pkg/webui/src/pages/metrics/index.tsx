// Metrics: what gives events scores, where each runs, and how its scores go.
import { useLayoutEffect } from "preact/hooks";
import type { Metric } from "../../api/types.gen.ts";
import { addCommands } from "../../app/keymap.ts";
import { go, href, route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { eventsText, passes, types, where } from "../../model/metric.ts";
import { Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { Table, type Column } from "../../parts/table.tsx";
import { readMetrics } from "../scorerun.tsx";
import { Library } from "./library.tsx";
import { MetricPage } from "./metric.tsx";
import { Button, Choice, Find, Trend } from "./parts.tsx";

export function Page({ path: [id] }: { path: string[] }) {
  if (id === "library") return <Library />;
  return id ? <MetricPage key={id} id={id} /> : <List />;
}

const columns: Column<Metric>[] = [
  { id: "name", label: "Metric", width: 200, grow: 2, cell: (m) => <><a class="ellipsis strong" tabIndex={-1} href={href(["metrics", m.id])}>{m.name}</a><span class="chip">{types[m.type].label}</span></> },
  { id: "trend", label: "Last 14 days", width: 170, cell: (m) => (/^[fb]/.test(m.return_type) ? <Trend name={m.name} rate={m.return_type === "boolean"} /> : <span class="faint">{m.return_type}</span>) },
  { id: "where", label: "Runs over", width: 150, cell: (m) => <span class={m.enabled_in_prod && m.type !== "HUMAN" ? "good" : "faint"}>{where(m)}</span> },
  { id: "events", label: "Events", width: 160, grow: 1, cell: (m) => { const t = eventsText(m); return t ? <code class="ellipsis" title={t}>{t}</code> : <span class="faint">all but sessions</span>; } },
  { id: "passes", label: "Passes", width: 130, cell: (m) => <span class="ellipsis" title={passes(m.threshold)}>{passes(m.threshold) || "–"}</span> },
  { id: "version", label: "Version", width: 70, cell: (m) => m.version },
  { id: "changed", label: "Changed", width: 100, cell: (m) => <span class="faint">{format.ago(Date.parse(m.updated_at ?? m.created_at), Date.now())}</span> },
];

function List() {
  const { params } = route.value;
  const [query, type, selected] = [params.get("q") ?? "", params.get("type") ?? "", params.get("s")];
  const metrics = useLoaded("metrics", readMetrics);
  const list = metrics.value ?? [];
  const rows = list.filter((m) => (type === "" || m.type === type) && `${m.name}\n${m.description}`.toLowerCase().includes(query.toLowerCase()));
  const at = rows.findIndex((m) => m.id === selected);
  const select = (id: string | undefined) => { if (id) setParams({ s: id }, true); };
  const open = (id: string | null) => { if (id) go(href(["metrics", id])); };
  useLayoutEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Next metric", group: "List", run: () => select(rows[Math.min(rows.length - 1, at + 1)]?.id) },
    { id: "previous", keys: ["k", "arrowup"], label: "Previous metric", group: "List", run: () => select(rows[Math.max(0, at - 1)]?.id) },
    { id: "open", keys: ["enter"], label: "Open the metric", group: "List", run: () => open(selected) },
    { id: "library", keys: ["shift+l"], label: "Ready-made metrics", group: "List", run: () => open("library") },
    ...(allows("full") ? [{ id: "new", keys: ["n"], label: "New metric", group: "List", run: () => open("new") }] : []),
  ]), [metrics.value, query, type, selected]);
  return (
    <div class="page">
      {metrics.loading && <div class="progress" role="progressbar" aria-label="Loading" />}
      <header><h1>Metrics</h1><span class="grow" /><Button label="Ready-made" on={() => open("library")} />{allows("full") && <Button label="New metric" kind="primary" on={() => open("new")} />}</header>
      <div class="filters"><Find query={query} /><Choice label="" aria-label="Type" value={type} on={(v) => setParams({ type: v })} options={[["", "All types"], ...Object.entries(types).map(([name, t]) => [name, t.label] as const)]} /></div>
      {metrics.error && !metrics.value ? <Problem error={metrics.error} retry={metrics.reload} />
        : metrics.value && list.length === 0 ? (
          <Empty title="No metrics yet">
            <p>A metric gives events scores: an expression, Python, a model that judges, people, or several of these.</p>
            <Button label="Choose a ready-made one" kind="primary" on={() => open("library")} />
          </Empty>
        ) : metrics.value && rows.length === 0 ? <Empty title="No metric matches"><Button label={`Show all ${list.length}`} on={() => setParams({ q: null, type: null })} /></Empty>
        : <Table label="Metrics" columns={columns} rows={rows} rowId={(m) => m.id} rowHeight={36} selected={selected} onSelect={select} onOpen={open} total={rows.length} />}
      <div class="foot">{rows.length < list.length && `${rows.length} of `}{format.plural(list.length, "metric")}</div>
    </div>
  );
}
