// Signing in: with a key, or by the link that the server printed.
import { useEffect, useState } from "preact/hooks";
import { href, replace } from "../app/router.ts";
import { loadMe, me } from "../app/session.ts";
import { signIn } from "../app/signin.ts";
import { Brand } from "../app/brand.tsx";
import { messageOf } from "../model/format.ts";

export function LoginPage({ code }: { code: string | null }) {
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(code !== null);
  useEffect(() => {
    if (code === null) return;
    history.replaceState(null, "", href([])); // the code must not stay in the history
    const enter = () => { if (me.value) replace(href([])); }; // the sessions, or how to send the first one
    signIn({ code }).then(enter, (e) => {
      setProblem(messageOf(e));
      setBusy(false);
      void loadMe().then(enter); // a link that was used before leads who is signed in where it did then
    });
  }, [code]);
  const submit = async () => {
    setBusy(true);
    setProblem("");
    try {
      await signIn({ key: key.trim() });
      setKey("");
      if (code !== null) replace(href([]));
    } catch (e) {
      setProblem(messageOf(e));
    }
    setBusy(false);
  };
  return (
    <main class="login">
      <div class="brand"><Brand />Spangrove</div>
      <form onSubmit={(e) => { e.preventDefault(); void submit(); }}>
        <label for="key">API key</label>
        <input id="key" class="input mono" type="password" autocomplete="current-password" spellcheck={false} required value={key} placeholder="sg_…" onInput={(e) => setKey(e.currentTarget.value)} />
        {problem && <p class="bad" role="alert">{problem}</p>}
        <button class="button primary" type="submit" disabled={busy}>{busy ? "Signing in…" : "Sign in"}</button>
      </form>
      <p class="secondary">The server wrote its first key to the file <code>spangrove-data/api-key</code>, and prints a link that signs in once when it starts in a terminal. The key stays on the server: this browser keeps a cookie that scripts cannot read.</p>
    </main>
  );
}
