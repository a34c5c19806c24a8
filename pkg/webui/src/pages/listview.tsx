// What the lists of sessions and of events have in common: facets, columns of any field with their places in the address, and files of
// what is filtered.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { isAbort, send } from "../api/client.ts";
import type { Filter, SearchSessionsBody } from "../api/types.gen.ts";
import { route, setParams } from "../app/router.ts";
import { allows } from "../app/session.ts";
import { columnLabel, readColumns, valueAt, writeColumns } from "../model/columns.ts";
import { valuesIn, withValues } from "../model/filter.ts";
import { fieldsOf } from "../model/export.ts";
import * as format from "../model/format.ts";
import { ColumnMenu } from "../parts/columnmenu.tsx";
import { useLoaded } from "../parts/common.tsx";
import { Facets } from "../parts/facets.tsx";
import { Icon } from "../parts/icon.tsx";
import { Value, type Column } from "../parts/table.tsx";
import { facetValues, ownFacets } from "./completion.ts";
import { DeleteMatching } from "./deletematching.tsx";

/** The sessions of the list that was shown last, for going from one to the next without it. */
let listed: string[] = [];

export function rememberList(ids: string[]): void {
  listed = ids;
}

/** Returns the session that stands beside another in the list that was shown last. */
export function neighbour(id: string, by: number): string | null {
  const at = listed.indexOf(id);
  return at < 0 ? null : listed[at + by] ?? null;
}

/** Whether facets stand beside lists; the browser keeps it. */
export const facetsOpen = signal(localStorage.getItem("spangrove.facets") === "open");

export function toggleFacets(): void {
  facetsOpen.value = !facetsOpen.value;
  localStorage.setItem("spangrove.facets", facetsOpen.value ? "open" : "closed");
}

/** The facets beside a list. Those that were added are in the address. */
export function ListFacets({ of, query, also, range, turn, paths }: { of: "sessions" | "events"; query: string; also: Filter[]; range: string; turn: number; paths: string[] }) {
  const added = readColumns(route.value.params.get("facets")) ?? [];
  const set = (next: string[]) => setParams({ facets: writeColumns(next) }, true);
  return (
    <Facets facets={[...ownFacets[of], ...added.map((field) => ({ field, label: columnLabel(field) }))]} more={paths.filter((p) => !added.includes(p))}
      chosen={(field) => valuesIn(query, field)} load={(field, limit, signal) => facetValues(of, field, query, also, range, limit, signal)}
      version={JSON.stringify([query, also, range, turn])} onChoose={(field, values) => setParams({ q: withValues(query, field, values), s: null })}
      onAdd={(field) => set([...added, field])} onRemove={(field) => set(added.filter((f) => f !== field))} removable={(field) => added.includes(field)} onClose={toggleFacets} />
  );
}

export interface Columns<T> {
  columns: Column<T>[];
  paths: string[]; // those that the rows must have
  menu: preact.JSX.Element;
}

/** Chooses the columns of a list by its address: some of its own, and those of fields at a path. */
export function chooseColumns<T extends object>(standard: Column<T>[], byItself: string[], fields: string[], pick: (field: string, value: string) => (exclude: boolean) => void): Columns<T> {
  const asked = readColumns(route.value.params.get("cols"));
  const ids = asked ?? byItself;
  const paths = ids.filter((id) => !standard.some((c) => c.id === id));
  const label = (id: string) => standard.find((c) => c.id === id)?.label ?? columnLabel(id);
  const columns = ids.map((id) => standard.find((c) => c.id === id) ?? fieldColumn<T>(id, label(id), pick));
  const menu = (
    <ColumnMenu standard={standard.map(({ id, label }) => ({ id, label }))} chosen={ids} fields={fields} own={asked !== null} label={label}
      onChange={(next) => setParams({ cols: writeColumns(next) }, true)} />
  );
  return { columns, paths, menu };
}

function fieldColumn<T extends object>(path: string, label: string, pick: (field: string, value: string) => (exclude: boolean) => void): Column<T> {
  const right = path.startsWith("metrics.");
  return {
    id: path, label, width: right ? 96 : 140, right,
    cell: (row) => {
      const v = valueAt(row, path);
      if (v === undefined || v === null) return <span class="faint">–</span>;
      const text = format.value(v);
      return typeof v === "object" ? <span class="ellipsis" title={text}>{text}</span> : <Value text={text} onPick={pick(path, String(v))} />;
    },
  };
}

/** The menu that saves what is filtered as a file, adds it to a dataset, or deletes it. */
export function ExportMenu({ name, total, columns, search, range, saving, onDeleted, onBusy, onError }: {
  name: "events" | "sessions";
  total: number | null;
  columns: readonly string[]; // of the list
  search: () => object; // what is filtered, as a search has it
  range: string;
  saving: { current: AbortController | null }; // ends the file that is being saved
  onDeleted: () => void;
  onBusy: (busy: boolean) => void;
  onError: (error: unknown) => void;
}) {
  const save = async (format: "jsonl" | "csv", fields: string[] | null) => {
    const mine = new AbortController();
    saving.current = mine;
    onBusy(true);
    try {
      const { filters, event_filters, dateRange, sort, order } = search() as SearchSessionsBody;
      const answer = await send(`v1/${name}/export`, { method: "POST", body: { filters, event_filters, dateRange, sort, order, format, ...(fields ? { columns: fields } : {}) }, signal: mine.signal });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await answer.blob()); // the browser keeps a large one on disk
      link.download = `${name}.${format}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (error) {
      if (!isAbort(error)) onError(error instanceof TypeError ? new Error("The file was broken off before its end. Try again.") : error);
    }
    onBusy(false);
  };
  const [open, setOpen] = useState<"dataset" | "delete" | null>(null);
  const dialog = useLoaded(open === "dataset" ? "dialog" : null, () => import("./datasets/fromlist.tsx"));
  const may = allows("full");
  const what = total === null ? "" : `, ${format.plural(total, name.slice(0, -1))}`;
  const all = total === null ? "" : ` ${format.count(total)}`;
  const shown = fieldsOf(name, columns);
  return (
    <>
      <button type="button" class="button icon" popoverTarget="export-menu" title="Export what is filtered, add it to a dataset, or delete it" aria-label="Export"><Icon name="download" small /></button>
      <div id="export-menu" class="menu export-menu" popover="auto" onClick={(e) => e.currentTarget.hidePopover()}>
        <button type="button" onClick={() => void save("csv", null)}>{`CSV${what}`}</button>
        <button type="button" onClick={() => void save("jsonl", null)}>{`JSONL${what}`}</button>
        <button type="button" title={shown.join(", ")} onClick={() => void save("csv", shown)}>CSV of the columns shown</button>
        <button type="button" title={shown.join(", ")} onClick={() => void save("jsonl", shown)}>JSONL of the columns shown</button>
        {may && <button type="button" onClick={() => setOpen("dataset")}>{`Add all${all} to a dataset…`}</button>}
        {may && <button type="button" class="bad" onClick={() => setOpen("delete")}>Delete what is filtered…</button>}
      </div>
      {open === "dataset" && dialog.value && <dialog.value.FromList of={name} search={search()} onClose={() => setOpen(null)} />}
      {open === "delete" && <DeleteMatching of={name} search={search()} range={range} onClose={() => setOpen(null)} onDeleted={onDeleted} />}
    </>
  );
}
