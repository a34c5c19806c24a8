// Settings: keys made, used and revoked, providers, limits and retention with what a rule would remove, projects, and the audit log.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { base, hostile, open, run, send, shots, soon, test } from "../page.mjs";

const me = await send("GET", "/v1/me");
const tabs = ["project", "keys", "providers", "projects", "server", "audit"];

test("keys: made, shown once, used, revoked", async () => {
  const p = await open();
  await p.go("settings/keys", ".plain-table");
  await p.page.click("button:has-text('New key')");
  await p.page.fill("dialog input.input", hostile[0]);
  await p.page.click("dialog label:has(strong:text-is('read')) input");
  await p.page.keyboard.press("Enter");
  const value = await p.page.textContent(".made-key code");
  assert.match(value, /^hh_fgdp_/);
  const row = p.page.locator("tr", { hasText: hostile[0] });
  await soon.match(() => row.textContent(), /not yet/);
  // What the key does is seen, and what its revocation stops is said before.
  const used = await fetch(`${base}/v1/me`, { headers: { Authorization: `Bearer ${value}` } });
  assert.equal(used.status, 200);
  await p.page.reload();
  await p.page.waitForSelector(".plain-table");
  await soon.match(() => row.textContent(), /ago/);
  assert.equal(await p.page.locator(".made-key").count(), 0, "a key is shown once");
  await row.locator("button").click();
  await soon.match(() => p.page.textContent("dialog"), /last used .* ago, from 127\.0\.0\.1/);
  await p.flaws("revoking a key");
  await p.page.click("dialog button[type=submit]");
  await row.waitFor({ state: "detached" });
  assert.equal((await fetch(`${base}/v1/me`, { headers: { Authorization: `Bearer ${value}` } })).status, 401);
  await p.page.click(".check input");
  await row.waitFor();
  await soon.match(() => row.textContent(), /revoked/);
  await p.check("keys");
  await p.close();
});

