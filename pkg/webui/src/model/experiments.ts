// What the pages of experiments compute: how scores of a metric are written, where an interval stands on its axis, and which words of an
// output are not in what it is compared with.
import type { ComparedScore, RunMetric } from "../api/types.gen.ts";
import { align } from "./align.ts";
import * as format from "./format.ts";
import { comparable } from "./raw.ts";

type Unit = Pick<RunMetric, "unit" | "is_boolean">;

/** A score in the unit of its metric; what is true or false is a rate. A text stays as it is. */
export function score(m: Unit, v: number | string | null | undefined): string {
  if (v === null || v === undefined) return "–";
  if (typeof v === "string") return v;
  if (m.is_boolean) return `${digits(v * 100)} %`;
  if (m.unit === "ms") return v < 0 ? `−${format.duration(-v)}` : format.duration(v);
  if (m.unit === "USD") return v < 0 ? `−${format.cost(-v)}` : format.cost(v);
  return m.unit === "tokens" ? format.short(v) : digits(v);
}

/** A number with three digits that tell something, or all before the point. */
function digits(v: number): string {
  if (v !== 0 && (Math.abs(v) < 0.0001 || Math.abs(v) >= 1e15)) return v.toPrecision(3);
  return (Math.abs(v) >= 100 ? v.toFixed(0) : String(Number(v.toPrecision(3)))).replace("-", "−");
}

/** A difference with its sign; that of two rates is in percentage points. */
export const difference = (m: Unit, v: number): string => (v > 0 ? "+" : "") + (m.is_boolean ? `${digits(v * 100)} pp` : score(m, v));

/** The signs of changes. That of a difference is with its number. */
export const arrows = { improved: "▲", degraded: "▼", same: "=" };

/** The range in which scores of a metric pass, in words; "" if it has none. */
export function passesText(m: RunMetric): string {
  const { min, max } = m.passing_range ?? {};
  return min !== undefined && max !== undefined ? `${score(m, min)} to ${score(m, max)}` : min !== undefined ? `at least ${score(m, min)}` : max !== undefined ? `at most ${score(m, max)}` : "";
}

/** A score of a cell: the mark of its rule, the value with how far its repetitions lie apart, how it differs from the baseline, and all of it in words. */
export interface ScoreText { mark: "" | "✓" | "✕"; text: string; delta: string; tone: "" | "good" | "bad"; title: string }

export function scoreText(m: RunMetric, s: ComparedScore | undefined): ScoreText | null {
  if (!s) return null;
  const value = score(m, s.value);
  const spread = s.deviation !== undefined && s.deviation > Math.abs(Number(s.value)) * 1e-9 ? ` ±${score(m, s.deviation)}` : "";
  const verdict = s.passed === undefined ? "" : s.values !== undefined && s.values_passed !== undefined ? `${s.values_passed} of ${s.values} pass` : s.passed ? "passed" : "not passed";
  return {
    mark: s.passed === undefined ? "" : s.passed ? "✓" : "✕",
    text: value + spread,
    delta: s.delta !== undefined && s.change !== "same" ? `${s.change ? `${arrows[s.change]} ` : ""}${difference(m, s.delta)}` : "",
    tone: s.change === "improved" ? "good" : s.change === "degraded" ? "bad" : "",
    title: [`${m.key} ${value}`, s.min !== undefined && s.max !== undefined ? `${score(m, s.min)} to ${score(m, s.max)}` : "", verdict, verdict && passesText(m), s.change ?? ""].filter(Boolean).join(", "),
  };
}

/** The ends of the axis on which values stand: it holds 0 and all of them, with some room. */
export function axis(values: (number | undefined)[]): [number, number] {
  const ends = [0, ...values.filter((v) => v !== undefined)];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = (high - low || 1) * 0.08;
  return [low - room, high + room];
}

/** Where a value stands on an axis, in percent. */
export const place = ([low, high]: [number, number], v: number): number => ((v - low) / (high - low)) * 100;

/** At most this many words of a text are told apart. */
const maxWords = 400;

/** The text in parts: those with `fresh` have words that the other text does not have at that place. */
export function freshWords(text: string, other: string): { text: string; fresh: boolean }[] {
  const words = (t: string) => t.match(/\s+|[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]/gu) ?? [];
  const mine = words(text);
  const parts: { text: string; fresh: boolean }[] = [];
  const add = (part: string, fresh: boolean) => {
    const last = parts[parts.length - 1];
    if (last && (last.fresh === fresh || part.trim() === "")) last.text += part;
    else parts.push({ text: part, fresh });
  };
  for (const [i, j] of align(mine.slice(0, maxWords), words(other).slice(0, maxWords))) if (i >= 0) add(mine[i]!, j < 0);
  if (mine.length > maxWords) add(mine.slice(maxWords).join(""), false);
  return parts;
}

/** What the JSON of an output says: its text, if it is one or holds one alone or as a message does, else the JSON. */
export function textOf(json = "null"): string {
  const v: unknown = JSON.parse(json);
  if (v === null) return "";
  if (typeof v === "string") return v;
  if (typeof v === "object" && !Array.isArray(v)) {
    const held = Object.values(v);
    if (held.length === 1 && typeof held[0] === "string") return held[0];
    if ("content" in v && typeof v.content === "string" && !("tool_calls" in v)) return v.content;
    if (held.length === 0) return "";
  }
  return comparable(json);
}

/** Items by a key, in the order in which the keys come. */
export function groups<T>(items: T[], key: (item: T) => string): [string, T[]][] {
  const map = new Map<string, T[]>();
  for (const item of items) {
    const list = map.get(key(item));
    if (list) list.push(item);
    else map.set(key(item), [item]);
  }
  return [...map];
}
