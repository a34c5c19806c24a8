// How values are written. All functions are pure; times are in the browser's time zone.
import { dayOf, shown } from "./clock.ts";

const number = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });

/** 1234567 → "1,234,567". */
export function count(n: number): string {
  return number.format(n);
}

/** 1234567 → "1.2M"; below ten thousand as count. */
export function short(n: number): string {
  for (const [from, size, unit] of [[999.5e6, 1e9, "B"], [999.5e3, 1e6, "M"], [1e4, 1e3, "k"]] as const) { // each bound is where a number would round up to the next unit
    if (Math.abs(n) >= from) return `${(n / size).toFixed(Math.abs(n) < 99.95 * size ? 1 : 0)}${unit}`;
  }
  return count(n);
}

/** Milliseconds as a person reads them: 0.4 → "0.4 ms", 1234 → "1.23 s", 75,000 → "1 m 15 s", 300,000 → "5 m". */
export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "–";
  if (ms < 0.95) return `${ms.toFixed(ms === 0 ? 0 : 1)} ms`; // each bound is where a number would round up to the next unit
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9995) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 59_500) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return twoUnits(Math.floor(seconds / 60), "m", seconds % 60, "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 48 * 60) return twoUnits(Math.floor(minutes / 60), "h", minutes % 60, "m");
  return twoUnits(Math.floor(minutes / 1440), "d", Math.floor((minutes % 1440) / 60), "h");
}

/** A number of a unit and what is left over in the smaller unit, if anything is: "1 m 15 s", "5 m". */
function twoUnits(n: number, unit: string, rest: number, smaller: string): string {
  return rest === 0 ? `${n} ${unit}` : `${n} ${unit} ${rest} ${smaller}`;
}

/** US dollars with as many digits as tell something: 0.00042 → "$0.00042", 12.3456 → "$12.35". */
export function cost(usd: number): string {
  if (usd === 0) return "$0";
  if (Math.abs(usd) >= 1) return `$${number.format(Math.round(usd * 100) / 100)}`;
  return `$${Number(usd.toPrecision(2)).toFixed(Math.min(12, Math.max(2, 1 - Math.floor(Math.log10(Math.abs(usd))))))}`;
}

/** Bytes: 1536 → "1.5 KB", 5368709120 → "5.0 GB". */
export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1 << 20) return `${(n / 1024).toFixed(1)} KB`;
  if (n < 1 << 30) return `${(n / (1 << 20)).toFixed(1)} MB`;
  return `${(n / (1 << 30)).toFixed(1)} GB`;
}

/** The date and time, to the millisecond: "2026-11-22 14:03:05.123". Years beyond four digits stay readable. */
export function time(ms: number): string {
  const d = shown(ms);
  if (Number.isNaN(d.getTime())) return "–";
  const two = (n: number) => String(n).padStart(2, "0");
  return `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())} ${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())}.${String(d.getUTCMilliseconds()).padStart(3, "0")}`;
}

/** The time as a list shows it: today "14:03:05", else "Nov 21 14:03", another year with it. */
export function shortTime(ms: number, now: number): string {
  const text = time(ms);
  const today = time(now);
  if (text === "–") return text;
  const at = text.indexOf(" ");
  const [date, clock] = [text.slice(0, at), text.slice(at + 1, at + 9)];
  if (date === today.slice(0, today.indexOf(" "))) return clock;
  if (text.slice(0, 4) === today.slice(0, 4)) return `${dayOf(ms)} ${clock.slice(0, 5)}`;
  return date;
}

/** How long ago: "12 s ago", "3 min ago", "5 h ago", "4 d ago". */
export function ago(ms: number, now: number): string {
  const s = Math.max(0, Math.round((now - ms) / 1000));
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86_400)} d ago`;
}

/** A noun with its number: plural(1, "error") → "1 error". */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A text in lower case that is as long: each letter is where it was. */
export function lower(text: string): string {
  return text.replaceAll("İ", "i").toLowerCase();
}

/** A value of any kind in one line. */
export function value(v: unknown): string {
  if (typeof v === "string") return v;
  if (typeof v === "number") return Math.abs(v) < 1 ? String(Number(v.toPrecision(4))) : number.format(v);
  if (v === undefined) return "";
  return JSON.stringify(v);
}

/** What an error says: what is thrown need not be one. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
