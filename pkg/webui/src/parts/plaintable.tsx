// A table of few rows, all of which are in the page.
import type { ComponentChildren } from "preact";

export interface PlainColumn<T> {
  label: string;
  right?: boolean;
  wide?: boolean; // takes the space that is left over, and may break
  cell: (row: T) => ComponentChildren;
}

export function PlainTable<T>({ label, columns, rows, rowId }: { label: string; columns: PlainColumn<T>[]; rows: T[]; rowId: (row: T) => string }) {
  const style = (c: PlainColumn<T>) => `${c.right ? "right" : ""}${c.wide ? " wide" : ""}`;
  return (
    <div class="plain-table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead><tr>{columns.map((c) => <th key={c.label} scope="col" class={style(c)}>{c.label}</th>)}</tr></thead>
        <tbody>{rows.map((r) => <tr key={rowId(r)}>{columns.map((c) => <td key={c.label} class={style(c)}>{c.cell(r)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}
