// The tree of a session as rows of one height, of which those on screen are in the page.
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Preview } from "../api/types.ts";
import * as format from "../model/format.ts";
import type { Node, Row } from "../model/tree.ts";
import { Icon, TypeIcon } from "./icon.tsx";
import { reveal, useWindow } from "./table.tsx";

interface Props {
  rows: Row[];
  rowHeight: number;
  selected: string | null;
  critical: ReadonlySet<string> | null;
  longest: number; // the longest duration, in milliseconds, for the bars
  preview: (id: string) => Preview | undefined;
  turn: number; // another one when previews have come
  onVisible: (ids: string[]) => void;
  onSelect: (id: string) => void;
  onToggle: (row: Row, deep: boolean) => void;
}

export function TreeView(p: Props) {
  const { ref, from, to, onScroll } = useWindow(p.rows.length, p.rowHeight);
  const at = p.rows.findIndex((r) => r.node.id === p.selected);
  useEffect(() => reveal(ref.current, at, p.rowHeight), [p.selected]);
  const visible = p.rows.slice(from, to);
  const ids = visible.map((r) => r.node.id);
  const drawn = useDrawn([p.rows, p.selected, p.critical, p.turn, p.rowHeight]);
  useEffect(() => p.onVisible(ids), [ids.join()]);
  const move = (n: number) => {
    const row = p.rows[Math.min(p.rows.length - 1, Math.max(0, n))];
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
  return (
    <div class="tree" ref={ref} onScroll={onScroll} onKeyDown={onKeyDown} tabIndex={0} role="treegrid" aria-label="Events" aria-rowcount={p.rows.length}
      aria-activedescendant={at >= from && at < to ? `event-${p.selected}` : undefined}>
      <div style={{ height: `${p.rows.length * p.rowHeight}px`, position: "relative" }}>
        {visible.map((row, i) => drawn(from + i, () => <TreeRow key={row.node.id} row={row} index={from + i} p={p} />))}
      </div>
    </div>
  );
}

/**
 * Keeps rows that were drawn for as long as what they depend on stays: scrolling then draws only the rows that come. At most 2,000 are kept.
 */
export function useDrawn(deps: unknown[]): (index: number, draw: () => VNode) => VNode {
  const kept = useRef<{ deps: unknown[]; rows: Map<number, VNode> }>({ deps: [], rows: new Map() });
  if (deps.some((d, i) => d !== kept.current.deps[i]) || kept.current.rows.size > 2000) kept.current = { deps, rows: new Map() };
  return (index, draw) => {
    let row = kept.current.rows.get(index);
    if (!row) kept.current.rows.set(index, (row = draw()));
    return row;
  };
}

function TreeRow({ row, index, p }: { row: Row; index: number; p: Props }) {
  const n = row.node;
  const preview = p.preview(n.id);
  const folds = n.children.length > 0 || row.group !== null;
  const selected = n.id === p.selected;
  const group = row.group;
  const duration = group ? group.reduce((sum, g) => sum + g.duration, 0) : n.duration;
  return (
    <div id={`event-${n.id}`} role="row" aria-level={row.depth + 1} aria-rowindex={index + 1} aria-selected={selected} aria-expanded={folds ? !row.folded : undefined}
      class={`tree-row${selected ? " selected" : ""}${row.grey ? " grey" : ""}${p.critical?.has(n.id) ? " critical" : ""}`}
      style={{ top: `${index * p.rowHeight}px`, height: `${p.rowHeight}px`, paddingLeft: `${8 + Math.min(row.depth, 30) * 14}px` }} onClick={() => p.onSelect(n.id)}>
      <span role="gridcell" class="tree-cell">
        {row.depth > 0 && <i class="guides" style={{ width: `${Math.min(row.depth, 30) * 14}px` }} />}
        {folds ? (
          <button type="button" class="fold" tabIndex={-1} aria-label={row.folded ? "Unfold" : "Fold"} onClick={(e) => { e.stopPropagation(); p.onToggle(row, e.shiftKey); }}>
            <Icon name={row.folded ? "right" : "down"} small />
          </button>
        ) : <span class="fold" />}
        <TypeIcon type={n.type} small />
        <span class="tree-name ellipsis">{n.name}</span>
        {group && <span class="chip">{`×${group.length}`}</span>}
        {!group && row.folded && <span class="chip">{`+${format.count(n.below)}`}</span>}
        {row.folded && n.errorsBelow > 0 && <span class="chip bad"><Icon name="alert" small />{format.plural(n.errorsBelow, "error")}</span>}
        {n.error && <span class="chip bad" title={n.error}><Icon name="alert" small />error</span>}
        {n.running && <span class="chip running"><Icon name="live" small />running</span>}
        {n.note === "orphan" && <span class="chip" title="The event names a parent that was not received (yet).">parent missing</span>}
        {n.note === "cycle" && <span class="chip" title="The event was its own ancestor: it is shown here instead.">cycle cut</span>}
        {preview?.model && <span class="tree-model ellipsis faint">{preview.model}</span>}
        <span class="tree-preview ellipsis faint">{n.type === "session" ? "" : preview?.output || preview?.input}</span>
      </span>
      <span role="gridcell" class="tree-numbers">
        {n.tokens !== null && n.tokens > 0 && <span class="faint" title={`${format.count(n.tokens)} tokens`}>{format.short(n.tokens)} tok</span>}
        {n.cost !== null && n.cost > 0 && <span class="faint">{format.cost(n.cost)}</span>}
        <span class="tree-duration">
          <i style={{ width: `${Math.max(1, Math.min(100, (duration / p.longest) * 100))}%` }} />
          {format.duration(duration)}
        </span>
      </span>
    </div>
  );
}

/** The siblings before and after an event, for a walk from one to the next. */
export function neighbour(rows: Row[], id: string | null, step: 1 | -1): Node | null {
  const at = rows.findIndex((r) => r.node.id === id);
  return rows[at + step]?.node ?? null;
}
