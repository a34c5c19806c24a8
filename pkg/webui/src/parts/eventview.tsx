// What one event says: messages, the other fields, numbers, and where it came from.
import { useRef, useState } from "preact/hooks";
import type { Event } from "../api/types.gen.ts";
import * as format from "../model/format.ts";
import { inputMessages, outputMessages, type Message } from "../model/messages.ts";
import { scoresOf } from "../model/scores.ts";
import { Copy, useLoaded, type Loaded } from "./common.tsx";
import { Icon, TypeIcon } from "./icon.tsx";
import { Json } from "./json.tsx";
import { Markdown } from "./markdown.tsx";
import { Scores } from "./scores.tsx";
import { JsonValue, Messages } from "./messages.tsx";

interface Props {
  event: Event;
  /** Reads the text of one field as it is stored. */
  field: (name: string, signal: AbortSignal) => Promise<string>;
  /** The address of the judge's answer that a score comes from. */
  judge?: (metric: string) => string | null;
  onFilter?: (field: string, value: string, exclude: boolean) => void;
}

/** The fields after inputs, outputs and scores. */
const shown = ["config", "metadata", "feedback", "user_properties"] as const;

const isFilled = (v: unknown) => v !== undefined && v !== null && !(typeof v === "object" && Object.keys(v).length === 0) && v !== "";

export function EventView({ event: e, field, judge, onFilter }: Props) {
  const input = inputMessages(e.inputs);
  const output = outputMessages(e.outputs);
  const history = input.messages;
  return (
    <div class="event">
      <Numbers e={e} onFilter={onFilter} />
      {e.error && (
        <section class="notice bad" aria-label="Error">
          <h2 class="bad"><Icon name="alert" small /> Error</h2>
          <pre class="wrap" tabIndex={0}>{e.error}</pre>
        </section>
      )}
      <FieldSection title="Input" name="inputs" value={e.inputs} messages={history} rest={input.rest} field={field} id={e.event_id} />
      <FieldSection title="Output" name="outputs" value={e.outputs} messages={output.messages} rest={output.rest} field={field} id={e.event_id} />
      {isFilled(e.metrics) && (
        <section class="field" aria-label="Scores">
          <header><h2>Scores</h2><span class="grow" /><Copy plain text={() => field("metrics", new AbortController().signal)} label="Copy metrics as stored" /></header>
          <Scores scores={scoresOf(e.metrics).map((s) => ({ ...s, judge: judge?.(s.metric) ?? null }))} />
        </section>
      )}
      {shown.map((name) => isFilled(e[name]) && (
        <FieldSection key={name} title={{ config: "Configuration", metadata: "Metadata", feedback: "Feedback", user_properties: "User properties" }[name as "config"]}
          name={name} value={e[name]} messages={[]} rest={e[name]} field={field} id={e.event_id} folded={name === "metadata"} />
      ))}
    </div>
  );
}

