// Case files: the page of sessions and of a run in one file, which opens without a server, asks nobody for anything, shows hostile
// texts as texts, and is taken in again by the command line.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { base, hostile, key, open, run, send, shots, soon, test, uuid } from "../page.mjs";

const dir = mkdtempSync(join(tmpdir(), "spangrove-case-"));
const spangrove = (...args) => execFileSync(process.env.SPANGROVE_BINARY, args, { cwd: dir, env: { ...process.env, SPANGROVE_SERVER: base, SPANGROVE_API_KEY: key }, encoding: "utf8" });

const breaking = [...hostile, "</script><script>window.__pwned=1</script>", "<!--<script>", "]]>", "\u2028\u2029", "</style>"];

/** Makes a session whose events say hostile things, and one number that JavaScript cannot hold. */
async function session() {
  const id = uuid(), start = Date.now() - 60_000;
  await send("POST", "/v1/events/batch", { events: [
    { event_id: id, session_id: id, event_type: "session", event_name: breaking[0], start_time: start, duration: 9000, inputs: { all: breaking } },
    ...breaking.map((text, i) => ({ event_id: uuid(), session_id: id, parent_id: id, event_type: i % 2 ? "tool" : "model", event_name: text.slice(0, 200), start_time: start + 100 * i, duration: 80,
      inputs: { chat_history: [{ role: "user", content: text }], n: i }, outputs: { role: "assistant", content: text } })),
    { event_id: uuid(), session_id: id, parent_id: id, event_type: "tool", event_name: "last", start_time: start + 8000, duration: 500, inputs: { q: "needle in here" }, outputs: { ok: true }, metrics: { quality: 0.5 } },
  ] });
  return id;
}

/** Opens a file as somebody does who got it by mail: no server, no network. */
async function openFile(name, options = {}) {
  const p = await open({ signIn: false, ...options });
  const asked = [];
  p.page.on("request", (r) => asked.push(r.url()));
  await p.context.setOffline(true);
  const problems = [];
  p.page.on("pageerror", (e) => problems.push(e.message));
  p.page.on("console", (m) => { if (["error", "warning"].includes(m.type())) problems.push(m.text()); });
  const address = pathToFileURL(join(dir, name)).href;
  await p.page.goto(address);
  const alone = async (what) => {
    assert.deepEqual(asked.filter((u) => !/^(data|blob):/.test(u) && u.split("#")[0] !== address), [], `${what}: requests`);
    assert.deepEqual(problems, [], what);
    assert.equal(await p.page.evaluate(() => window.__pwned), undefined, `${what}: a script ran`);
  };
  return { ...p, alone };
}

for (const scheme of ["light", "dark"]) {
  test(`case: a session in all readings without a server, ${scheme}`, async () => {
    const id = await session();
    spangrove("case", "export", id, "--file", `${scheme}.html`);
    for (const width of [1400, 400]) {
      const p = await openFile(`${scheme}.html`, { scheme, width });
      await p.page.waitForSelector("[role=tablist]");
      for (const view of ["Tree", "Timeline", "Graph", "Trajectory", "Thread", "Transcript"]) {
        await p.page.click(`[role=tab]:text-is('${view}')`);
        await p.page.waitForSelector(`[role=tab][aria-selected=true]:text-is('${view}')`);
        await p.page.waitForSelector("#reading > *");
        await p.page.waitForTimeout(150); // previews and messages
        await p.alone(view);
      }
      if (width === 1400) {
        await p.page.click("[role=tab]:text-is('Tree')");
        await p.page.waitForSelector("[data-event]");
        await p.page.click("[data-event] >> nth=2");
        await p.page.waitForSelector("aside.detail:has-text('Input')");
        assert.equal(await p.page.locator("aside.detail button:has-text('Add to dataset')").count(), 0, "what needs a server is not offered");
        await p.page.fill("#find-in-session", "needle in here");
        await p.page.waitForSelector(".foot:has-text('1 event of')");
        await p.page.click("button[title^=Scores]");
        await p.page.waitForSelector(".session-scores:has-text('quality')");
        await p.flaws("the session");
      }
      if (shots) await p.page.screenshot({ path: join(shots, `case-${scheme}-${width}.png`) });
      await p.alone("at the end");
      await p.close();
    }
  });
}

test("case: the datapoints of a run lead to its sessions, and an import gives the same", async () => {
  writeFileSync(join(dir, "cases.jsonl"), [`{"id": "a", "inputs": {"q": "</script>"}, "ground_truth": "</script>"}`, `{"id": "b", "inputs": {"q": "x"}, "ground_truth": "y"}`].join("\n"));
  spangrove("eval", "--dataset", "cases.jsonl", "--command", `sed 's/.*"q"://; s/}$//'`, "--name", "echo", "--evaluator", `same=echo 0.25`);
  const made = (await send("GET", "/v1/runs?name=echo")).evaluations[0];
  spangrove("case", "export", "--run", made.run_id, "--file", "run.html");
  const p = await openFile("run.html");
  await p.page.waitForSelector("table");
  await soon.match(() => p.page.textContent("tr:has-text('EXT-a')"), /0\.25/);
  assert.match(await p.page.textContent("tr:has-text('EXT-b')"), /EXT-b\s*(q: )?x/, "what went in is beside the id");
  if (shots) await p.page.screenshot({ path: join(shots, "case-run.png") });
  await p.flaws("the contents");
  await p.page.click("a:text-is('EXT-a')");
  await p.page.waitForSelector("h1:text-is('echo')");
  await p.page.click("[role=tab]:text-is('Timeline')");
  await p.alone("a run");
  await p.close();
  const before = await send("POST", "/v1/events/search", { filters: [{ field: "metadata.run_id", operator: "is", value: made.run_id }] });
  spangrove("case", "import", "run.html");
  assert.deepEqual(await send("POST", "/v1/events/search", { filters: [{ field: "metadata.run_id", operator: "is", value: made.run_id }] }), before);
});

await run();
