// The tree of a session as rows of one height, of which those on screen are in the page.
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Gap, Node, Row } from "../model/tree.ts";
import { reveal, useWindow } from "./table.tsx";
import { TreeRows, type ShownRows } from "./treerows.ts";

interface Props extends ShownRows {
  turn: number; // another one when previews have come
  onVisible: (ids: string[], gaps: Gap[]) => void;
  onSelect: (id: string) => void;
  onToggle: (row: Row, deep: boolean) => void;
}

export function TreeView(p: Props) {
  const { ref, from, to, onScroll } = useWindow(p.rows.length, p.rowHeight);
  const body = useRef<HTMLDivElement>(null);
  const drawn = useRef<TreeRows | null>(null);
  const at = useMemo(() => p.rows.findIndex((r) => r.node.id === p.selected), [p.rows, p.selected]);
  useEffect(() => reveal(ref.current, at, p.rowHeight), [p.selected, at >= 0]);
  useEffect(() => {
    const visible = p.rows.slice(from, to);
    p.onVisible(visible.filter((r) => !r.gap).map((r) => r.node.id), visible.flatMap((r) => r.gap ?? []));
  }, [p.rows, from, to]);
  useAnchor(ref, p.rows, p.rowHeight);
  useLayoutEffect(() => (drawn.current ??= new TreeRows(body.current!)).show(from, to, p));
  useEffect(() => () => drawn.current?.end(), []);
  const move = (n: number) => {
    let to = Math.min(p.rows.length - 1, Math.max(0, n));
    while (p.rows[to]?.gap) to += to > at && to < p.rows.length - 1 ? 1 : -1;
    const row = p.rows[to];
    if (row) p.onSelect(row.node.id);
  };
  const onKeyDown = (e: KeyboardEvent) => {
    const row = p.rows[at];
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: p.rows.length - 1, PageDown: at + 20, PageUp: at - 20 };
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    if (e.key in steps) {
      e.preventDefault();
      move(steps[e.key]!);
    } else if (row && e.key === "ArrowLeft") {
      e.preventDefault();
      if (row.node.children.length > 0 && !row.folded) p.onToggle(row, e.shiftKey);
      else if (row.node.parent) p.onSelect(row.node.parent.id);
    } else if (row && e.key === "ArrowRight") {
      e.preventDefault();
      if (row.folded || row.group) p.onToggle(row, e.shiftKey);
      else move(at + 1);
    }
  };
  const onClick = (e: MouseEvent) => {
    const target = e.target as Element;
    const row = p.rows[drawn.current?.indexOf(target) ?? -1];
    if (!row) return;
    if (!row.gap && !target.closest(".fold")) p.onSelect(row.node.id);
    else {
      ref.current?.focus({ preventScroll: true }); // the button may become another row's
      p.onToggle(row, e.shiftKey);
    }
  };
  return (
    <div class="tree" ref={ref} onScroll={onScroll} onKeyDown={onKeyDown} onClick={onClick} tabIndex={0} role="treegrid" aria-label="Events" aria-rowcount={p.rows.length}
      aria-activedescendant={at >= from && at < to ? `event-${p.selected}` : undefined}>
      <div ref={body} role="presentation" style={{ height: `${p.rows.length * p.rowHeight}px`, position: "relative" }} />
    </div>
  );
}

/** Keeps what is on screen in its place when rows come or go above it. */
export function useAnchor(ref: { current: HTMLDivElement | null }, rows: Row[], rowHeight: number): void {
  const before = useRef(rows);
  useLayoutEffect(() => {
    const box = ref.current;
    const old = before.current;
    before.current = rows;
    if (!box || old === rows || box.scrollTop < rowHeight) return;
    const top = Math.floor(box.scrollTop / rowHeight);
    const places = new Map<string, number>();
    for (let i = top; i < Math.min(old.length, top + 60); i++) if (!old[i]!.gap) places.set(old[i]!.node.id, i);
    const at = rows.findIndex((r) => !r.gap && places.has(r.node.id));
    if (at >= 0) box.scrollTop += (at - places.get(rows[at]!.node.id)!) * rowHeight;
  }, [rows]);
}

/** The siblings before and after an event, for a walk from one to the next. */
export function neighbour(rows: Row[], id: string | null, step: 1 | -1): Node | null {
  const at = rows.findIndex((r) => r.node.id === id);
  return rows[at + step]?.node ?? null;
}
