// The page of a case file: chosen sessions and runs in one HTML file, which needs no server. What the server would answer is in the
// file, as JSON lines in gzip and base64, so that nothing in it can end the script that holds it.
import { Lexer } from "marked";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { offline } from "./api/client.ts";
import { listen } from "./app/keymap.ts";
import { href, route } from "./app/router.ts";
import { nextTheme } from "./app/theme.ts";
import { answerOf, readCase, type Case, type CaseResult } from "./model/casefile.ts";
import * as format from "./model/format.ts";
import { Empty } from "./parts/common.tsx";
import { inPlace, type Token } from "./parts/markdown.tsx";
import { SessionPage } from "./pages/session.tsx";

inPlace.lex = (text) => {
  try {
    return new Lexer({ gfm: true }).lex(text) as Token[];
  } catch {
    return null; // nested too deeply
  }
};

function App({ file }: { file: Case }) {
  const [place, id] = route.value.path;
  const session = place === "session" && id && file.trees.has(id) ? id : null;
  useEffect(() => { document.title = session ? "Session · Spangrove" : "Case · Spangrove"; }, [session]);
  return <main id="main" class="main-area" tabIndex={-1}>{session ? <SessionPage key={session} id={session} /> : <Contents file={file} />}</main>;
}

/** What is in the file: the sessions, and for each run its datapoints with their scores. */
function Contents({ file }: { file: Case }) {
  return (
    <div class="page case">
      <header>
        <h1>Case</h1>
        <span class="faint">{`${format.plural(file.trees.size, "session")}, ${format.plural(file.runs.length, "run")}`}</span>
        <span class="grow" />
        <button type="button" class="button plain" onClick={nextTheme}>Theme</button>
      </header>
      <div class="scroll case-contents">
        {file.trees.size === 0 && <Empty title="There is no session in this file" />}
        {file.runs.map((run) => <Run key={run.run_id} name={run.name || run.run_id} status={run.status} result={file.results.get(run.run_id)} file={file} />)}
        <h2>Sessions</h2>
        <ul>
          {[...file.trees.keys()].map((id) => <li key={id}><a href={href(["session", id])}>{file.nameOf(id)}</a> <code class="faint">{id}</code></li>)}
        </ul>
      </div>
    </div>
  );
}

function Run({ name, status, result, file }: { name: string; status: string; result: CaseResult | undefined; file: Case }) {
  const datapoints = result?.datapoints ?? [];
  const metrics = [...new Set(datapoints.flatMap((d) => d.metrics.map((m) => m.name)))];
  return (
    <section>
      <h2>{name} <span class="chip">{status}</span></h2>
      <table class="plain-table">
        <thead><tr><th>Datapoint</th>{metrics.map((m) => <th key={m}>{m}</th>)}<th>Passed</th></tr></thead>
        <tbody>
          {result && (
            <tr>
              <td class="faint">{result.metrics.aggregation_function ?? ""}</td>
              {metrics.map((m) => <td key={m}>{shown(result.metrics.details?.find((d) => d.metric_name === m)?.aggregate)}</td>)}
              <td>{`${result.passed.length} of ${datapoints.length}`}</td>
            </tr>
          )}
          {datapoints.map((d) => (
            <tr key={d.session_id}>
              <td>{file.trees.has(d.session_id) ? <a href={href(["session", d.session_id])}>{d.datapoint_id ?? d.session_id}</a> : d.datapoint_id ?? d.session_id} <span class="faint ellipsis">{file.previews.get(d.session_id)?.input}</span></td>
              {metrics.map((m) => { const score = d.metrics.find((s) => s.name === m); return <td key={m} class={score && !score.passed ? "bad" : ""}>{shown(score?.value)}</td>; })}
              <td class={d.passed ? "good" : "bad"}>{d.passed ? "yes" : "no"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const shown = (value: unknown): string => (typeof value === "number" ? String(Math.round(value * 10_000) / 10_000) : value === null || value === undefined ? "" : String(value));

/** Returns the text in the page that begins with what the file was made of. */
async function unpack(): Promise<string> {
  const packed = atob(document.getElementById("case")!.textContent!.trim());
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

listen();
unpack().then(
  (text) => {
    const file = readCase(text);
    offline.answer = (path, body) => answerOf(file, path, body);
    const only = file.runs.length === 0 && file.trees.size === 1 ? [...file.trees.keys()][0]! : null;
    if (only && route.value.path.length === 0) location.hash = href(["session", only]).slice(1);
    render(<App file={file} />, document.getElementById("app")!);
  },
  () => render(<Empty title="This file cannot be read: it is not complete" />, document.getElementById("app")!),
);
