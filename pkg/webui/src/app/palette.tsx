// The palette: commands, pages, and the id of anything.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, call } from "../api/client.ts";
import { searchFields, searchSessions } from "../api/search.ts";
import type { Event, GetRunAnswer, Snippet } from "../api/types.gen.ts";
import { plural } from "../model/format.ts";
import { Dialog } from "../parts/common.tsx";
import { Icon, TypeIcon } from "../parts/icon.tsx";
import { commands, lettersOff, show } from "./keymap.ts";
import { go, href } from "./router.ts";

interface Item {
  id: string;
  label: string;
  snippet?: Snippet | undefined;
  note?: string;
  type?: string;
  run: () => void;
}

/** Reports whether a text is an id: a UUID, or that of a trace or a span as OpenTelemetry writes it. */
const isId = (text: string) => /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{16})$/i.test(text);

/** How well a text matches what was typed: the letters in order, words' beginnings first; null if it does not. */
export function score(typed: string, label: string): number | null {
  const t = typed.toLowerCase();
  const l = label.toLowerCase();
  const at = l.indexOf(t);
  if (at >= 0) return at === 0 ? 0 : l[at - 1] === " " ? 1 : 2;
  let i = 0;
  for (const c of l) if (c === t[i]) i++;
  return i === t.length ? 10 : null;
}

