// Settings: keys made, used and revoked, providers, limits and retention with what a rule would remove, projects, and the audit log.
import assert from "node:assert/strict";
import { base, hostile, open, run, send, shots, test } from "../page.mjs";

const me = await send("GET", "/v1/me");
const tabs = ["project", "keys", "providers", "projects", "audit"];

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
  assert.match(await row.textContent(), /not yet/);
  // What the key does is seen, and what its revocation stops is said before.
  const used = await fetch(`${base}/v1/me`, { headers: { Authorization: `Bearer ${value}` } });
  assert.equal(used.status, 200);
  await p.page.reload();
  await p.page.waitForSelector(".plain-table");
  assert.match(await row.textContent(), /ago/);
  assert.equal(await p.page.locator(".made-key").count(), 0, "a key is shown once");
  await row.locator("button").click();
  assert.match(await p.page.textContent("dialog"), /last used .* ago, from 127\.0\.0\.1/);
  await p.flaws("revoking a key");
  await p.page.click("dialog button[type=submit]");
  await row.waitFor({ state: "detached" });
  assert.equal((await fetch(`${base}/v1/me`, { headers: { Authorization: `Bearer ${value}` } })).status, 401);
  await p.page.click(".check input");
  await row.waitFor();
  assert.match(await row.textContent(), /revoked/);
  await p.check("keys");
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
  assert.match(await row.textContent(), /stored, sealed.*\$0 of \$5/);
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
  await limits.locator("button").click();
  await p.page.waitForFunction(() => document.querySelectorAll("form")[2]?.querySelectorAll("input")[7]?.placeholder === "3");
  assert.equal(await set(), 3);
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
  await p.page.fill("dialog input", hostile[1]);
  await p.flaws("deleting a project");
  await p.page.click("dialog button[type=submit]");
  await row.waitFor({ state: "detached" });
  await p.page.click("nav.links a:has-text('Audit log')");
  await p.page.click("button.value:has-text('project.delete')");
  await p.page.waitForFunction(() => location.hash.includes("action=project.delete") && document.querySelectorAll("tbody tr").length === 1);
  await p.page.goBack();
  await p.page.waitForFunction(() => document.querySelectorAll("tbody tr").length > 3);
  await p.check("projects and audit");
  await p.close();
});

test("whose key may not change anything sees why", async () => {
  const made = await send("POST", `/v1/projects/${me.project.id}/fine_grained_api_keys`, { name: "reader", permissions: ["read"], expires_at: "2099-01-01T00:00:00Z" });
  const p = await open({ signIn: false });
  await p.context.request.post(`${base}/v1/login`, { data: { key: made.data.key_value } });
  for (const tab of ["project", "keys", "projects", "audit"]) {
    await p.go(`settings/${tab}`, ".notice");
    assert.match(await p.page.textContent(".notice"), /needs a key of scope admin/);
  }
  await p.go("settings/providers", ".settings-head");
  assert.equal(await p.page.locator(".settings button").count(), 0);
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
