// Small parts that many pages use.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { messageOf } from "../model/format.ts";

/** What stands in place of what could not be loaded, with a way to try again. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div class="empty" role="alert">
      <Icon name="alert" tint="bad" />
      <h2>That did not work</h2>
      <p>{messageOf(error)}</p>
      {retry && <button class="button" onClick={retry}>Try again</button>}
    </div>
  );
}

/** What stands where nothing is. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Puts a text into the clipboard. Browsers have an interface for that on HTTPS and on their own machine; elsewhere a selection is copied. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const before = document.activeElement as HTMLElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  (before.closest("dialog") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before.focus();
  if (!done) throw new Error("The browser copies nothing here.");
}

/** A button that copies a text, and says so, or that it could not. */
export function Copy({ text, label, plain }: { text: string | (() => string | Promise<string>); label: string; plain?: boolean }) {
  const [said, setSaid] = useState<"copy" | "check" | "alert">("copy");
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    try {
      await copyText(typeof text === "string" ? text : await text());
      setSaid("check");
    } catch {
      setSaid("alert");
    }
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setSaid("copy"), 1500);
  };
  const words = { copy: label, check: "Copied", alert: "Not copied" }[said];
  return (
    <button type="button" class={`button plain${plain ? " icon" : ""}`} title={label} aria-label={plain ? (said === "alert" ? words : label) : undefined} onClick={() => void copy()}>
      <Icon name={said} small tint={{ copy: "", check: "good", alert: "bad" }[said]} />
      {!plain && words}
    </button>
  );
}

/** A dialog over the page, which Esc and a click beside it close; one that begins in it, such as the end of a selection of text, does not. */
export function Dialog({ onClose, label, className, children }: { onClose: () => void; label: string; className?: string; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  const pressed = useRef<EventTarget | null>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} class={className} aria-label={label} onCancel={(e) => { e.preventDefault(); onClose(); }}
      onPointerDown={(e) => { pressed.current = e.target; }} onClick={(e) => { if (e.target === ref.current && pressed.current === ref.current) onClose(); }}>
      {children}
    </dialog>
  );
}

/** Calls f once what it depends on has rested for a time, so that held keys ask for nothing. */
export function useRested<T>(value: T, ms: number): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return rested;
}

/** A resource that is loaded when its key changes; what was loaded before stays while the next loads. */
export interface Loaded<T> {
  value: T | null;
  error: unknown;
  loading: boolean;
  took: number; // milliseconds of the last load
  reload: () => void;
}

/** Loads a resource. A key of null loads nothing. The signal ends a load that nobody waits for any more. */
export function useLoaded<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string | null; value: T | null; error: unknown; loading: boolean; took: number }>({ key: null, value: null, error: null, loading: key !== null, took: 0 });
  const [turn, setTurn] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  useEffect(() => {
    if (key === null) {
      setState({ key, value: null, error: null, loading: false, took: 0 });
      return;
    }
    const stop = new AbortController();
    const began = performance.now();
    setState((s) => ({ ...s, loading: true }));
    loader.current(stop.signal).then(
      (value) => { if (!stop.signal.aborted) setState({ key, value, error: null, loading: false, took: performance.now() - began }); },
      (error) => { if (!stop.signal.aborted) setState((s) => ({ ...s, key, error, loading: false, took: performance.now() - began })); },
    );
    return () => stop.abort();
  }, [key, turn]);
  return { value: state.value, error: state.error, loading: state.loading, took: state.took, reload: () => setTurn((n) => n + 1) };
}