export function Palette({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const [found, setFound] = useState<Item[]>([]);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []); // before the next key
  const text = typed.trim();

  const fixed = useMemo(() => {
    const items: Item[] = commands.value.filter((c) => c.id !== "palette").map((c) => ({ id: c.id, label: c.label, note: c.keys[0] ? show(c.keys[0]) : "", run: c.run }));
    return items
      .map((item) => ({ item, score: text === "" ? 0 : score(text, item.label) }))
      .filter((x): x is { item: Item; score: number } => x.score !== null)
      .sort((a, b) => a.score - b.score)
      .slice(0, 12);
  }, [text, commands.value]);

  useEffect(() => {
    setFound([]);
    setAt(0);
    if (text.length < 2) return;
    const stop = new AbortController();
    const timer = setTimeout(() => void look(text, stop.signal).then((items) => { if (!stop.signal.aborted) setFound(items); }).catch(() => {}), 150);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [text]);

  // What is called like that comes before what was found, and before what only has the letters.
  const called = (x: { score: number }) => text !== "" && x.score < 2;
  const items = [...fixed.filter(called), ...found.map((item) => ({ item })), ...fixed.filter((x) => !called(x))].map((x) => x.item);
  if (text !== "" && !isId(text)) {
    items.push({ id: "words", label: `Search events for “${text}”`, run: () => go(href(["events"], { q: `"${text.replace(/[\\"]/g, "\\$&")}"` })) });
    items.push({ id: "words-sessions", label: `Search sessions for “${text}”`, run: () => go(href(["sessions"], { q: `"${text.replace(/[\\"]/g, "\\$&")}"` })) });
  }
  const run = (item: Item | undefined) => {
    if (!item) return;
    onClose();
    setTimeout(item.run, 0); // once the dialog is gone, so that what it focuses keeps the focus
  };
  return (
    <Dialog label="Palette" className="palette" onClose={onClose}>
      <input ref={input} type="text" placeholder="A page, a command, an id, or words" aria-label="A page, a command, an id, or words" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={`palette-${at}`}
        value={typed} spellcheck={false} onInput={(e) => setTyped(e.currentTarget.value)}
        onKeyDown={(e) => {
          const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
          if (by && items.length > 0) {
            e.preventDefault();
            setAt((at + by + items.length) % items.length);
          } else if (e.key === "Enter") {
            e.preventDefault();
            run(items[at]);
          }
        }} />
      <ul id="palette-list" role="listbox" aria-label="Results">
        {items.map((item, i) => (
          <li key={item.id + item.label} id={`palette-${i}`} role="option" aria-selected={i === at} onClick={() => run(item)} onMouseMove={() => setAt(i)}>
            {item.type && <TypeIcon type={item.type} small />}
            <span class={item.snippet ? "ellipsis" : "ellipsis grow"}>{item.label}</span>
            {item.snippet && <span class="snippet ellipsis grow" title={item.snippet.field}>{item.snippet.before}<mark>{item.snippet.hit}</mark>{item.snippet.after}</span>}
            {item.note && <kbd>{item.note}</kbd>}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** How far back the palette looks into contents; the lists look further. */
const contentsRange = "7d";

/** The item of an event, which leads to it in its session. */
function eventItem(e: Pick<Event, "event_id" | "session_id" | "event_name" | "event_type">): Item {
  return { id: e.event_id, label: e.event_name, type: e.event_type, run: () => go(href(["session", e.session_id], e.event_id === e.session_id ? {} : { e: e.event_id })) };
}

/** Looks for what has an id: an event or session, else a run, the sessions of a run or a datapoint, else events of the last days of a trace or with a span. */
async function lookForId(text: string, signal: AbortSignal): Promise<Item[]> {
  const id = text.toLowerCase().replaceAll("-", "");
  const dashed = id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  const sessionsOf = async (what: string, field: string): Promise<Item[]> => {
    const answer = await searchSessions({ filters: [{ field, operator: "is", value: dashed }], limit: 1, total: "exact" }, signal);
    const label = `${plural(answer.total ?? 0, "session")} of the ${what} ${dashed}`;
    return answer.total ? [{ id: what, label, type: "session", run: () => go(href(["sessions"], { q: `${field}:${dashed}`, range: "all" })) }] : [];
  };
  const eventsOf = async (field: string): Promise<Item[]> => {
    const answer = await searchFields(["session_id", "event_name", "event_type"], [], {
      filters: [{ field, operator: "is", value: id }], dateRange: contentsRange, sort: "start", order: "asc", limit: 5, total: "none",
    }, signal);
    return answer.events.map(eventItem);
  };
  const none: Item[] = [{ id: "none", label: `Nothing has the id ${text}: no event, session, run, datapoint, and no trace or span of the last 7 days`, run: () => {} }];
  const orNone = (items: Item[]) => (items.length > 0 ? items : none);
  if (id.length === 16) return orNone(await eventsOf("metadata.span_id"));
  try {
    return [eventItem(await call<Event>(`v1/events/${dashed}?children=none`, { signal }))];
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  }
  const experiment = async (): Promise<Item[]> => {
    try {
      const { evaluation } = await call<GetRunAnswer>(`v1/runs/${dashed}`, { signal });
      return [{ id: "experiment", label: `Experiment ${evaluation.name}`, run: () => go(href(["experiments", dashed])) }];
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
      return [];
    }
  };
  const owned = (await Promise.all([experiment(), sessionsOf("run", "metadata.run_id"), sessionsOf("datapoint", "metadata.datapoint_id")])).flat();
  return orNone(owned.length > 0 ? owned : await eventsOf("metadata.trace_id"));
}

/** Looks for what has an id; or for sessions by name, and for events of the last days by what went in and out. */
async function look(text: string, signal: AbortSignal): Promise<Item[]> {
  if (isId(text)) return lookForId(text, signal);
  const named = searchSessions({ filters: [{ field: "event_name", operator: "contains", value: text }], limit: 5 }, signal);
  const worded = searchFields(["session_id", "event_name", "event_type"], [], {
    filters: [{ field: "text", operator: "contains", value: text }, { field: "event_type", operator: "is not", value: "session" }], dateRange: contentsRange, limit: 5, total: "none", snippets: true,
  }, signal);
  const [sessions, events] = await Promise.all([named, worded]);
  return [
    ...sessions.sessions.map((s): Item => ({ id: s.session_id, label: s.session_name, type: "session", run: () => go(href(["session", s.session_id])) })),
    ...events.events.map((e): Item => ({ id: e.event_id, label: e.event_name, type: e.event_type, snippet: e.snippets?.find((s) => s.field !== "event_name"), run: () => go(href(["session", e.session_id], { e: e.event_id, find: text })) })),
  ];
}

/** The sheet of all keys that work now. */
export function KeySheet({ onClose }: { onClose: () => void }) {
  const groups = [...new Set(commands.value.map((c) => c.group))];
  return (
    <Dialog label="Keys" onClose={onClose}>
      <div class="sheet">
        <div class="form-end"><h2 class="grow">Keys</h2><button type="button" class="button plain icon" aria-label="Close" onClick={onClose}><Icon name="close" small /></button></div>
        {groups.map((g) => (
          <section key={g}>
            <h2 class="secondary">{g}</h2>
            <dl>
              {commands.value.filter((c) => c.group === g && c.keys.length > 0).map((c) => [<dt key={`${c.id}k`}>{c.keys.map((k) => <kbd key={k}>{show(k)}</kbd>)}</dt>, <dd key={`${c.id}l`}>{c.label}</dd>])}
            </dl>
          </section>
        ))}
        <label class="secondary"><input type="checkbox" checked={lettersOff.value} onChange={(e) => { lettersOff.value = e.currentTarget.checked; localStorage.setItem("spangrove.letters", e.currentTarget.checked ? "off" : "on"); }} /> Single letters do nothing</label>
      </div>
    </Dialog>
  );
}
