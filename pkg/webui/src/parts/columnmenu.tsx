// The menu of a list's columns: which, in which order, and how high its rows are.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

export type Density = "compact" | "normal" | "comfortable";

const kept = localStorage.getItem("spangrove.density");

/** How high the rows of lists are; the browser keeps it. */
export const density = signal<Density>(kept === "compact" || kept === "comfortable" ? kept : "normal");

const coarse = matchMedia("(pointer: coarse)");

/** The height of a row in pixels; fingers need 44. */
export function rowHeight(): number {
  const own = { compact: 28, normal: 32, comfortable: 52 }[density.value];
  return coarse.matches ? Math.max(44, own) : own;
}

interface Props {
  standard: { id: string; label: string }[];
  chosen: string[];
  fields: string[]; // paths that can become columns
  own: boolean; // the columns are not those the list has by itself
  label: (id: string) => string;
  onChange: (ids: string[] | null) => void;
}

export function ColumnMenu({ standard, chosen, fields, own, label, onChange }: Props) {
  const [query, setQuery] = useState("");
  const q = query.toLowerCase();
  const others = [...standard.map((c) => c.id), ...fields].filter((id) => !chosen.includes(id) && (q === "" || label(id).toLowerCase().includes(q) || id.toLowerCase().includes(q)));
  const move = (id: string) => {
    const at = chosen.indexOf(id);
    const next = [...chosen];
    next.splice(at - 1, 2, id, chosen[at - 1]!);
    onChange(next);
  };
  return (
    <>
      <button type="button" class="button icon" popoverTarget="columns-menu" title="Columns and height of rows" aria-label="Columns"><Icon name="columns" small /></button>
      <div id="columns-menu" class="menu columns-menu" popover="auto">
        <div class="segments" role="group" aria-label="Height of rows">
          {(["compact", "normal", "comfortable"] as const).map((d) => (
            <button key={d} type="button" aria-pressed={density.value === d} onClick={() => { density.value = d; localStorage.setItem("spangrove.density", d); }}>{d}</button>
          ))}
        </div>
        <ul aria-label="Columns shown">
          {chosen.map((id, i) => (
            <li key={id}>
              <button type="button" aria-pressed="true" title={`Hide ${id}`} disabled={chosen.length === 1} onClick={() => onChange(chosen.filter((c) => c !== id))}><Icon name="check" small /><span class="grow ellipsis">{label(id)}</span></button>
              {i > 0 && <button type="button" class="move" title="One place to the left" aria-label={`Move ${label(id)} to the left`} onClick={() => move(id)}><Icon name="up" small /></button>}
            </li>
          ))}
        </ul>
        <input class="input" type="text" value={query} placeholder="Find a field" aria-label="Find a field" spellcheck={false} onInput={(e) => setQuery(e.currentTarget.value)} />
        <ul aria-label="Columns not shown">
          {others.length === 0 && <li class="faint">No other field</li>}
          {others.slice(0, 50).map((id) => (
            <li key={id}><button type="button" aria-pressed="false" title={id} onClick={() => onChange([...chosen, id])}><Icon name="plus" small /><span class="grow ellipsis">{standard.some((c) => c.id === id) ? label(id) : id}</span></button></li>
          ))}
          {others.length > 50 && <li class="faint">{`${others.length - 50} more: type a part of the name`}</li>}
        </ul>
        {own && <button type="button" onClick={() => onChange(null)}>As they were</button>}
      </div>
    </>
  );
}
