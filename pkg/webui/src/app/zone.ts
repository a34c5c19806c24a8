// The zone that times are shown in: that of this machine, or UTC; kept in this browser.
import { effect, signal } from "@preact/signals";
import { showUTC } from "../model/clock.ts";

/** The zone of this machine, such as "Europe/Lisbon". */
export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

export const utc = signal(localStorage.getItem("spangrove.zone") === "UTC");

effect(() => {
  showUTC(utc.value);
  if (utc.value) localStorage.setItem("spangrove.zone", "UTC");
  else localStorage.removeItem("spangrove.zone");
});
