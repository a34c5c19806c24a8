// The range of time of a list: relative words, or two times.
import { useRef, useState } from "preact/hooks";
import type { DateRange } from "../api/types.gen.ts";
import { ownZone, utc } from "../app/zone.ts";
import { dayOf, fieldTime, parse } from "../model/clock.ts";
import * as format from "../model/format.ts";
import { Icon } from "./icon.tsx";

export const ranges: [string, string][] = [["15m", "Last 15 minutes"], ["1h", "Last hour"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"], ["all", "All time"]];
export const defaultRange = "7d";

/** Returns the dateRange of the API for a range of the address: "7d", "all", or "from..to" in Unix milliseconds. */
export function dateRange(range: string): DateRange | undefined {
  if (range === "all") return undefined;
  const [from, to] = range.split("..");
  if (to !== undefined) return { $gte: Number(from), ...(to ? { $lte: Number(to) } : {}) };
  return range;
}

/** The bounds of a range, in Unix milliseconds; null: open. */
export function bounds(range: string, now: number): { from: number | null; to: number | null } {
  const [from, to] = range.split("..");
  if (to !== undefined) return { from: Number(from), to: to ? Number(to) : null };
  const match = /^(\d+)([mhdw])$/.exec(range);
  if (!match) return { from: null, to: null };
  const unit = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }[match[2] as "m" | "h" | "d" | "w"];
  return { from: now - Number(match[1]) * unit, to: null };
}

/** How a range reads. */
export function rangeLabel(range: string): string {
  const named = ranges.find(([id]) => id === range);
  if (named) return named[1];
  const { from, to } = bounds(range, Date.now());
  const show = (ms: number | null) => (ms === null ? "now" : `${dayOf(ms)} ${format.time(ms).slice(-12, -7)}`);
  return `${show(from)} – ${show(to)}`;
}

export function RangePicker({ range, onChange }: { range: string; onChange: (range: string) => void }) {
  const menu = useRef<HTMLDivElement>(null);
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const pick = (value: string) => {
    menu.current?.hidePopover();
    onChange(value);
  };
  const own = () => {
    const a = parse(from);
    const b = parse(to);
    if (!Number.isNaN(a)) pick(`${a}..${Number.isNaN(b) ? "" : b}`);
  };
  return (
    <>
      <button type="button" class="button range-button" popoverTarget="range-menu" aria-label={`Range of time: ${rangeLabel(range)}`}>
        {rangeLabel(range)}
        <Icon name="down" small />
      </button>
      <div ref={menu} id="range-menu" class="menu range-menu" popover="auto"
        onToggle={(e) => {
          if (e.newState !== "open") return;
          const b = bounds(range, Date.now());
          setFrom(b.from === null ? "" : fieldTime(b.from));
          setTo(b.to === null ? "" : fieldTime(b.to));
        }}>
        {ranges.map(([id, label]) => (
          <button key={id} type="button" onClick={() => pick(id)}>
            <span class="grow">{label}</span>
            {id === range && <Icon name="check" small />}
          </button>
        ))}
        <form class="own" onSubmit={(e) => { e.preventDefault(); own(); }}>
          <label class="secondary">From<input class="input" type="datetime-local" value={from} onInput={(e) => setFrom(e.currentTarget.value)} /></label>
          <label class="secondary">To<input class="input" type="datetime-local" value={to} onInput={(e) => setTo(e.currentTarget.value)} /></label>
          <button class="button" type="submit">Apply</button>
        </form>
        <div class="segments" role="group" aria-label="Time zone">
          <button type="button" aria-pressed={!utc.value} onClick={() => { utc.value = false; }}>{ownZone}</button>
          {ownZone !== "UTC" && <button type="button" aria-pressed={utc.value} onClick={() => { utc.value = true; }}>UTC</button>}
        </div>
      </div>
    </>
  );
}
