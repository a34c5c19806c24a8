// What stands in place of all pages when the project of the cookie was deleted.
import { useState } from "preact/hooks";
import { switchProject } from "../app/projects.ts";
import { signOut } from "../app/signin.ts";
import { messageOf } from "../model/format.ts";
import { Empty } from "../parts/common.tsx";

export function GonePage() {
  const [problem, setProblem] = useState("");
  const attempt = (work: Promise<void>) => work.catch((error: unknown) => setProblem(messageOf(error)));
  return (
    <main class="gone">
      <Empty title="This project was deleted">
        <p>The pages acted in a project that is not there any more. Your sign-in is still good.</p>
        <p class="form-end">
          <button type="button" class="button primary" onClick={() => void attempt(switchProject(null))}>Go to the project of your key</button>
          <button type="button" class="button" onClick={() => void attempt(signOut())}>Sign out</button>
        </p>
        {problem && <p class="bad" role="alert">{problem}</p>}
      </Empty>
    </main>
  );
}
