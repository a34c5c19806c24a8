// What the pages of annotation queues compute: which answers a metric takes, and how far somebody is.
import type { Metric } from "../api/types.gen.ts";

export type Score = boolean | number | string;
export type Scores = Record<string, Score>;

export interface Option {
  value: Score;
  label: string;
  key: string; // the number key that gives it; "" if there is none
}

/** The most options that are shown as buttons. */
const maxOptions = 11;

/** The answers that a metric takes if they are few, in order; null if the answer is typed. Of a scale of ten, 0 stands for 10. */
export function optionsOf(m: Pick<Metric, "return_type" | "scale" | "categories">): Option[] | null {
  switch (m.return_type) {
    case "boolean": return [{ value: true, label: "Yes", key: "1" }, { value: false, label: "No", key: "2" }];
    case "categorical":
      return m.categories && m.categories.length > 0 ? m.categories.map(({ category }, i) => ({ value: category, label: category, key: i < 9 ? String(i + 1) : i === 9 ? "0" : "" })) : null;
    case "float": {
      const scale = m.scale;
      if (scale === null || !Number.isInteger(scale) || scale < 1 || scale >= maxOptions) return null;
      return Array.from({ length: scale + 1 }, (_, n) => ({ value: n, label: String(n), key: n === 10 ? "0" : n === 0 && scale === 10 ? "" : String(n) }));
    }
  }
  return null;
}

/** What was typed as an answer of a metric; null if it is none. */
export function typed(m: Pick<Metric, "return_type">, text: string): Score | null {
  if (text.trim() === "") return null;
  if (m.return_type !== "float") return text;
  const n = Number(text);
  return Number.isFinite(n) ? n : null;
}

/** A score as a person reads it. */
export function say(score: unknown): string {
  return score === true ? "Yes" : score === false ? "No" : score === undefined ? "–" : String(score);
}

export interface Progress {
  annotated: number;
  skipped: number;
  open: number;
  held_by_others: number;
}

/** How far somebody is: "3 of 40, 2 held by others". */
export function position(p: Progress): string {
  const before = p.annotated + p.skipped;
  const held = p.held_by_others > 0 ? `, ${p.held_by_others} held by others` : "";
  return `${before + 1} of ${before + p.open + p.held_by_others}${held}`;
}

/** The names of metrics to which annotators have given different scores. */
export function differing(annotations: { scores: Record<string, unknown> }[]): string[] {
  const names = [...new Set(annotations.flatMap((a) => Object.keys(a.scores)))];
  return names.filter((name) => new Set(annotations.filter((a) => name in a.scores).map((a) => JSON.stringify(a.scores[name]))).size > 1);
}
