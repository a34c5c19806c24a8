// The list of a kind of resource, of which there are few: all of them are here, and a text chooses.
import type { ComponentChildren } from "preact";
import { call } from "../../api/client.ts";
import type { Configuration, ListConfigurationsAnswer } from "../../api/types.gen.ts";
import { route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { Empty, Problem, type Loaded } from "../../parts/common.tsx";
import { Icon } from "../../parts/icon.tsx";

export const readConfigurations = async (signal: AbortSignal): Promise<Configuration[]> => {
  const answer = await call<ListConfigurationsAnswer>("v1/configurations", { signal });
  return Array.isArray(answer) ? answer : answer.configurations;
};

interface Props<T> {
  title: string;
  list: Loaded<T[]>;
  text: (row: T) => string; // what is searched
  empty: string;
  onNew: () => void;
  table: (rows: T[]) => ComponentChildren;
  children?: ComponentChildren;
}

export function List<T>({ title, list, text, empty, onNew, table, children }: Props<T>) {
  const q = route.value.params.get("q") ?? "";
  const all = list.value ?? [];
  const rows = all.filter((r) => text(r).toLowerCase().includes(q.toLowerCase()));
  return (
    <div class="page">
      <header>
        <h1>{title}</h1>
        <input class="input" type="search" placeholder="Find" aria-label={`Find in ${title.toLowerCase()}`} value={q} onInput={(e) => setParams({ q: e.currentTarget.value }, true)} />
        <span class="grow" />
        {allows("full") && <button type="button" class="button primary" onClick={onNew}><Icon name="plus" small />New</button>}
      </header>
      {list.loading && <div class="progress" />}
      <div class="settings">
        {list.error ? <Problem error={list.error} retry={list.reload} /> : rows.length > 0 ? table(rows)
          : list.value && (all.length > 0 ? <Empty title={`None has “${q}”`}><button type="button" class="button" onClick={() => setParams({ q: null }, true)}>{`Show all ${all.length}`}</button></Empty> : <Empty title={`No ${title.toLowerCase()} yet`}><p>{empty}</p></Empty>)}
      </div>
      {list.value && <div class="foot" role="status">{`${q ? `${format.count(rows.length)} of ` : ""}${format.plural(all.length, title.toLowerCase().slice(0, -1))}`}</div>}
      {children}
    </div>
  );
}
