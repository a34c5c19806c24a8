// What an editor of metrics works on: a definition, as text where people write it as text.
import type { Category, ChildMetric, Condition, Filter, Metric, Threshold } from "../api/types.gen.ts";
import { longNames } from "./charts.ts";
import { compile, write, type Operator, type Part } from "./filter.ts";
import { plural } from "./format.ts";

/** What a version of a metric says. */
export type Definition = Pick<Metric, "name" | "type" | "criteria" | "description" | "return_type" | "enabled_in_prod" | "needs_ground_truth" | "sampling_percentage" | "model_provider" | "model_name" | "scale" | "threshold" | "categories" | "child_metrics" | "filters" | "event_name" | "event_type">;

/** The fields of a definition, in the order in which they are read. */
export const fields: [keyof Definition, string][] = [
  ["name", "Name"], ["description", "Description"], ["type", "Type"], ["criteria", "Definition"], ["return_type", "Gives"], ["scale", "Highest score"], ["categories", "Categories"], ["threshold", "Passes"],
  ["child_metrics", "Parts"], ["model_provider", "Provider"], ["model_name", "Model"], ["needs_ground_truth", "Needs a ground truth"], ["enabled_in_prod", "Runs over new events"],
  ["sampling_percentage", "Sample, %"], ["filters", "Events"], ["event_type", "Type of events"], ["event_name", "Name of events"],
];

/** How the types are called. */
export const types: Record<Metric["type"], { label: string; code: string; start: string }> = {
  EXPRESSION: { label: "Expression", code: "Expression over the event", start: "duration < 2000" },
  PYTHON: { label: "Python", code: "Python", start: "def score(event):\n    return len(event[\"outputs\"].get(\"content\", \"\")) > 20\n" },
  LLM: { label: "Judge", code: "Prompt", start: "Does the answer address the question?\n\nQuestion: {{ inputs }}\nAnswer: {{ outputs }}\n" },
  COMPOSITE: { label: "Composite", code: "How the parts are combined", start: "weighted mean" },
  HUMAN: { label: "People", code: "What people are asked", start: "" },
};

/** The definition of a metric, without what is the store's. */
export function definitionOf(m: Partial<Metric>): Definition {
  return Object.fromEntries(fields.flatMap(([name]) => (m[name] === undefined ? [] : [[name, m[name]]]))) as unknown as Definition;
}

/** A new metric's definition. */
export function blank(type: Metric["type"]): Definition {
  return {
    name: "", type, criteria: types[type].start, description: "", return_type: type === "COMPOSITE" ? "float" : "boolean", enabled_in_prod: false, needs_ground_truth: false, sampling_percentage: 10,
    model_provider: null, model_name: null, scale: null, threshold: null, categories: null, child_metrics: null, filters: { filterArray: [] },
  };
}

/** What of a definition is of no use to it is left out, as clients send it. */
export function sent(d: Definition): Definition {
  return {
    ...d, threshold: d.threshold && Object.values(d.threshold).some((v) => v !== null) ? d.threshold : null, categories: d.return_type === "categorical" ? d.categories : null,
    child_metrics: d.type === "COMPOSITE" ? d.child_metrics : null, scale: d.return_type === "float" ? d.scale : null,
  };
}

/** Reports whether two definitions say the same. */
export const same = (a: Definition, b: Definition): boolean => fields.every(([name]) => text(a, name) === text(b, name));

/** A field of a definition as text, for a person and for a comparison. */
export function text(d: Definition, name: keyof Definition): string {
  const v = d[name];
  if (v === null || v === undefined || v === "") return "";
  if (name === "filters") return filterText(filtersOf(d)) ?? JSON.stringify(filtersOf(d), null, 1);
  if (name === "threshold") return passes(v as Threshold);
  if (name === "categories") return writeCategories(v as Category[]);
  if (name === "child_metrics") return writeParts(v as ChildMetric[]);
  return String(v);
}

export const filtersOf = (d: Pick<Definition, "filters">): Filter[] => d.filters.filterArray ?? [];

