// Alerts: made by keyboard from a metric, changed, tested with the answer shown, silenced, deleted; begun from a chart; what a reading key sees.
import assert from "node:assert/strict";
import { base, hostile, open, run, send, shots, soon, test } from "../page.mjs";

await send("POST", "/v1/events", { event_type: "tool", event_name: "slow tool", inputs: {}, outputs: {}, metrics: { own: 0.5 }, duration: 9000, start_time: Date.now() - 60_000 });

test("alerts: made by keyboard, tested, silenced, changed, deleted", async () => {
  const p = await open();
  await p.go("events", ".page");
  await p.page.keyboard.press("g");
  await p.page.keyboard.press("l");
  await p.page.waitForSelector("h1:text-is('Alerts')");
  await p.page.waitForSelector(".empty, .plain-table");
  await p.page.keyboard.press("n");
  await p.page.waitForSelector("dialog form");
  await soon.match(() => p.page.textContent("dialog form"), /Missing: a name, the value above or below which it fires\./);
  assert.ok(await p.page.isDisabled("dialog button:text-is('Save')"));
  await p.page.keyboard.type(hostile[0]);
  await soon.match(() => p.page.textContent("dialog form"), /Missing: the value above or below which it fires\./);
  await p.page.fill("dialog label:has-text('the value') input", "2000");
  await p.page.waitForSelector("dialog label:has-text('the value, ms'):has-text('= 2.00 s')");
  assert.ok((await p.page.locator("#alert-metrics option").evaluateAll((all) => all.map((o) => o.value))).includes("metrics.own"), "the metrics of the project are not offered");
  await p.page.fill("dialog #filter-bar", "type:");
  await p.page.waitForSelector("dialog .suggest li:has-text('tool')");
  await p.page.fill("dialog #filter-bar", "");
  await p.page.keyboard.type("type:tool duration>"); // faster than anybody types
  await p.page.keyboard.press("Tab");
  await soon.equal(() => p.page.inputValue("dialog #filter-bar"), "type:tool duration>");
  await soon.match(() => p.page.textContent("dialog form"), /Missing: a filter that can be read\./);
  const [under, next] = await Promise.all([".problem", "label:has-text('Fires when it is')"].map((s) => p.page.locator(`dialog ${s}`).boundingBox()));
  assert.ok(under.y + under.height <= next.y, "what is wrong with the filter covers what is below it");
  await p.page.fill("dialog #filter-bar", "type:tool");
  assert.ok(await p.page.isEnabled("dialog button:text-is('Save')"));
  await p.page.click("dialog button:has-text('Add a channel')");
  await p.page.fill("dialog input[placeholder^='ann@']", "no address");
  await p.page.keyboard.press("Enter");
  await soon.match(() => p.page.textContent("dialog [role=alert]"), /channels\[0\]\.to.*no address/);
  await p.page.fill("dialog input[placeholder^='ann@']", "ann@example.com");
  await p.flaws("the form");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector(".alert-detail");
  await soon.equal(() => p.page.textContent(".alert-detail h2"), hostile[0]);
  await p.page.waitForSelector(".alert-detail:has-text('average of duration, type:tool')");
  await p.page.waitForSelector("td:has-text('average of duration, type:tool'):has-text('fires when above 2.00 s over 1 hour')");
  // It is evaluated within some seconds, and the page says what came of it.
  const [made] = (await send("GET", "/v1/alerts")).data.filter((a) => a.name === hostile[0]);
  for (let i = 0; i < 80 && (await send("GET", `/v1/alerts/${made.id}`)).data.status.state !== "firing"; i++) await new Promise((done) => setTimeout(done, 200));
  for (let i = 0; i < 80 && (await send("GET", `/v1/alerts/${made.id}/notices`)).data[0]?.state !== "failed"; i++) await new Promise((done) => setTimeout(done, 200));
  await p.page.click("button[aria-label='Load again']");
  await p.page.waitForSelector("td .alert-state.bad:text('Firing')");
  await p.page.waitForSelector("tr:has(.alert-state.bad) td span:text-is('9.00 s')");
  await p.page.waitForSelector(".alert-detail:has-text('this server sends no e-mail')");
  await p.page.click(".alert-detail button:text-is('Test')");
  await soon.match(() => p.page.textContent(".alert-detail [role=status]"), /measures 9\.00 s.*Firing.*Not taken by ann@example\.com: this server sends no e-mail/s);
  await p.page.selectOption(".alert-detail select[aria-label=Silence]", "8");
  await p.page.waitForSelector("td:has-text('silent until')");
  await p.page.click(".alert-detail button:has-text('End the silence')");
  await p.page.waitForSelector(".alert-detail select[aria-label=Silence]");
  await p.flaws("an alert");
  await p.page.click(".alert-detail button:has-text('Change')");
  await soon.equal(() => p.page.inputValue("dialog #filter-bar"), "type:tool");
  await p.page.selectOption("dialog label:has-text('Compared with') select", "week_before");
  await p.page.fill("dialog label:has-text('by more than') input", "20");
  await send("PUT", `/v1/alerts/${made.id}`, { description: "call Ann", window_minutes: 120 }); // by somebody else, meanwhile
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("td:has-text('more than 20 % above the week before')");
  const changed = (await send("GET", `/v1/alerts/${made.id}`)).data;
  assert.deepEqual([changed.threshold, changed.description, changed.window_minutes, changed.query.length], [20, "call Ann", 120, 1]);
  await p.page.reload(); // the address says which one is open
  await p.page.waitForSelector(".alert-detail");
  if (shots) await p.page.screenshot({ path: `${shots}/alerts-1280.png` });
  await p.page.click(".alert-detail button:has-text('Delete')");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector(".alert-detail", { state: "detached" });
  assert.ok(!(await send("GET", "/v1/alerts")).data.some((a) => a.id === made.id));
  await p.check("alerts");
  await p.close();
});

