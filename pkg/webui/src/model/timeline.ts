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

/** Reports whether something ran in a range, at least in part. */
export const overlaps = (n: Range, range: Range) => n.end >= range.start && n.start <= range.end;

/** Returns a tree of which the list of events has only those of a range, and the session. */
export function narrow(tree: Tree, range: Range | null): Tree {
  return range ? { ...tree, nodes: tree.nodes.filter((n) => n === tree.root || overlaps(n, range)) } : tree;
}

/** Writes a time for an address: Unix milliseconds, to the microsecond. */
export const writeTime = (time: number) => String(Math.round(time * 1000) / 1000);

/** Reads a time of an address; null if it is none. */
export function readTime(text: string | null): number | null {
  const time = text === null || text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(time) ? time : null;
}

/** Writes a range for an address: "from..to". */
export const writeRange = (range: Range) => `${writeTime(range.start)}..${writeTime(range.end)}`;

/** Reads a range of an address, within the whole; null if it is none, or the whole. */
export function readRange(text: string | null, whole: Range): Range | null {
  const [start, end] = (text ?? "").split("..").map(readTime);
  if (start == null || end == null || end <= start) return null;
  const range = { start: Math.max(start, whole.start), end: Math.min(end, whole.end) };
  return range.end <= range.start || (range.start === whole.start && range.end === whole.end) ? null : range;
}

/** The shortest idle time that is worth folding, as a share of the session. */
const leastIdle = 0.05;

/** Returns when nothing ran that has nothing below it, for a twentieth of the session or longer: what waits for others is not at work. */
export function idleTimes(tree: Tree): Range[] {
  const busy = tree.nodes.filter((n) => n !== tree.root && n.children.length === 0).map((n): Range => ({ start: n.start, end: n.end })).sort((a, b) => a.start - b.start);
  const whole = wholeRange(tree);
  const least = (whole.end - whole.start) * leastIdle;
  const out: Range[] = [];
  let until = whole.start;
  for (const b of [...busy, { start: whole.end, end: whole.end }]) {
    if (b.start - until >= least && busy.length > 0) out.push({ start: until, end: b.start });
    until = Math.max(until, b.end);
  }
  return out;
}

/** The share of the width that a folded time takes. */
const foldedShare = 0.03;

/** A scale of time, on which some times may be folded: places are shares of its width, from 0 to 1. */
export interface Scale {
  range: Range;
  folded: Range[]; // within the range
  toShare: (time: number) => number; // below 0 or above 1 outside the range
  toTime: (share: number) => number;
}

/** Makes the scale of a range in which the times that are in it whole are folded. */
export function scaleOf(range: Range, times: Range[]): Scale {
  const size = range.end - range.start;
  const folded = times.filter((t) => t.start >= range.start && t.end <= range.end && t.end - t.start < size);
  const shown = size - folded.reduce((sum, t) => sum + t.end - t.start, 0);
  const unit = shown <= 0 ? 0 : (1 - folded.length * foldedShare) / shown; // shares a millisecond
  if (folded.length === 0 || unit <= 0) return { range, folded: [], toShare: (time) => (time - range.start) / size, toTime: (share) => range.start + share * size };
  const toShare = (time: number) => {
    if (time < range.start || time > range.end) return (time - range.start) / size;
    let share = (time - range.start) * unit;
    for (const t of folded) {
      if (time <= t.start) break;
      const inside = Math.min(time, t.end) - t.start;
      share += (inside / (t.end - t.start)) * foldedShare - inside * unit;
    }
    return share;
  };
  const toTime = (share: number) => {
    let low = range.start;
    let high = range.end;
    for (let i = 0; i < 60; i++) { // shares grow with time
      const middle = (low + high) / 2;
      if (toShare(middle) < share) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  };
  return { range, folded, toShare, toTime };
}

/** Where a bar stands, as shares of the width from 0 to 1; null if it is outside the range. */
export function place(start: number, end: number, scale: Scale): { left: number; width: number } | null {
  const left = scale.toShare(start);
  const right = scale.toShare(Math.max(end, start));
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
