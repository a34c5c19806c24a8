// Rows of one run or of several, page after page: each datapoint with what every run said about it.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, isAbort } from "../../api/client.ts";
import type { RunCompare, RunCompareInput } from "../../api/types.gen.ts";
import { route, setParams } from "../../app/router.ts";

export type Answer = RunCompare;
export type Row = Answer["rows"][number];
export type Cell = NonNullable<Row["cells"][number]>;
export type ComparedRun = NonNullable<Answer["runs"]>[number];
export type Metric = NonNullable<Answer["metrics"]>[number];

/** What the first page says of all: runs, metrics, counts. */
export type Head = Required<Pick<Answer, "runs" | "metrics" | "counts">> & { omitted: number; total: number };

/** Rows of the first page, and of those after it. */
const firstPage = 50;
const nextPage = 200;

/** The part of a request that the address says: which rows, of which metric and run, in which order. */
export function chosen(): Pick<RunCompareInput, "metric" | "run_id" | "only" | "sort" | "order"> {
  const { params } = route.value;
  const body: Record<string, string> = {};
  for (const [to, from] of [["metric", "metric"], ["run_id", "run"], ["only", "only"], ["sort", "sort"], ["order", "order"]] as const) {
    const v = params.get(from);
    if (v) body[to] = v;
  }
  return body; // what is none of its values is refused by the server, in words
}

export interface Rows {
  head: Head | null;
  rows: Row[];
  loading: boolean;
  error: unknown;
  more: () => void;
  reload: () => void;
}

export function useRows(body: RunCompareInput): Rows {
  const key = JSON.stringify(body);
  const [state, setState] = useState<{ key: string; head: Head | null; rows: Row[]; cursor: string | null }>({ key: "", head: null, rows: [], cursor: null });
  const [error, setError] = useState<unknown>(null);
  const [loading, setLoading] = useState(true);
  const [turn, setTurn] = useState(0);
  const stop = useRef<AbortController | null>(null);
  const read = (cursor: string | null) => {
    const mine = new AbortController();
    stop.current?.abort();
    stop.current = mine;
    setLoading(true);
    call<Answer>("v1/runs/compare", { method: "POST", body: { ...body, limit: cursor === null ? firstPage : nextPage, ...(cursor === null ? {} : { cursor }) }, signal: mine.signal }).then(
      (a) => {
        setError(null);
        setLoading(false);
        setState((s) => (cursor === null ? { key, head: { runs: a.runs ?? [], metrics: a.metrics ?? [], counts: a.counts!, omitted: a.metrics_omitted ?? 0, total: a.total }, rows: a.rows, cursor: a.next_cursor }
          : s.key === key ? { ...s, rows: [...s.rows, ...a.rows], cursor: a.next_cursor } : s));
      },
      (e) => {
        if (isAbort(e)) return;
        setError(e);
        setLoading(false);
      },
    );
  };
  useEffect(() => {
    read(null);
    return () => stop.current?.abort();
  }, [key, turn]);
  return { head: state.head, rows: state.rows, loading, error, more: () => { if (state.cursor && !loading && !error && state.key === key) read(state.cursor); }, reload: () => setTurn((n) => n + 1) };
}

export const select = (id: string | null) => setParams({ s: id }, true);