/** The numbers of an event: each a value that can be filtered by. */
function Numbers({ e, onFilter }: { e: Event; onFilter?: Props["onFilter"] }) {
  const m = e.metadata ?? {};
  const c = e.config ?? {};
  const num = (v: unknown) => (typeof v === "number" ? v : null);
  const facts: [string, string, string | null, string | null][] = [["Start", format.time(e.start_time), null, null], ["Duration", format.duration(e.duration), null, null]];
  const add = (label: string, value: unknown, field: string | null) => {
    if (typeof value === "string" && value) facts.push([label, value, field, value]);
  };
  add("Model", c.model, "model");
  if (c.request_model !== c.model) add("Asked for", c.request_model, "config.request_model");
  add("Provider", c.provider, "config.provider");
  const first = num(m.time_to_first_token_ms) ?? num(m.time_to_first_token);
  if (first !== null) facts.push(["First token", format.duration(first), null, null]);
  for (const [key, label] of [["prompt_tokens", "Prompt"], ["cached_input_tokens", "of it cached"], ["completion_tokens", "Completion"], ["reasoning_tokens", "of it reasoning"], ["total_tokens", "Tokens"]] as const) {
    const n = num(m[key]);
    if (n !== null && n > 0) facts.push([label, format.count(n), null, null]);
  }
  const cost = num(m.cost);
  if (cost !== null) facts.push([{ computed: "Cost, from tokens and price", reported: "Cost, as reported" }[String(m.cost_source)] ?? "Cost", format.cost(cost), null, null]);
  add("Source", e.source === "unknown" ? "" : e.source, "source");
  add("Instrumentation", m.instrumentation ?? m.scope_name ?? (m.scope as Record<string, unknown> | undefined)?.name, null);
  add("Service", (m.resource as Record<string, unknown> | undefined)?.["service.name"] ?? m.service_name, null);
  return (
    <dl class="facts">
      {facts.map(([label, value, field, raw]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{field && raw && onFilter ? <button type="button" class="value" title="Click: only these. Alt+click: not these." onClick={(ev) => onFilter(field, raw, ev.altKey)}>{value}</button> : value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface Section {
  title: string;
  name: string;
  id: string;
  value: unknown;
  messages: Message[];
  rest: unknown;
  field: Props["field"];
  folded?: boolean;
}

/** One field: as messages and text, as JSON, or raw. */
function FieldSection({ title, name, id, value, messages, rest, field, folded }: Section) {
  const [view, setView] = useState<"pretty" | "json">("pretty");
  const [open, setOpen] = useState(!folded);
  const [whole, setWhole] = useState(false);
  const raw = useStored(view === "json" && open, id, name, value, field);
  if (!isFilled(value)) {
    return name === "inputs" || name === "outputs" ? <section class="field"><header><h2>{title}</h2><span class="faint">empty</span></header></section> : null;
  }
  const many = messages.length > 8 && !whole;
  const listed = many ? messages.slice(-6) : messages;
  const single = messages.length === 0 ? onlyText(rest) : null;
  return (
    <section class="field" aria-label={title}>
      <header>
        <button type="button" class="button plain" aria-expanded={open} onClick={() => setOpen(!open)}><Icon name={open ? "down" : "right"} small /><h2>{title}</h2></button>
        <span class="grow" />
        {open && (messages.length > 0 || single !== null) && (
          <span class="switch" role="group" aria-label="View">
            <button type="button" class="button plain" aria-pressed={view === "pretty"} onClick={() => setView("pretty")}>Pretty</button>
            <button type="button" class="button plain" aria-pressed={view === "json"} onClick={() => setView("json")}>JSON</button>
          </span>
        )}
        <Copy plain text={() => field(name, new AbortController().signal)} label={`Copy ${name} as stored`} />
      </header>
      {open && (view === "json" ? <Stored raw={raw} name={name} /> : (
        <>
          {many && <button type="button" class="button earlier" onClick={() => setWhole(true)}>{format.plural(messages.length - listed.length, "earlier message")}</button>}
          {listed.length > 0 && <Messages messages={listed} />}
          {single !== null ? <div class="single"><Markdown text={single} /></div> : isFilled(rest) && (messages.length > 0 ? <JsonValue value={rest} name={name} /> : <Whole id={id} name={name} value={value} field={field} />)}
        </>
      ))}
    </section>
  );
}

/** JSON that is the whole field is shown as stored, digit for digit; a part of it as it was read. */
function Whole({ id, name, value, field }: { id: string; name: string; value: unknown; field: Props["field"] }) {
  return <Stored raw={useStored(true, id, name, value, field)} name={name} />;
}

/** Reads the text of a field if it is wanted, and again when the event was read again: its value is another one then. */
function useStored(wanted: boolean, id: string, name: string, value: unknown, field: Props["field"]): Loaded<string> {
  const last = useRef({ value, turn: 0 });
  if (last.current.value !== value) last.current = { value, turn: last.current.turn + 1 };
  return useLoaded(wanted ? `${id}/${name} ${last.current.turn}` : null, (signal) => field(name, signal));
}

function Stored({ raw, name }: { raw: Loaded<string>; name: string }) {
  if (raw.error) return <p class="bad">{format.messageOf(raw.error)}</p>;
  return raw.value === null ? <p class="faint">…</p> : <Json text={raw.value} name={name} />;
}

/** The text of an object that has nothing but one text. */
function onlyText(v: unknown): string | null {
  if (typeof v === "string") return v;
  if (typeof v !== "object" || v === null || Array.isArray(v)) return null;
  const values = Object.values(v);
  return values.length === 1 && typeof values[0] === "string" && values[0].length > 0 ? values[0] : null;
}

/** The head of a panel with an event: what it is. */
export function EventTitle({ type, name }: { type: string; name: string }) {
  return (
    <>
      <TypeIcon type={type} />
      <h2 class="ellipsis grow" title={name}>{name}</h2>
    </>
  );
}