test("alerts: what is typed into the form is not lost", async () => {
  const p = await open();
  await p.go("alerts", "h1:text-is('Alerts')");
  const name = () => p.page.inputValue("dialog input[placeholder='slow answers']");
  await p.page.keyboard.press("n");
  await p.page.waitForSelector("dialog form");
  await p.page.keyboard.press("Escape"); // nothing was typed
  await p.page.waitForSelector("dialog", { state: "detached" });
  await p.page.keyboard.press("n");
  await p.page.waitForSelector("dialog form");
  await p.page.keyboard.type(hostile[2]);
  await p.page.click("dialog button:has-text('Add a channel')");
  await p.page.selectOption("dialog select[aria-label=Channel]", "webhook");
  await p.page.fill("dialog input[type=url]", "https://hooks.invalid/token-7f3a");
  await soon.match(() => p.page.textContent("dialog form"), /Missing: the value above or below which it fires\./);
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector("dialog", { state: "detached" });
  await p.page.keyboard.press("n");
  await p.page.waitForSelector("dialog form:has-text('kept in this tab')");
  await soon.equal(name, hostile[2]);
  await soon.equal(() => p.page.inputValue("dialog input[type=url]"), "https://hooks.invalid/token-7f3a");
  const stored = await p.page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
  assert.ok(/spangrove\.alert\.\w*\.new /.test(stored) && !/token-7f3a|whsec_/.test(stored), stored);
  await p.page.reload();
  await p.page.waitForSelector("h1:text-is('Alerts')");
  await p.page.waitForSelector(".empty, .plain-table");
  await p.page.keyboard.press("n");
  await p.page.waitForSelector("dialog form:has-text('kept in this tab')");
  await soon.equal(name, hostile[2]);
  await soon.match(() => p.page.textContent("dialog form"), /Missing: .*the address under Tell 1\./);
  await p.page.click("dialog button:has-text('Discard them')");
  await soon.equal(name, "");
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector("dialog", { state: "detached" });
  await p.page.keyboard.press("n");
  await p.page.waitForSelector("dialog form");
  await soon.equal(name, "");
  await p.check("the form kept");
  await p.close();
});

