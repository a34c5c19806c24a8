// What the pages of settings have in common.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { me } from "../../app/session.ts";
import { Dialog } from "../../parts/common.tsx";

/** Reports whether the key of the browser may do what needs a scope. */
export const may = (scope: "full" | "admin"): boolean => me.value?.scope === "admin" || me.value?.scope === scope;

/** The path of the project that the browser acts in, in the API. */
export const projectPath = (rest: string): string => `v1/projects/${encodeURIComponent(me.value!.project.id)}/${rest}`;

/** What is said where the key of the browser may not look. */
export function Needs({ what }: { what: string }) {
  return <p class="notice">{`${what} needs a key of scope admin; the one that this browser signed in with has the scope ${me.value?.scope}.`}</p>;
}

/** Work that a form does: whether it is under way, and what went wrong. */
export function useWork(): { busy: boolean; problem: string; run: (work: () => Promise<void>) => Promise<void> } {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setProblem("");
    try {
      await work();
    } catch (e) {
      setProblem(e instanceof Error ? e.message : String(e));
    }
    setBusy(false);
  };
  return { busy, problem, run };
}

interface FormProps {
  title: string;
  action: string; // what the button says
  danger?: boolean;
  ready?: boolean;
  onSubmit: () => Promise<void>; // the dialog closes once it is done
  onClose: () => void;
  children: ComponentChildren;
}

/** A dialog with a form that does one thing, and says what went wrong. */
export function FormDialog({ title, action, danger, ready = true, onSubmit, onClose, children }: FormProps) {
  const { busy, problem, run } = useWork();
  return (
    <Dialog label={title} onClose={onClose}>
      <form class="form" onSubmit={(e) => { e.preventDefault(); void run(onSubmit); }}>
        <h2>{title}</h2>
        {children}
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="form-end">
          <button type="button" class="button" onClick={onClose}>Cancel</button>
          <button type="submit" class={`button ${danger ? "danger" : "primary"}`} disabled={busy || !ready}>{action}</button>
        </div>
      </form>
    </Dialog>
  );
}
