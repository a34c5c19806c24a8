// Facets: the values of some fields with how often they occur, beside a list. Ticking one writes the filter bar's text.
import { useState } from "preact/hooks";
import * as format from "../model/format.ts";
import { useLoaded } from "./common.tsx";
import { Icon } from "./icon.tsx";

export interface Facet {
  field: string; // as the filter bar names it
  label: string;
}

export interface FacetValues {
  values: { value: string; count: number }[];
  complete: boolean; // false: counted among the newest only
  counted: boolean; // the counts are of what the list shows
}

interface Props {
  facets: Facet[];
  more: string[]; // fields that can be added
  chosen: (field: string) => string[];
  load: (field: string, limit: number, signal: AbortSignal) => Promise<FacetValues>;
  version: string; // changes when what is counted does
  onChoose: (field: string, values: string[]) => void;
  onAdd: (field: string) => void;
  onRemove: (field: string) => void;
  removable: (field: string) => boolean;
  onClose: () => void;
}

const few = 8;
const most = 100;

export function Facets(p: Props) {
  const [query, setQuery] = useState("");
  const found = query === "" ? [] : p.more.filter((f) => f.toLowerCase().includes(query.toLowerCase())).slice(0, 20);
  return (
    <aside class="facets" aria-label="Facets">
      <header>
        <h2 class="grow">Facets</h2>
        <button type="button" class="button plain icon" aria-label="Close the facets" onClick={p.onClose}><Icon name="close" small /></button>
      </header>
      <div class="scroll">
        {p.facets.map((f, i) => <One key={f.field} facet={f} first={i < 3} {...p} />)}
        <input class="input add" type="text" value={query} placeholder="Add a field" aria-label="Add a field" spellcheck={false} onInput={(e) => setQuery(e.currentTarget.value)} />
        {query !== "" && (
          <ul class="found">
            {found.length === 0 && <li class="faint">No field has this name</li>}
            {found.map((f) => <li key={f}><button type="button" title={f} onClick={() => { p.onAdd(f); setQuery(""); }}>{f}</button></li>)}
          </ul>
        )}
      </div>
    </aside>
  );
}

function One({ facet, first, chosen, load, version, onChoose, onRemove, removable }: Props & { facet: Facet; first: boolean }) {
  const { field } = facet;
  const ticked = chosen(field);
  const [open, setOpen] = useState(first || ticked.length > 0 || removable(field));
  const [limit, setLimit] = useState(few);
  // One more than is shown tells whether there are more.
  const state = useLoaded(open ? JSON.stringify([field, limit, version]) : null, (signal) => load(field, Math.min(most, limit + 1), signal));
  const values = state.value?.values ?? [];
  const shown = values.slice(0, limit);
  const missing = ticked.filter((v) => !shown.some((s) => s.value === v));
  const top = Math.max(1, ...shown.map((v) => v.count));
  const toggle = (value: string) => onChoose(field, ticked.includes(value) ? ticked.filter((v) => v !== value) : [...ticked, value]);
  return (
    <section>
      <h3>
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name={open ? "down" : "right"} small /><span class="ellipsis" title={field}>{facet.label}</span>
          {ticked.length > 0 && <span class="chip">{ticked.length}</span>}
        </button>
        {ticked.length > 0 && <button type="button" class="small" onClick={() => onChoose(field, [])}>Clear</button>}
        {removable(field) && <button type="button" class="small" aria-label={`Take ${facet.label} away`} onClick={() => onRemove(field)}><Icon name="close" small /></button>}
      </h3>
      {open && (
        <>
          {state.error ? <p class="bad">{format.messageOf(state.error)}</p> : null}
          {state.value && values.length === 0 && missing.length === 0 && <p class="faint">No values</p>}
          <ul aria-busy={state.loading}>
            {[...missing.map((value) => ({ value, count: -1 })), ...shown].map((v) => (
              <li key={v.value}>
                <label title={v.value}>
                  {state.value?.counted && v.count > 0 && <span class="share" style={{ width: `${(v.count / top) * 100}%` }} />}
                  <input type="checkbox" checked={ticked.includes(v.value)} onChange={() => toggle(v.value)} />
                  <span class="ellipsis grow">{v.value === "" ? "(empty)" : v.value}</span>
                  {state.value?.counted && v.count >= 0 && <span class="faint">{`${state.value.complete ? "" : "≥ "}${format.short(v.count)}`}</span>}
                </label>
              </li>
            ))}
          </ul>
          {values.length > limit && limit < most && <button type="button" class="small" onClick={() => setLimit(most)}>More</button>}
          {limit >= most && values.length >= most && <p class="faint">{`The ${most} most frequent`}</p>}
        </>
      )}
    </section>
  );
}
