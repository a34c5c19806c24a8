// The filter bar: text in one grammar, completed from the fields and values that there are.
import { useEffect, useRef, useState } from "preact/hooks";
import { bare, compile, quote, termAt } from "../model/filter.ts";
import { Icon } from "./icon.tsx";

export interface Suggestion {
  text: string; // what is inserted
  label: string;
  note?: string;
}

interface Props {
  text: string;
  of: "sessions" | "events";
  fields: string[];
  values: (field: string, typed: string) => Promise<{ value: string; count: number }[]>;
  /** Texts that can be read, once they are done. */
  onChange?: (text: string) => void;
  /** Every text, as it is typed, which then stands in text. */
  onType?: (text: string) => void;
}

export const barId = "filter-bar";

export function FilterBar({ text, of, fields, values, onChange, onType }: Props) {
  const [own, setDraft] = useState(text);
  const draft = onType ? text : own;
  const [open, setOpen] = useState(false);
  const [list, setList] = useState<Suggestion[]>([]);
  const [chosen, setChosen] = useState<string | null>(null); // a suggestion's text: a list that comes later has it at another place
  const at = list.findIndex((s) => s.text === chosen);
  const input = useRef<HTMLInputElement>(null);
  const turn = useRef(0);
  useEffect(() => setDraft((before) => (before.trim() === text.trim() ? before : text)), [text]); // the room for the next word stays
  const { problem } = compile(draft, of);
  const type = (value: string) => {
    setDraft(value);
    onType?.(value);
  };

  const suggest = async (value: string) => {
    const mine = ++turn.current;
    const { typed, field: listed } = termAt(value, input.current?.selectionStart ?? value.length);
    setChosen(null);
    setList((before) => before.filter((s) => s.text.startsWith(typed))); // until there is an answer
    const match = /^(-?)([^\s:~<>!"]+)(:|~|!~)"?(.*)$/.exec(typed);
    let next: Suggestion[] = [];
    if (listed !== null) {
      const found = typed === "OR" ? [] : await values(listed, typed.replace(/^"/, "")).catch(() => []);
      next = found.map((v) => ({ text: quote(v.value), label: v.value, note: v.count > 0 ? String(v.count) : undefined }));
    } else if (match) {
      const [, minus = "", field = "", sign = "", part = ""] = match;
      const found = await values(field, part).catch(() => []);
      next = found.map((v) => ({ text: `${minus}${field}${sign}${quote(v.value)}`, label: v.value, note: String(v.count) }));
    } else if (typed !== "") {
      const part = typed.replace(/^-?"?/, "");
      next = fields.filter((f) => f.startsWith(part) || f.includes(`.${part}`)).slice(0, 12).map((f) => ({ text: `${typed.startsWith("-") ? "-" : ""}${bare(f)}:`, label: f }));
    } else {
      next = fields.slice(0, 12).map((f) => ({ text: `${bare(f)}:`, label: f }));
    }
    if (mine === turn.current) setList(next);
  };

  const take = (s: Suggestion) => {
    const caret = input.current?.selectionStart ?? draft.length;
    const { from } = termAt(draft, caret);
    const done = !s.text.endsWith(":");
    const next = `${draft.slice(0, from)}${s.text}${done ? " " : ""}${draft.slice(caret).trimStart()}`;
    const place = from + s.text.length + (done ? 1 : 0);
    if (input.current) {
      input.current.value = next; // at once: letters that follow come before the next frame
      input.current.setSelectionRange(place, place);
    }
    type(next);
    void suggest(next);
    if (done) commit(next);
  };

  const commit = (value: string) => {
    if (onChange && value.trim() !== text.trim() && !compile(value, of).problem) onChange(value.trim());
  };

  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      setOpen(true);
      const down = e.key === "ArrowDown";
      const next = at < 0 ? (down ? 0 : list.length - 1) : (at + (down ? 1 : -1) + list.length) % list.length;
      setChosen(list[next]?.text ?? null);
    } else if (e.key === "Enter") {
      e.preventDefault();
      const suggestion = open ? list[at] : undefined;
      if (suggestion) take(suggestion);
      else {
        commit(draft);
        setOpen(false);
      }
    } else if (e.key === "Tab" && open && at >= 0) {
      e.preventDefault();
      take(list[at]!);
    } else if (e.key === "Escape") {
      e.preventDefault();
      if (open && list.length > 0) setOpen(false);
      else input.current?.blur();
    }
  };

  return (
    <div class="bar">
      <Icon name="search" small />
      <input ref={input} id={barId} class="input" type="text" spellcheck={false} autocomplete="off" value={draft} aria-label="Filters"
        placeholder={of === "sessions" ? "name:checkout  cost>0.1  event.model:gpt-4o  refund" : "type:tool  name:search  duration>2s  has:error"}
        role="combobox" aria-expanded={open && list.length > 0} aria-controls="filter-suggestions" aria-activedescendant={at >= 0 ? `suggestion-${at}` : undefined}
        onInput={(e) => { type(e.currentTarget.value); setOpen(true); void suggest(e.currentTarget.value); }}
        onFocus={() => { setOpen(true); void suggest(draft); }}
        onBlur={() => { setOpen(false); commit(draft); }}
        onKeyDown={onKeyDown} />
      {open && list.length > 0 && (
        <ul class="suggest" id="filter-suggestions" role="listbox" aria-label="Completions">
          {list.map((s, i) => (
            <li key={s.text} id={`suggestion-${i}`} role="option" aria-selected={i === at} onMouseDown={(e) => { e.preventDefault(); take(s); }}>
              <code class="ellipsis grow">{s.label}</code>
              {s.note && <span class="faint">{s.note}</span>}
            </li>
          ))}
        </ul>
      )}
      {problem && !(open && list.length > 0) && <div class="problem" role="alert">{problem}</div>}
    </div>
  );
}
