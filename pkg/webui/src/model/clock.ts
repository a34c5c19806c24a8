// The clock that times are shown by: that of this machine, or UTC.

let utc = false;

/** Makes all times be shown in UTC, or in the zone of this machine. */
export function showUTC(on: boolean): void {
  utc = on;
}

/** The time as a date whose UTC fields are what the clock shows. */
export function shown(ms: number): Date {
  const d = new Date(utc ? ms : ms - new Date(ms).getTimezoneOffset() * 60_000);
  return Number.isNaN(d.getTime()) ? new Date(ms) : d; // the first and the last day that a date can be
}

/** The Unix milliseconds of a date and time as fields of forms give it: "2026-11-22T14:03". */
export function parse(text: string): number {
  return Date.parse(utc && text !== "" ? `${text}Z` : text);
}

/** A date and time as fields of forms take it. */
export function fieldTime(ms: number): string {
  return shown(ms).toISOString().slice(0, 16);
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  second, 2 * second, 5 * second, 10 * second, 30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute,
  hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 30 * day, 90 * day, 365 * day,
];

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (n: number) => String(n).padStart(2, "0");

/** The day without its year: "Nov 21". */
export function dayOf(ms: number): string {
  const d = shown(ms);
  return `${months[d.getUTCMonth()]} ${d.getUTCDate()}`;
}

/** At most n times between two, at round times of the clock, and how a scale names them: "14:30", midnight as "Nov 21". */
export function ticks(from: number, to: number, n: number): { at: number; label: string }[] {
  const step = steps.find((s) => (to - from) / s <= n) ?? Math.ceil((to - from) / n / (365 * day)) * 365 * day;
  const ahead = shown(from).getTime() - from;
  const out: { at: number; label: string }[] = [];
  for (let clock = Math.ceil((from + ahead) / step) * step; clock - ahead <= to; clock += step) {
    // Where the clock was put forward or back since, the tick moves with it.
    const at = clock - (shown(clock - ahead).getTime() - (clock - ahead));
    const d = shown(at);
    const midnight = d.getUTCHours() === 0 && d.getUTCMinutes() === 0 && d.getUTCSeconds() === 0;
    const time = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}${step < minute ? `:${two(d.getUTCSeconds())}` : ""}`;
    const date = step >= 90 * day ? `${dayOf(at)}, ${d.getUTCFullYear()}` : dayOf(at);
    if (at >= from && at <= to) out.push({ at, label: step >= day || midnight ? date : time });
  }
  return out;
}
