// The messages of a prompt, edited: roles, texts with variables, calls of tools and their results.
import { roles, variablesOf, type DraftMessage } from "../model/playground.ts";
import { Icon } from "./icon.tsx";

export function Prompt({ messages, onChange, disabled }: { messages: DraftMessage[]; onChange: (next: DraftMessage[]) => void; disabled?: boolean }) {
  const set = (at: number, change: Partial<DraftMessage>) => onChange(messages.map((m, i) => (i === at ? { ...m, ...change } : m)));
  const move = (at: number, by: number) => {
    const next = [...messages];
    next.splice(at + by, 0, ...next.splice(at, 1));
    onChange(next);
  };
  return (
    <div class="prompt">
      {messages.map((m, i) => {
        const names = variablesOf([m.text]);
        const what = `message ${i + 1}`;
        return (
          <section key={i} class={`message role-${m.role}`} aria-label={what}>
            <header>
              <select class="role" aria-label={`Role of ${what}`} value={m.role} disabled={disabled} onChange={(e) => set(i, { role: e.currentTarget.value })}>
                {[...new Set([...roles, m.role])].map((r) => <option key={r}>{r}</option>)}
              </select>
              {m.callId && <code class="faint ellipsis" title="the call that it answers">{m.callId}</code>}
              {names.length > 0 && <span class="faint ellipsis" title={names.join(", ")}>{names.length === 1 ? `{{${names[0]}}}` : `${names.length} variables`}</span>}
              <span class="grow" />
              {!disabled && (
                <>
                  <button type="button" class="button plain icon" aria-label={`Move ${what} up`} disabled={i === 0} onClick={() => move(i, -1)}><Icon name="up" small /></button>
                  <button type="button" class="button plain icon" aria-label={`Move ${what} down`} disabled={i === messages.length - 1} onClick={() => move(i, 1)}><Icon name="down" small /></button>
                  <button type="button" class="button plain icon" aria-label={`Delete ${what}`} onClick={() => onChange(messages.filter((_, k) => k !== i))}><Icon name="close" small /></button>
                </>
              )}
            </header>
            <textarea class="prompt-text" aria-label={`Text of ${what}`} rows={2} value={m.text} readOnly={disabled} onInput={(e) => set(i, { text: e.currentTarget.value })} />
            {m.images?.map((url, k) => (
              <p key={k} class="chip"><span class="ellipsis">{`image: ${url.slice(0, 60)}`}</span>
                <button type="button" class="button plain icon" aria-label={`Delete image ${k + 1} of ${what}`} onClick={() => set(i, { images: m.images!.filter((_, n) => n !== k) })}><Icon name="close" small /></button></p>
            ))}
            {m.calls?.map((c) => <pre key={c.id} class="call wrap">{`${c.function.name}(${c.function.arguments})`}</pre>)}
          </section>
        );
      })}
      {!disabled && <button type="button" class="button plain" onClick={() => onChange([...messages, { role: messages.at(-1)?.role === "user" ? "assistant" : "user", text: "" }])}><Icon name="plus" small />Message</button>}
    </div>
  );
}
