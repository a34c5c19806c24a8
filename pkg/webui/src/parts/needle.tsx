// The needle: one time that all readings of a session and the strip above them point at. It is where the pointer is, else what was set, else
// the start of the event that is selected.
import { computed, effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export class Needle {
  readonly hover = signal<number | null>(null);
  readonly resting = signal<number | null>(null);
  readonly time = computed(() => this.hover.value ?? this.resting.value);
}

/** A line at the time of a needle. toShare gives its place as a share of the width; outside 0 to 1 there is none. */
export function NeedleLine({ needle, toShare }: { needle: Needle; toShare: (time: number) => number }) {
  const time = needle.time.value;
  const share = time === null ? NaN : toShare(time);
  return share >= 0 && share <= 1 ? <i class="needle" style={{ left: `${share * 100}%` }} /> : null;
}

/** Marks what runs at the time of a needle: all elements with data-event in a box of which runs says so, also those that come later. */
export function useNeedleMarks(box: { current: HTMLElement | null }, needle: Needle, runs: (event: string, time: number) => boolean): void {
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let frame = 0;
    let marked = false;
    const mark = (time: number | null) => {
      if (time === null && !marked) return;
      marked = time !== null;
      for (const row of element.querySelectorAll<HTMLElement | SVGElement>("[data-event]")) row.toggleAttribute("data-now", time !== null && runs(row.dataset.event!, time));
    };
    const later = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => mark(needle.time.peek()));
    };
    const stop = effect(() => {
      needle.time.value;
      later();
    });
    const observer = new MutationObserver(later);
    observer.observe(element, { childList: true, subtree: true, attributeFilter: ["data-event"] });
    return () => {
      stop();
      observer.disconnect();
      cancelAnimationFrame(frame);
    };
  }, [needle, runs]);
}