/** Which scores pass: "0.7 or more". */
export function passes(t: Threshold | null): string {
  if (!t) return "";
  const { min, max, pass_when: when, passing_categories: names } = t;
  const has = (n: unknown) => n !== null && n !== undefined;
  return [
    has(min) && has(max) ? `${min} to ${max}` : has(min) ? `${min} or more` : has(max) ? `${max} or less` : "",
    has(when) ? String(when) : "", names ? names.join(", ") : "",
  ].filter(Boolean).join("; ");
}

/** Categories as lines: a name, and what it counts for behind "=". */
export const writeCategories = (list: Category[] | null): string => (list ?? []).map((c) => c.category + (typeof c.score === "number" ? ` = ${c.score}` : "")).join("\n");

export function readCategories(lines: string): Category[] {
  return rows(lines).map((line) => {
    const [, category = line, score] = /^(.*\S)\s*=\s*(-?[\d.]+)$/.exec(line) ?? [];
    return { category, score: score === undefined ? null : Number(score) };
  });
}

/** Parts of a composite metric as lines: a name, and its weight behind "×". */
export const writeParts = (list: ChildMetric[] | null): string => (list ?? []).map((c) => `${c.name} × ${c.weight}${typeof c.scale === "number" ? ` of ${c.scale}` : ""}`).join("\n");

const rows = (lines: string): string[] => lines.split("\n").map((l) => l.trim()).filter(Boolean);

const operators: Partial<Record<Condition["operator"], Operator>> = { is: ":", "is not": "-:", "is any of": ":", contains: "~", "not contains": "!~", "greater than": ">", "less than": "<", after: ">", before: "<", exists: "has", "not exists": "-has" };

function partOf(c: Condition): Part | null {
  const operator = operators[c.operator];
  if (!operator) return null;
  const values = Array.isArray(c.value) ? c.value.map(String) : null;
  if (c.field === "text") return { field: "", operator: "words", value: String(c.value) };
  return { field: longNames[c.field] ?? c.field, operator, value: values ? "" : String(c.value ?? ""), ...(values && { values }) };
}

/** Filters as the text of a bar, or null where the text would not say the same. */
export function filterText(filters: Filter[]): string | null {
  const parts = filters.map((f): Part | null => {
    if (!("any" in f)) return partOf(f);
    const any = f.any.map((list) => list.map(partOf));
    return any.flat().includes(null) ? null : { field: "", operator: "or", value: "", any: any as Part[][] };
  });
  if (parts.includes(null)) return null;
  const written = write(parts as Part[]);
  const again = compile(written, "events");
  return again.problem === null && meaning(again.filters) === meaning(filters) ? written : null;
}

/** The filters of a metric, in words; empty where it has none. */
export const eventsText = (m: Pick<Definition, "filters">): string => filterText(filtersOf(m)) ?? plural(filtersOf(m).length, "filter");

/** Filters in one spelling: the type of a value is what its text is. */
function meaning(filters: Filter[]): string {
  const one = (c: Condition) => [c.field, c.operator, Array.isArray(c.value) ? c.value.map(String) : String(c.value ?? "")];
  return JSON.stringify(filters.map((f) => ("any" in f ? f.any.map((list) => list.map(one)) : one(f))));
}

/** An explanation, and what the evaluator printed. */
export function printed(explanation: string): [said: string, printed: string] {
  const at = explanation.indexOf("\nIt printed:\n");
  return at < 0 ? [explanation, ""] : [explanation.slice(0, at), explanation.slice(at + 13)];
}

const failures: Record<string, string> = {
  no_engine: "cannot run here", unfit: "does not fit the event", refused: "the model refused", unparsed: "no score in the answer", budget: "budget used up", timeout: "took too long",
  provider: "provider failed", not_installed: "Python is not installed", loading: "Python is being fetched", syntax: "syntax error", import: "import failed", exception: "ended in an error",
  recursion: "calls went too deep", result_type: "result is no score", memory: "out of memory", output: "too much output", exit: "the evaluator ended", work: "too much work",
};

/** The sort of a failure in words. */
export const failureText = (sort: string): string => failures[sort] ?? sort.replaceAll("_", " ");

/** Where a metric runs: "new events, 10 %". */
export function where(m: Definition): string {
  if (m.type === "HUMAN") return "people";
  return m.enabled_in_prod ? `new events${m.sampling_percentage < 100 ? `, ${m.sampling_percentage} %` : ""}` : "on request";
}
