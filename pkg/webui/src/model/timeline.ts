// The layout of a timeline: where each event's bar stands on a scale of time that can be zoomed.
import type { Tree } from "./tree.ts";

/** The part of time that is shown, in milliseconds since the epoch. */
export interface Range {
  start: number;
  end: number;
}

/** The whole time of a tree; of one without a duration, a millisecond. */
export function wholeRange(tree: Tree): Range {
  return { start: tree.start, end: Math.max(tree.end, tree.start + 1) };
}

/** Where a bar stands, as shares of the width from 0 to 1; null if it is outside the range. */
export function place(start: number, end: number, range: Range): { left: number; width: number } | null {
  const size = range.end - range.start;
  const left = (start - range.start) / size;
  const right = (Math.max(end, start) - range.start) / size;
  if (right < 0 || left > 1) return null;
  const from = Math.max(0, left);
  return { left: from, width: Math.min(1, right) - from };
}

/** Zooms by a factor around a place in the range (0 to 1), within the whole. */
export function zoom(range: Range, whole: Range, factor: number, at: number): Range {
  const size = Math.min(whole.end - whole.start, Math.max((range.end - range.start) * factor, 0.01));
  const center = range.start + (range.end - range.start) * at;
  return within({ start: center - size * at, end: center + size * (1 - at) }, whole);
}

/** Moves a range so that it stands within the whole. */
export function within(range: Range, whole: Range): Range {
  const size = Math.min(range.end - range.start, whole.end - whole.start);
  const start = Math.min(Math.max(range.start, whole.start), whole.end - size);
  return { start, end: start + size };
}

/** Times at which a scale has lines: at most n, at round distances, as milliseconds from origin. */
export function ticks(range: Range, origin: number, n: number): number[] {
  const size = range.end - range.start;
  const rough = size / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(rough));
  const units = [1, 2, 5, 10].map((f) => f * power).concat([60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000]);
  const step = units.filter((u) => u >= rough && (rough < 30_000 || u % 60_000 === 0 || u < 60_000)).sort((a, b) => a - b)[0] ?? rough;
  const out: number[] = [];
  for (let t = Math.ceil((range.start - origin) / step) * step; t <= range.end - origin + 1e-9 && out.length <= n + 1; t += step) out.push(t);
  return out;
}
