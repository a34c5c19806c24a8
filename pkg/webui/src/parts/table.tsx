// A table whose rows have one height, and of which only those on screen are in the page.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { keysOf } from "../app/keymap.ts";
import { Icon } from "./icon.tsx";

export interface Column<T> {
  id: string;
  label: string;
  width: number; // pixels; a column that grows has the least
  grow?: number; // its part of the space that is left over
  right?: boolean;
  title?: string; // what is said of the column
  sort?: string; // the order that a click asks for
  cell: (row: T) => ComponentChildren;
}

interface Props<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  rowId: (row: T) => string;
  rowHeight: number;
  lines?: 1 | 2; // how many a long text may have
  selected: string | null;
  fresh?: ReadonlySet<string>;
  sort?: { by: string; ascending: boolean };
  onSort?: (by: string) => void;
  onSelect: (id: string) => void;
  onOpen: (id: string) => void;
  onEnd?: () => void; // the last rows are near: more may be loaded
  /** Rows can be chosen, for what is done with several: by a box at their begin. */
  choice?: { has: (id: string) => boolean; any: boolean; every: boolean; onToggle: (id: string, range: boolean) => void; onEvery: () => void };
  total: number | null;
}

/** The part of a long list that is on screen, and some rows more: indexes of the first row and of that after the last. */
export function useWindow(count: number, rowHeight: number, spare = 8): { ref: { current: HTMLDivElement | null }; from: number; to: number; onScroll: () => void } {
  const ref = useRef<HTMLDivElement | null>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const measure = () => {
    const box = ref.current;
    if (!box) return;
    setView((v) => (v.top === box.scrollTop && v.height === box.clientHeight ? v : { top: box.scrollTop, height: box.clientHeight }));
  };
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    if (ref.current) observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  const from = Math.max(0, Math.min(count, Math.floor(view.top / rowHeight)) - spare);
  const to = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + spare);
  return { ref, from, to, onScroll: measure };
}

/** Scrolls a row into view, below a head of a height. */
export function reveal(box: HTMLElement | null, index: number, rowHeight: number, head = 0): void {
  if (!box || index < 0) return;
  const top = index * rowHeight;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + rowHeight + head > box.scrollTop + box.clientHeight) box.scrollTop = top + rowHeight + head - box.clientHeight;
}

export function Table<T>(p: Props<T>) {
  const { ref, from, to, onScroll } = useWindow(p.rows.length, p.rowHeight);
  const at = p.selected === null ? -1 : p.rows.findIndex((r) => p.rowId(r) === p.selected);
  useEffect(() => reveal(ref.current, at, p.rowHeight, 32), [at, p.selected]);
  useEffect(() => {
    if (p.onEnd && p.rows.length > 0 && to > p.rows.length - 10) p.onEnd();
  }, [to, p.rows.length]);
  const style = (c: Column<T>) => ({ width: `${c.width}px`, flex: `${c.grow ?? 0} 0 ${c.width}px` });
  return (
    <div class={`table${p.lines === 2 ? " two-lines" : ""}${p.choice ? " choosing" : ""}${p.choice?.any ? " chosen" : ""}`} ref={ref} onScroll={onScroll} role="grid" aria-label={p.label} aria-rowcount={p.total ?? -1} tabIndex={0}
      aria-activedescendant={at >= from && at < to ? `row-${p.selected}` : undefined}>
      <div class="head" role="row">
        {p.choice && (
          <div role="columnheader" class="box">
            <input type="checkbox" tabIndex={-1} aria-label="Select all rows that are loaded" title={`Select all rows that are loaded (${keysOf("choose-every")})`} checked={p.choice.every} disabled={p.rows.length === 0} onClick={() => p.choice!.onEvery()} />
          </div>
        )}
        {p.columns.map((c) => (
          <div key={c.id} role="columnheader" title={c.title} class={c.right ? "right" : ""} style={style(c)}
            aria-sort={c.sort && p.sort?.by === c.sort ? (p.sort.ascending ? "ascending" : "descending") : undefined}>
            {c.sort && p.onSort ? (
              <button type="button" onClick={() => p.onSort!(c.sort!)}>
                {c.label}
                {p.sort?.by === c.sort && <Icon name={p.sort!.ascending ? "up" : "down"} small />}
              </button>
            ) : c.label}
          </div>
        ))}
      </div>
      <div class="body" style={{ height: `${p.rows.length * p.rowHeight}px` }}>
        {p.rows.slice(from, to).map((row, i) => {
          const id = p.rowId(row);
          return (
            <div key={id} id={`row-${id}`} role="row" aria-rowindex={from + i + 2} aria-selected={id === p.selected}
              class={`row${id === p.selected ? " selected" : ""}${p.choice?.has(id) ? " picked" : ""}${p.fresh?.has(id) ? " fresh" : ""}`} style={{ top: `${(from + i) * p.rowHeight}px`, height: `${p.rowHeight}px` }}
              onClick={() => p.onSelect(id)} onDblClick={() => p.onOpen(id)}>
              {p.choice && (
                <div role="gridcell" class="box" onClick={(e) => { e.stopPropagation(); }} onDblClick={(e) => e.stopPropagation()}>
                  <input type="checkbox" tabIndex={-1} aria-label={`Select row ${from + i + 1}`} title={`Select (${keysOf("choose")}); with Shift all up to it`} checked={p.choice.has(id)} onClick={(e) => p.choice!.onToggle(id, e.shiftKey)} />
                </div>
              )}
              {p.columns.map((c) => <div key={c.id} role="gridcell" class={`cell${c.right ? " right" : ""}`} style={style(c)}>{c.cell(row)}</div>)}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** A value that becomes a filter when it is clicked: with Alt, one that excludes it. */
export function Value({ text, onPick, children, className }: { text: string; onPick: (exclude: boolean) => void; children?: ComponentChildren; className?: string }) {
  return (
    <button type="button" tabIndex={-1} class={`value ${className ?? ""}`} title={`${text}\nClick: only these. Alt+click: not these.`}
      onClick={(e) => { e.stopPropagation(); onPick(e.altKey); }}>
      {children ?? text}
    </button>
  );
}
