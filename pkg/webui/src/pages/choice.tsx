// Rows of a list that are chosen, and what is done with several at once.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { addCommands, keysOf } from "../app/keymap.ts";
import { allows } from "../app/session.ts";
import { filtersOf, maxChosen } from "../model/export.ts";
import * as format from "../model/format.ts";
import { useLoaded } from "../parts/common.tsx";
import { Icon } from "../parts/icon.tsx";
import { AddToQueue } from "./addtoqueue.tsx";
import { DeleteMatching } from "./deletematching.tsx";

/** At most so many events are put into a queue at a time, as the server takes them. */
const maxQueued = 1000;

export interface Choice {
  ids: string[]; // in the order in which they were chosen
  all: boolean; // all that match are chosen, whatever is loaded
  any: boolean;
  table: { has: (id: string) => boolean; any: boolean; every: boolean; onToggle: (id: string, range: boolean) => void; onEvery: () => void };
  chooseAll: () => void;
  clear: () => void;
}

/**
 * Chooses rows of a list, by their boxes and by keys. key is what the list shows: another one ends the choice, since rows that are not in sight any
 * more are not meant. at is the current row, which move makes another one.
 */
export function useChoice(rows: string[], at: string | null, key: string, move: (id: string) => void): Choice {
  const [state, setState] = useState<{ key: string; ids: string[]; all: boolean; last: string | null }>({ key, ids: [], all: false, last: null });
  const now = state.key === key ? state : { key, ids: [], all: false, last: null };
  useLayoutEffect(() => setState((s) => (s.key === key ? s : { key, ids: [], all: false, last: null })), [key]); // nor is it there again on the way back
  const set = (ids: string[], last: string | null) => setState({ key, ids: ids.slice(0, maxChosen), all: false, last });
  const toggle = (id: string, range: boolean) => {
    const ids = now.all ? rows.slice(0, maxChosen) : now.ids;
    const from = now.last === null ? -1 : rows.indexOf(now.last);
    const to = rows.indexOf(id);
    if (range && from >= 0 && to >= 0) return set([...new Set([...ids, ...rows.slice(Math.min(from, to), Math.max(from, to) + 1)])], id);
    set(ids.includes(id) ? ids.filter((x) => x !== id) : [...ids, id], id);
  };
  const every = rows.length > 0 && (now.all || rows.slice(0, maxChosen).every((id) => now.ids.includes(id)));
  const onEvery = () => (every ? set([], null) : set(rows, null));
  const byKey = (range: boolean) => {
    const id = at !== null && rows.includes(at) ? at : rows[0];
    if (id === undefined) return;
    if (id !== at) move(id);
    toggle(id, range);
  };
  const act = useRef({ byKey, onEvery });
  act.current = { byKey, onEvery };
  useLayoutEffect(() => addCommands([
    { id: "choose", keys: ["x"], label: "Select the row", group: "Several rows", run: () => act.current.byKey(false) },
    { id: "choose-range", keys: ["shift+x"], label: "Select all rows up to this one", group: "Several rows", run: () => act.current.byKey(true) },
    { id: "choose-every", keys: ["mod+a"], label: "Select all rows that are loaded, or none", group: "Several rows", run: () => act.current.onEvery() },
  ]), []);
  const chosen = new Set(now.ids);
  return {
    ids: now.ids, all: now.all, any: now.all || now.ids.length > 0,
    table: { has: (id) => now.all || chosen.has(id), any: now.all || now.ids.length > 0, every, onToggle: toggle, onEvery },
    chooseAll: () => setState({ key, ids: [], all: true, last: null }),
    clear: () => set([], null),
  };
}

/** What can be done with the rows that are chosen. */
export function ChoiceBar({ of, choice, total, search, range, ids, onDeleted, onError }: {
  of: "events" | "sessions";
  choice: Choice;
  total: number | null;
  search: object; // what is filtered, as a search has it
  range: string;
  ids: (signal: AbortSignal) => Promise<string[]>; // of all that match, if they are few enough for a queue
  onDeleted: () => void;
  onError: (error: unknown) => void;
}) {
  const [open, setOpen] = useState<"queue" | "dataset" | "delete" | null>(null);
  const [queued, setQueued] = useState<string[]>([]);
  const dialog = useLoaded(open === "dataset" ? "dialog" : null, () => import("./datasets/fromlist.tsx"));
  const may = allows("full");
  const n = choice.all ? total ?? 0 : choice.ids.length;
  const noun = of.slice(0, -1);
  const one = choice.all ? search : { filters: filtersOf(of, choice.ids) };
  const queue = async () => {
    try {
      setQueued(choice.all ? await ids(new AbortController().signal) : choice.ids);
      setOpen("queue");
    } catch (e) {
      onError(e);
    }
  };
  const act = useRef({ queue });
  act.current = { queue };
  const shown = choice.any;
  useLayoutEffect(() => {
    if (!shown || !may) return;
    return addCommands([
      { id: "chosen-queue", keys: ["shift+q"], label: "Add what is selected to a queue", group: "Several rows", run: () => { if (n <= maxQueued) void act.current.queue(); } },
      { id: "chosen-dataset", keys: ["shift+d"], label: "Add what is selected to a dataset", group: "Several rows", run: () => setOpen("dataset") },
      { id: "chosen-delete", keys: ["delete"], label: "Delete what is selected", group: "Several rows", run: () => setOpen("delete") },
    ]);
  }, [shown, may, n]);
  if (!shown && open === null) return null;
  const close = () => setOpen(null);
  const tooMany = n > maxQueued;
  return (
    <>
      {shown && (
        <div class="chosen-bar" role="toolbar" aria-label="What is selected">
          <span role="status">{choice.all ? `All ${format.plural(n, noun)} that match` : `${format.plural(n, noun)} selected${n === maxChosen ? `, the most one by one` : ""}`}</span>
          {!choice.all && total !== null && total > n && choice.table.every && <button type="button" class="button plain" onClick={choice.chooseAll}>{`Select all ${format.count(total)} that match`}</button>}
          <span class="grow" />
          {may && (
            <>
              <button type="button" class="button" disabled={tooMany} title={tooMany ? `At most ${format.count(maxQueued)} at a time` : `Add to a queue (${keysOf("chosen-queue")})`} onClick={() => void queue()}>Add to a queue</button>
              <button type="button" class="button" title={`Add to a dataset (${keysOf("chosen-dataset")})`} onClick={() => setOpen("dataset")}>Add to a dataset</button>
              <button type="button" class="button danger" title={`Delete (${keysOf("chosen-delete")})`} onClick={() => setOpen("delete")}>Delete…</button>
            </>
          )}
          <button type="button" class="button plain icon" aria-label="Select nothing" title="Select nothing (Esc)" onClick={choice.clear}><Icon name="close" small /></button>
        </div>
      )}
      {open === "queue" && <AddToQueue events={queued} onClose={close} />}
      {open === "dataset" && dialog.value && <dialog.value.FromList of={of} search={one} onClose={close} />}
      {open === "delete" && <DeleteMatching of={of} search={one} range={choice.all ? range : null} onClose={close} onDeleted={() => { choice.clear(); onDeleted(); }} />}
    </>
  );
}
