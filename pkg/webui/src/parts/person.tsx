// The question for the name of the person at this browser.
import { useState } from "preact/hooks";

export function AskPerson({ name, onName, children }: { name: string; onName: (name: string) => void; children?: string }) {
  const [draft, setDraft] = useState(name);
  return (
    <form class="ask" onSubmit={(e) => { e.preventDefault(); if (draft.trim() !== "") onName(draft); }}>
      <label>Your name<input class="input" value={draft} required maxLength={200} autocomplete="name" onInput={(e) => setDraft(e.currentTarget.value)} /></label>
      <button type="submit" class="button primary">{children ?? "Use this name"}</button>
      <p class="secondary">It is kept in this browser and stands beside what you write. The server knows keys, not people, and cannot check it.</p>
    </form>
  );
}
