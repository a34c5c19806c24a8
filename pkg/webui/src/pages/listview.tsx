// What the lists of sessions and of events have in common: facets, columns of any field with their places in the address, and files of
// what is filtered.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { isAbort } from "../api/client.ts";
import type { Filter } from "../api/types.gen.ts";
import { route, setParams } from "../app/router.ts";
import { allows } from "../app/session.ts";
import { columnLabel, readColumns, valueAt, writeColumns } from "../model/columns.ts";
import { valuesIn, withValues } from "../model/filter.ts";
import { csv, jsonl } from "../model/export.ts";
import * as format from "../model/format.ts";
import { ColumnMenu } from "../parts/columnmenu.tsx";
import { useLoaded } from "../parts/common.tsx";
import { Facets } from "../parts/facets.tsx";
import { Icon } from "../parts/icon.tsx";
import { Value, type Column } from "../parts/table.tsx";
import { facetValues, ownFacets } from "./completion.ts";

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

/** The menu that saves what is filtered as a file, or adds it to a dataset. */
export function ExportMenu<T extends object>({ name, total, columns, search, pages, onBusy, onError }: {
  name: string;
  total: number | null;
  columns: readonly string[];
  search: () => object; // what is filtered, as a search has it
  pages: () => AsyncGenerator<T[]>;
  onBusy: (busy: boolean) => void;
  onError: (error: unknown) => void;
}) {
  const save = async (kind: "jsonl" | "csv") => {
    const parts: string[] = [];
    onBusy(true);
    try {
      for await (const rows of pages()) parts.push(kind === "jsonl" ? jsonl(rows) : csv(rows, columns, parts.length === 0));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob(parts, { type: kind === "jsonl" ? "application/jsonl" : "text/csv" }));
      link.download = `${name}.${kind}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (error) {
      if (!isAbort(error)) onError(error);
    }
    onBusy(false);
  };
  const [adding, setAdding] = useState(false);
  const dialog = useLoaded(adding ? "dialog" : null, () => import("./datasets/fromlist.tsx"));
  const may = allows("full");
  const what = total === null ? "" : `, ${format.plural(total, name.slice(0, -1))}`;
  return (
    <>
      <button type="button" class="button icon" popoverTarget="export-menu" title="Export what is filtered, or add it to a dataset" aria-label="Export"><Icon name="download" small /></button>
      <div id="export-menu" class="menu export-menu" popover="auto">
        <button type="button" onClick={() => void save("jsonl")}>{`JSONL${what}`}</button>
        <button type="button" onClick={() => void save("csv")}>{`CSV${what}`}</button>
        {may && <button type="button" onClick={(e) => { e.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover(); setAdding(true); }}>{`Add all${total === null ? "" : ` ${format.count(total)}`} to a dataset…`}</button>}
      </div>
      {adding && dialog.value && <dialog.value.FromList of={name === "sessions" ? "sessions" : "events"} search={search()} onClose={() => setAdding(false)} />}
    </>
  );
}
