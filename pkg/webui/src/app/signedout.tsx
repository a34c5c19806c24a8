// What is said when the sign-in has ended while a page is open. What is on the page stays, with what was typed.
import { useState } from "preact/hooks";
import { FormDialog } from "../parts/form.tsx";
import { me } from "./session.ts";
import { signIn } from "./signin.ts";

export function SignedOut() {
  const [key, setKey] = useState("");
  const [closed, setClosed] = useState(false);
  if (closed) return <p class="notice bad over" role="alert">This browser is signed out. <button type="button" class="button primary" onClick={() => setClosed(false)}>Sign in</button></p>;
  return (
    <FormDialog title="This browser is signed out" action="Sign in" onSubmit={() => signIn({ key: key.trim() })} onClose={() => setClosed(true)}>
      <p class="wrap">{`Its key was revoked or has expired, or another tab has signed out. What is on the page stays: sign in with a key of ${me.value?.project.name} to go on.`}</p>
      <label>API key<input class="input mono" type="password" autocomplete="current-password" spellcheck={false} required value={key} placeholder="sg_…" onInput={(e) => setKey(e.currentTarget.value)} /></label>
    </FormDialog>
  );
}