test("alerts: a measure that no event has is said to be so", async () => {
  const p = await open();
  await p.go("alerts", "h1:text-is('Alerts')");
  await p.page.keyboard.press("n");
  await p.page.waitForSelector("dialog form");
  await p.page.keyboard.type("misspelt");
  await p.page.fill("dialog input[list=alert-metrics]", "metrics.onw");
  await p.page.fill("dialog label:has-text('the value') input", "1");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("p.notice.warn:has-text('metrics.onw')");
  await p.check("a measure that no event has");
  await p.close();
  for (const a of (await send("GET", "/v1/alerts")).data.filter((a) => a.name === "misspelt")) await send("DELETE", `/v1/alerts/${a.id}`);
});

test("alerts: of a chart, a webhook's address and secret are not shown again, all widths", async () => {
  const chart = (await send("POST", "/v1/charts", { name: `delay ${hostile[1]}`, metric: "duration" })).data;
  for (const [width, scheme] of [[1280, "light"], [400, "dark"], [2560, "light"]]) {
    const p = await open({ width, scheme });
    await p.go(`alerts?chart=${chart.id}`, "dialog form");
    await soon.equal(() => p.page.inputValue("dialog label:has-text('What is measured') select"), chart.id);
    if (width === 1280) {
      await p.page.fill("dialog input[placeholder='slow answers']", "of a chart");
      await p.page.fill("dialog label:has-text('the value') input", "5");
      await p.page.click("dialog button:has-text('Add a channel')");
      await p.page.selectOption("dialog select[aria-label=Channel]", "webhook");
      await p.page.fill("dialog input[type=url]", "https://127.0.0.1/token-7f3a");
      await p.page.keyboard.press("Enter");
      await soon.match(() => p.page.textContent("dialog [role=alert]"), /127\.0\.0\.1 is not on the public Internet/);
      await p.page.fill("dialog input[type=url]", "https://hooks.invalid/token-7f3a");
      await soon.match(() => p.page.inputValue("dialog input[spellcheck=false]"), /^whsec_.{44}$/);
      await p.page.keyboard.press("Enter");
      await p.page.waitForSelector(".alert-detail:has-text('average of duration'):has-text('fires when above 5 ms')");
      await soon.match(() => p.page.textContent(".alert-detail .alert-watches"), /^chart delay /);
      await p.page.click(".alert-detail button:has-text('Change')");
      await soon.equal(() => p.page.inputValue("dialog input[type=url]"), "");
      assert.ok(!(await p.page.content()).includes("token-7f3a"), "the address is in the page");
      await p.page.keyboard.press("Escape");
    } else {
      if (shots) await p.page.screenshot({ path: `${shots}/alerts-form-${width}.png` });
      await p.page.keyboard.press("Escape");
      await p.page.click("td .value");
      await p.page.waitForSelector(".alert-detail");
      await p.flaws(`alerts at ${width}`);
      if (shots) await p.page.screenshot({ path: `${shots}/alerts-${width}.png` });
    }
    await p.check(`alerts at ${width}`);
    await p.close();
  }
});

test("alerts: a key that may only read changes nothing, and is told why", async () => {
  const project = (await send("GET", "/v1/me")).project.id;
  const reader = (await send("POST", `/v1/projects/${project}/fine_grained_api_keys`, { name: "reads alerts", permissions: ["read"], expires_at: Date.now() + 86_400_000 })).data.key_value;
  const p = await open({ signIn: false });
  assert.equal((await p.context.request.post(`${base}/v1/login`, { data: { key: reader } })).status(), 200);
  await p.go("alerts", "td .value");
  assert.ok(await p.page.isDisabled("button:has-text('New alert')"));
  await soon.equal(() => p.page.getAttribute("button:has-text('New alert')", "title"), "Your key may only read");
  await p.page.click("td .value");
  await p.page.waitForSelector(".alert-detail");
  for (const name of ["Test", "Switch off", "Change …", "Delete …"]) assert.ok(await p.page.isDisabled(`.alert-detail button:text-is('${name}')`), name);
  await p.check("a reading key");
  await p.close();
});

await run();