/** Starts a model that says yes, or refuses, and remembers which keys it was sent. */
async function model(t = { keys: [] }) {
  const server = createServer((request, response) => {
    t.keys.push(request.headers.authorization ?? "");
    let body = "";
    request.on("data", (part) => { body += part; });
    request.on("end", () => {
      if (t.refuses) {
        response.writeHead(401, { "Content-Type": "application/json" });
        response.end(JSON.stringify({ error: { message: "Incorrect API key provided: sk-for-one-host.", type: "invalid_request_error", code: "invalid_api_key" } }));
        return;
      }
      response.setHeader("Content-Type", "text/event-stream");
      const chunk = (choices, rest = {}) => response.write(`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", model: `${JSON.parse(body).model}-2026`, choices, ...rest })}\n\n`);
      chunk([{ index: 0, delta: { role: "assistant", content: "yes" }, finish_reason: null }]);
      chunk([{ index: 0, delta: {}, finish_reason: "stop" }]);
      chunk([], { usage: { prompt_tokens: 8, completion_tokens: 1, total_tokens: 9 } });
      response.end("data: [DONE]\n\n");
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref();
  return Object.assign(t, { url: `http://127.0.0.1:${server.address().port}/v1` });
}

test("providers: a test says which model answered, or why none did, and a key goes to no other host", async () => {
  const [here, there] = [await model(), await model()];
  await send("PUT", "/v1/providers/tested", { base_url: here.url, api_key: "sk-for-one-host", model: "small" });
  const p = await open();
  await p.go("settings/providers", "tr:has-text('tested')");
  const row = p.page.locator("tr", { hasText: "tested" });
  await row.getByRole("button", { name: "Test…" }).click();
  await p.page.waitForSelector("dialog .good:has-text('small-2026 answered in ')");
  assert.deepEqual(here.keys, ["Bearer sk-for-one-host"]);
  await p.flaws("a test");
  here.refuses = true;
  await p.page.getByLabel("Model; empty").fill("large");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("dialog .bad");
  await soon.match(() => p.page.textContent("dialog .bad"), /401/);
  assert.ok(!(await p.page.content()).includes("sk-for-one-host"), "the key is in the page");
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector("dialog", { state: "detached" });

  // Elsewhere it is tested without the key.
  await row.getByRole("button", { name: "Change…" }).click();
  await p.page.fill("dialog input[type=url]", there.url);
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector(`tr:has-text('${there.url}')`);
  await row.getByRole("button", { name: "Test…" }).click();
  await p.page.waitForSelector("dialog [role=status].good, dialog [role=status].bad");
  assert.deepEqual(there.keys, [""], "it was asked without the key");
  await p.check("a test");
  await p.close();
});

test("providers: bad input is said, the key is never shown, what was used stands beside the bound", async () => {
  const p = await open();
  await p.go("settings/providers", ".settings-head");
  await p.page.click("button:has-text('New provider')");
  await p.page.fill("dialog input[placeholder=openai]", "Own name");
  await p.page.fill("dialog input[type=url]", "https://models.invalid/v1");
  await p.page.fill("dialog input[type=password]", "sk-never-shown-again");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog [role=alert]");
  await p.page.fill("dialog input[placeholder=openai]", "own");
  await p.page.click("dialog button[type=submit]");
  const row = p.page.locator("tr", { hasText: "models.invalid" });
  await row.waitFor();
  await soon.match(() => row.textContent(), /stored, sealed.*\$0 of \$5/);
  assert.ok(!(await p.page.content()).includes("sk-never"), "the key is in the page");
  await row.locator("button:has-text('Change')").click();
  await p.page.fill("dialog input[type=url]", "https://elsewhere.invalid/v1");
  await p.page.waitForSelector("dialog .warn"); // the key would go
  await p.flaws("changing a provider");
  await p.page.keyboard.press("Escape");
  await row.locator("button:has-text('Delete')").click();
  await p.page.click("dialog button[type=submit]");
  await row.waitFor({ state: "detached" });
  await p.check("providers");
  await p.close();
});

test("the project: a rule of retention is counted before it is set, limits go back to the default", async () => {
  const old = Date.now() - 40 * 86_400_000;
  const { session_id } = await send("POST", "/v1/session/start", { session: { session_name: "old", start_time: old } });
  await send("POST", "/v1/events", { event: { session_id, event_type: "tool", event_name: "old", start_time: old, duration: 5, inputs: { q: "x" } } });
  const p = await open();
  await p.go("settings", "h2:has-text('Retention')");
  const form = p.page.locator("form", { hasText: "Retention" });
  await form.locator("input").nth(0).fill("30");
  await form.locator("button").click();
  await form.locator("[role=status]:has-text('removes 1 session')").waitFor();
  await form.locator("input").nth(0).fill("300");
  assert.equal(await form.locator("[role=status]").count(), 0, "another rule was not counted");
  await form.locator("button").click();
  await form.locator("[role=status]:has-text('removes nothing')").waitFor();
  await form.locator("button:has-text('Set this rule')").click();
  await p.page.waitForSelector("text=In force: sessions 300 days");
  const limits = p.page.locator("form", { hasText: "Limits" });
  const set = async () => (await send("GET", `/v1/projects/${me.project.id}/limits`)).limits.evaluation_slots;
  await limits.locator("input").nth(7).fill("3");
  await send("PUT", `/v1/projects/${me.project.id}/limits`, { judge_usd_per_day: 7 }); // by somebody else, meanwhile
  await limits.locator("button").click();
  await p.page.waitForFunction(() => document.querySelectorAll("form")[2]?.querySelectorAll("input")[7]?.placeholder === "3");
  assert.equal(await set(), 3);
  assert.equal((await send("GET", `/v1/projects/${me.project.id}/limits`)).limits.judge_usd_per_day, 7);
  await limits.locator("input").nth(7).fill("");
  await limits.locator("button").click();
  await p.page.waitForFunction(() => document.querySelectorAll("form")[2]?.querySelectorAll("input")[7]?.placeholder !== "3");
  assert.equal(await set(), undefined);
  await p.page.click("button:has-text('Count by day')");
  await p.page.waitForSelector(".day-bars li");
  await p.check("the project");
  await p.close();
});

test("projects are made, and deleted when their name is typed; the audit log tells", async () => {
  const p = await open();
  await p.go("settings/projects", ".plain-table");
  await p.page.click("button:has-text('New project')");
  await p.page.fill("dialog input", hostile[1]);
  await p.page.keyboard.press("Enter");
  const row = p.page.locator("tr", { hasText: hostile[1] });
  await row.locator("button:has-text('Delete')").click();
  assert.ok(await p.page.isDisabled("dialog button[type=submit]"));
  const [above, below] = await p.page.locator("dialog").evaluate((d) => { const r = d.getBoundingClientRect(); return [r.top, innerHeight - r.bottom]; });
  assert.ok(Math.abs(above - below) <= 2, `the dialog has ${above} px above it and ${below} px below`);
  await p.page.fill("dialog input", hostile[1]);
  await p.flaws("deleting a project");
  await p.page.click("dialog button[type=submit]");
  await row.waitFor({ state: "detached" });
  await p.page.click("nav.links a:has-text('Audit log')");
  await p.page.click("button.value:has-text('project.delete')");
  await p.page.waitForFunction(() => location.hash.includes("action=project.delete") && document.querySelectorAll("tbody tr").length === 1);
  await p.page.goBack();
  await p.page.waitForFunction(() => document.querySelectorAll("tbody tr").length > 3);
  // Deployments are in it, with versions and environments.
  const { insertedId } = await send("POST", "/v1/configurations", { name: "audited", provider: "p", type: "LLM", parameters: { call_type: "chat", model: "m" } });
  await send("PUT", `/v1/configurations/${insertedId}`, { name: "audited", env_versions: { prod: 1 } });
  await p.go("settings/audit?action=configuration.update", "tbody tr");
  await soon.match(() => p.page.textContent("tbody tr"), /audited\/prod=1/);
  await soon.equal(() => p.page.locator("tbody tr td:nth-child(4) span").first().getAttribute("title"), `${insertedId}/prod=1`);
  const own = (await send("GET", `/v1/projects/${me.project.id}/api_keys`)).data.find((k) => k.key_id === me.key_id);
  await soon.equal(() => p.page.locator("tbody tr td:nth-child(6)").first().textContent(), `${own.name} ${own.prefix}…`);
  await soon.equal(() => p.page.locator("tbody tr td:nth-child(5)").first().textContent(), me.project.name);
  await p.check("projects and audit");
  await p.close();
});

test("the server: figures go on by themselves, space and rules are counted on demand, the diagnosis names nobody", async () => {
  const p = await open();
  await p.go("settings/server", ".server-parts");
  const total = async () => Number((await p.page.textContent("dt:has-text('Since the start') + dd")).match(/[\d,]+/)[0].replaceAll(",", ""));
  const before = await total();
  await send("POST", "/v1/events", { event: { event_type: "tool", event_name: "planted-name", duration: 5, inputs: { q: "planted-content" } } });
  await p.page.waitForFunction((n) => Number(document.querySelector("section[aria-label=Writes]").textContent.match(/Since the start([\d,]+)/)[1].replaceAll(",", "")) > n, before, { timeout: 20_000 });
  await soon.match(() => p.page.textContent("section[aria-label=Store]"), /(SQLite|PostgreSQL) \d+\.\d+.*Writableyes, in /);
  await soon.match(() => p.page.textContent("section[aria-label=Writes]"), /p50 .*, p99 /);
  await p.page.click("button:has-text('Count by kind')");
  await p.page.waitForSelector(".kind-bars li:has-text('Rows of events')");
  await p.page.click("button:has-text('Show the rules')");
  const rule = p.page.locator("tr", { hasText: me.project.name }).first();
  await rule.locator("button").click();
  await rule.locator("button:has-text('Count again')").waitFor();
  await soon.match(() => rule.textContent(), /nothing|session/);
  await p.flaws("the server");
  await p.page.click("button:has-text('Copy diagnosis')");
  await p.page.waitForSelector("button:has-text('Copied')");
  const text = await p.page.evaluate(() => navigator.clipboard.readText());
  assert.match(text, /^## Spangrove diagnosis\n/);
  assert.match(text, /"per_second_1m"/);
  for (const planted of ["planted-", me.project.id, me.key_id, '"directory"', hostile[0], hostile[1]]) assert.ok(!text.includes(planted), `${planted} is in the diagnosis`);
  // A page that nobody sees asks for nothing.
  let asked = 0;
  p.page.on("request", (r) => { if (r.url().endsWith("/v1/server/status")) asked++; });
  await p.page.evaluate(() => Object.defineProperty(document, "hidden", { configurable: true, get: () => true }));
  await p.page.waitForTimeout(6000);
  assert.equal(asked, 0, "a hidden page asks");
  await p.page.evaluate(() => { delete document.hidden; document.dispatchEvent(new Event("visibilitychange")); });
  await p.page.waitForFunction(() => /As of/.test(document.querySelector(".settings-head").textContent));
  await p.check("the server");
  await p.close();
});

test("whose key may not change anything sees why", async () => {
  const made = await send("POST", `/v1/projects/${me.project.id}/fine_grained_api_keys`, { name: "reader", permissions: ["read"], expires_at: "2099-01-01T00:00:00Z" });
  const p = await open({ signIn: false });
  await p.context.request.post(`${base}/v1/login`, { data: { key: made.data.key_value } });
  for (const tab of ["project", "keys", "projects", "audit"]) {
    await p.go(`settings/${tab}`, ".notice");
    await soon.match(() => p.page.textContent(".notice"), /needs a key of scope admin/);
  }
  await p.go("settings/providers", ".settings-head");
  assert.equal(await p.page.locator(".settings button").count(), 0);
  await p.go("settings/server", ".server-parts");
  assert.equal(await p.page.locator("button:has-text('Count by kind')").count(), 0);
  assert.ok(!(await p.page.textContent(".settings")).includes("Directory"), "who reads sees the data directory");
  await p.check("a reader's settings");
  await p.close();
});

test("settings at all widths", async () => {
  for (const width of [400, 1280, 2560]) {
    const p = await open({ width, scheme: width === 1280 ? "dark" : "light", reduced: true });
    for (const tab of tabs) {
      await p.go(`settings/${tab}`, ".settings > *");
      await p.page.waitForTimeout(150);
      await p.check(`${tab} at ${width}`);
      await p.flaws(`${tab} at ${width}`);
      if (shots) await p.page.screenshot({ path: `${shots}/settings-${tab}-${width}.png` });
    }
    await p.close();
  }
});

await run();
