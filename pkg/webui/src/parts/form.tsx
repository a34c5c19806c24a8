// Forms that do one thing, and say what went wrong.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { messageOf } from "../model/format.ts";
import { Dialog } from "./common.tsx";

/** Work that a form does: whether it is under way, and what went wrong. */
export function useWork(): { busy: boolean; problem: string; run: (work: () => Promise<unknown>) => Promise<void> } {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const run = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setProblem("");
    try {
      await work();
    } catch (e) {
      setProblem(messageOf(e));
    }
    setBusy(false);
  };
  return { busy, problem, run };
}

/** Returns the fields of a form that differ from when it was opened: what is sent, so that what somebody else has changed meanwhile stays. */
export function changesOf<T extends object>(opened: T, now: T): Partial<T> {
  return Object.fromEntries(Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(opened[name as keyof T]))) as Partial<T>;
}

/** Reports whether a press is the second one of a double click: it confirms nothing that the first one has only asked for. */
export const isDouble = (e: MouseEvent): boolean => e.detail > 1;

interface FormProps {
  title: string;
  action: string; // what the button says
  danger?: boolean;
  ready?: boolean;
  missing?: string[]; // what must be given before it can be done, in words
  onSubmit: () => Promise<void>; // the dialog closes once it is done
  onClose: () => void;
  children: ComponentChildren;
}

/** A dialog with a form that does one thing, and says what went wrong. */
export function FormDialog({ title, action, danger, ready = true, missing = [], onSubmit, onClose, children }: FormProps) {
  const { busy, problem, run } = useWork();
  return (
    <Dialog label={title} onClose={onClose}>
      <form class="form" onSubmit={(e) => { e.preventDefault(); void run(onSubmit); }}>
        <h2>{title}</h2>
        {children}
        {problem && <p class="bad" role="alert">{problem}</p>}
        {missing.length > 0 && <p class="secondary" role="status">{`Missing: ${missing.join(", ")}.`}</p>}
        <div class="form-end">
          <button type="button" class="button" onClick={onClose}>Cancel</button>
          <button type="submit" class={`button ${danger ? "danger" : "primary"}`} disabled={busy || !ready || missing.length > 0}>{action}</button>
        </div>
      </form>
    </Dialog>
  );
}

type OfInput = { currentTarget: HTMLInputElement };

/**
 * Returns the properties of a field whose text counts once it is left, or Enter is pressed: onLeave is called then, if the text was changed. What
 * is typed until then stays, whatever else is drawn meanwhile.
 */
export function useLateText(value: string, onLeave: (value: string) => void) {
  const [typed, setTyped] = useState<string | null>(null);
  return {
    value: typed ?? value,
    onInput: (e: OfInput) => setTyped(e.currentTarget.value),
    onChange: (e: OfInput) => { setTyped(null); onLeave(e.currentTarget.value); },
    onBlur: () => setTyped(null),
  };
}
