// Metrics: written and tried over stored events, deployed, compared with people, run over past events, and a judge whose prompt can be read.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { base, hostile, open, run, send, shots, soon, test, uuid } from "../page.mjs";

// A model that finds what says "refund" good.
const model = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => { body += part; });
  request.on("end", () => {
    const text = JSON.parse(body).messages.at(-1).content;
    const content = JSON.stringify({ explanation: `It says ${hostile[0]}`, score: /refund/.test(text) });
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ id: "x", object: "chat.completion", model: "m", choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content } }], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }));
  });
});
await new Promise((done) => model.listen(0, "127.0.0.1", done));
model.unref();
await send("PUT", "/v1/providers/played", { base_url: `http://127.0.0.1:${model.address().port}/v1`, api_key: "sk-x", model: "gpt-4o-mini" });

const session = uuid();
const now = Date.now();
const answers = ["A refund is on its way.", "Please call us.", hostile[1], "The refund takes five days.", "refund ".repeat(2000)];
const events = answers.map((content, i) => ({ event_id: uuid(), session_id: session, event_type: "model", event_name: i === 2 ? hostile[0] : `answer ${i}`, start_time: now - 60_000 + i * 1000, duration: 20 + i * 20,
  inputs: { question: "Where is it?" }, outputs: { content }, feedback: { rating: i !== 3 } }));
await send("POST", "/v1/events/batch", { events });

/** Presses Tab, and Esc before it in the editor, until the focus is on what has this label. */
async function tabTo(page, label) {
  for (let i = 0; i < 60; i++) {
    const at = await page.evaluate(() => { const e = document.activeElement; return e.getAttribute("aria-label") ?? e.labels?.[0]?.firstChild?.textContent ?? e.textContent; });
    if (at === label) return;
    if (await page.evaluate(() => document.activeElement.matches(".metric-code"))) await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not lead to ${label}`);
}

test("by keyboard alone: from an empty list to a metric that was tried, and edits that are not lost", async () => {
  const p = await open();
  await p.go("sessions", "main");
  await p.page.keyboard.press("g");
  await p.page.keyboard.press("m");
  await p.page.waitForSelector("text=No metrics yet");
  await p.flaws("no metrics");
  await p.page.keyboard.press("n");
  await p.page.waitForSelector(".metric-form");
  await tabTo(p.page, "Name");
  await p.page.keyboard.type("quick");
  await tabTo(p.page, "Expression over the event");
  await p.page.keyboard.press("Control+a");
  await p.page.keyboard.type("duration < 50\n");
  await p.page.keyboard.press("Tab");
  await soon.equal(() => p.page.inputValue(".metric-code"), "duration < 50\n    ");
  await p.page.keyboard.press("Shift+Tab");
  await soon.equal(() => p.page.inputValue(".metric-code"), "duration < 50\n");
  await p.page.keyboard.press("Escape");
  await p.page.keyboard.press("Tab");
  assert.notEqual(await p.page.evaluate(() => document.activeElement.tagName), "TEXTAREA", "Esc and Tab leave the editor");
  await p.page.waitForSelector("text=5 of 5 scored"); // of itself, and nothing is stored
  assert.equal((await send("GET", `/v1/events/${events[0].event_id}`)).event.metrics?.quick, undefined);
  await tabTo(p.page, "Passes");
  await p.page.keyboard.press("t");
  await p.page.waitForSelector("text=2 pass");
  await p.page.reload();
  await p.page.waitForSelector("text=2 pass");
  await soon.equal(() => p.page.inputValue(".metric-code"), "duration < 50\n");
  await tabTo(p.page, "Create");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("text=As deployed, v1.");
  const { metrics } = await send("GET", "/v1/metrics");
  assert.deepEqual([metrics[0].name, metrics[0].criteria, metrics[0].threshold.pass_when], ["quick", "duration < 50\n", true]);

  // What is not saved is asked about in place, and stays in the tab.
  await p.page.fill(".metric-code", "duration < 30");
  await p.page.waitForSelector("text=1 pass");
  await p.page.click("a[href='#/events']");
  await p.page.waitForSelector("[role=alertdialog]");
  assert.match(p.page.url(), /metrics\//);
  await p.page.mouse.move(700, 500);
  await p.flaws("asking about edits");
  await p.page.keyboard.press("Enter"); // Stay
  await p.page.waitForSelector("[role=alertdialog]", { state: "detached" });
  await p.page.click("a[href='#/events']");
  await p.page.click("text=Leave, and keep them");
  await p.page.waitForSelector("h1:has-text('All events')");
  await p.page.goBack();
  await p.page.waitForSelector(".chip.running:has-text('edited')");
  await soon.equal(() => p.page.inputValue(".metric-code"), "duration < 30");
  await p.check("edits");

  // Deployed, compared with the version before, and gone back.
  await p.page.fill("[aria-label='What is new in this version']", "stricter");
  await p.page.click("button:text-is('Deploy')");
  await p.page.waitForSelector("text=v2 is deployed.");
  await p.page.keyboard.press("Escape");
  await p.page.click("[role=tab]:has-text('Versions')");
  await p.page.waitForSelector(".text-diff del");
  await soon.match(() => p.page.textContent(".metric-versions section"), /stricter/);
  assert.deepEqual([await p.page.textContent(".text-diff del"), await p.page.textContent(".text-diff ins")].map((t) => t.trim()), ["50", "30"]);
  await p.page.keyboard.press("j");
  await p.page.click("text=Deploy v1");
  await p.page.waitForSelector(".metric-versions li:nth-child(2):has-text('deployed')");
  assert.equal((await send("GET", "/v1/metrics")).metrics[0].version, "v1");
  await p.flaws("versions");
  await p.check("versions");
  await p.close();
});

test("filters are written as people type them, and results of an older text are grey until there are new ones", async () => {
  const { metric_id: id } = await send("POST", "/v1/metrics", { name: "quick", type: "EXPRESSION", criteria: "duration < 2000", return_type: "boolean", filters: { filterArray: [{ field: "event_type", operator: "is", value: "model", type: "string" }] } });
  const p = await open();
  await p.go("metrics", ".table .row:has-text('quick'):has-text('type:model')");
  assert.ok(!(await p.page.textContent(".table")).includes("event_type:"));
  await p.go(`metrics/${id}`, ".metric-events li");
  await soon.equal(() => p.page.inputValue("#filter-bar"), "type:model");
  let free;
  const held = new Promise((done) => { free = done; });
  await p.page.route(/v1\/metrics\/run/, async (r) => { await held; await r.continue(); });
  await p.page.fill(".metric-code", "duration < 1");
  await p.page.waitForSelector(".metric-test.stale .metric-events li");
  await p.page.waitForSelector(".metric-test[aria-busy=true]");
  await p.page.waitForSelector(".metric-test.stale .metric-events li");
  free();
  await p.page.waitForSelector(".metric-test:not(.stale) .metric-events li");
  await p.check("an older text");
  await p.close();
  await send("DELETE", `/v1/metrics?metric_id=${id}`);
});

test("a judge: asked at a button only, with the whole prompt to read; hostile texts stay texts", async () => {
  const { metric_id: id } = await send("POST", "/v1/metrics", { name: hostile[1], type: "LLM", criteria: `${hostile[0]}\nAnswer: {{ outputs.content }}`, return_type: "boolean", threshold: { pass_when: true }, model_provider: "played" });
  const p = await open();
  await p.go(`metrics/${id}`, ".metric-test");
  await p.page.waitForTimeout(900); // longer than edits rest
  assert.equal(await p.page.locator(".metric-events li").count(), 0, "a model was asked by itself");
  await p.page.click("text=Ask the model");
  await p.page.waitForSelector("text=5 of 5 scored · 3 pass");
  await p.page.locator(".metric-events li", { hasText: "answer 1" }).locator("summary").click();
  const prompt = await p.page.locator(".metric-events li", { hasText: "answer 1" }).locator("pre").last().textContent();
  assert.ok(prompt.includes(hostile[0]) && prompt.includes("Please call us."), prompt);
  assert.ok((await p.page.textContent(".metric-events")).includes(`It says ${hostile[0]}`));
  await p.flaws("a judge");
  await p.check("a judge");
  await p.close();
});

test("what cannot be computed is said where it is: a failure, filters that match nothing, a definition that is refused", async () => {
  const p = await open();
  await p.go("metrics/new", ".metric-form");
  await p.page.fill(".metric-code", "metadata.none.at.all");
  await p.page.waitForSelector(".metric-events .chip.bad");
  assert.equal(await p.page.locator(".metric-events .chip.bad").first().textContent(), "ended in an error");
  await p.page.fill(".metric-code", "duration <");
  await p.page.fill(".metric-form input", "broken");
  await p.page.click("button:text-is('Create')");
  await p.page.waitForSelector(".metric-save [role=alert]:has-text('criteria')");
  await p.page.fill(".metric-code", "duration < 50");
  await p.page.fill("#filter-bar", "name:nothing");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("text=No stored event matches");
  await p.page.fill("#filter-bar", "duration>30 name~answer");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("text=3 events match");
  await p.page.selectOption(".metric-form label:has-text('Gives') select", "float");
  await p.page.locator(".metric-form input[inputmode=decimal]").first().pressSequentially("0.05");
  await p.page.waitForSelector("text=1 pass"); // true counts as 1, false as 0
  // A number that is cleared stays empty while it is typed anew; left empty, it is what it was.
  await p.page.getByLabel("Score new events as they come").check();
  const sample = p.page.getByLabel("Sample, in %");
  await sample.fill("50");
  await sample.fill("");
  assert.equal(await sample.inputValue(), "");
  await sample.pressSequentially("25");
  assert.equal(await sample.inputValue(), "25");
  await sample.fill("");
  await sample.blur();
  assert.equal(await sample.inputValue(), "25");
  await p.page.click("text=Discard");
  await p.page.waitForFunction(() => document.querySelector("#filter-bar").value === "");
  await p.check("failures");
  await p.close();
});

test("scored events, a backfill, and agreement with people", async () => {
  const { metric_id: id } = await send("POST", "/v1/metrics", { name: "says refund", type: "EXPRESSION", criteria: "answer contains 'refund' ? true : outputs.none.at.all", return_type: "boolean" });
  const p = await open();
  await p.go(`metrics/${id}?view=agreement&with=feedback.rating`, "text=scored none of the labelled");
  await p.page.keyboard.press("4");
  await p.page.click("text=Score past events");
  await p.page.click("button:text-is('Start')");
  await p.page.waitForSelector("text=5 of 5");
  await p.page.waitForSelector(".chip.done");
  await soon.match(() => p.page.textContent(".metric-figures"), /Events it is for5.*Scored360 %.*No score2/);
  await p.page.waitForSelector("button:text-is('Retry all without a score')"); // those without a score come first
  await soon.equal(() => p.page.locator("[aria-label=Evaluations] li").count(), 2);
  await p.page.click("button:text-is('Retry all without a score')");
  await p.page.waitForSelector("text=2 evaluations wait anew");
  await p.page.selectOption("[aria-label=State]", "done");
  await p.page.waitForSelector("[aria-label=Evaluations] li:nth-child(3)");
  await p.flaws("scored events");
  await p.page.keyboard.press("3");
  await p.page.waitForSelector("text=1 disagreement");
  const text = await p.page.textContent(".metric-scroll");
  assert.match(text, /Compared3of 5 labelled, 2 without a score/);
  assert.match(text, /true2320\.671\.000\.80/); // people, metric, both, precision, recall, F1
  await soon.match(() => p.page.textContent("[aria-label=Disagreements] li"), /answer 3.*people false.*metric true/);
  await p.flaws("agreement");
  if (shots) await p.page.screenshot({ path: `${shots}/metrics-agreement.png` });
  await p.page.click("[aria-label=Disagreements] a");
  await p.page.waitForURL((u) => u.hash.includes(session) && u.hash.includes(events[3].event_id));
  await p.check("agreement");
  await p.close();
});

test("a ready-made one, found and made a metric of the project", async () => {
  const p = await open();
  await p.go("metrics/library", ".metric-library li");
  await p.page.fill("input[type=search]", "contains a text");
  await p.page.waitForFunction(() => document.querySelectorAll(".metric-library li").length === 1);
  await p.page.click("[aria-label='Use contains']");
  await p.page.fill("dialog label:has-text('phrase') input", "refund");
  await p.flaws("a ready-made one");
  await p.page.click("text=Make it a metric");
  await p.page.waitForSelector("text=3 pass");
  await p.go("metrics?q=contains", ".table .row");
  await p.page.keyboard.press("j");
  await p.page.waitForSelector(".row.selected");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector(".metric-form");
  await p.page.click("[aria-label='Delete the metric']");
  await p.page.click("dialog button:text-is('Delete')");
  await p.page.waitForSelector(".table .row");
  assert.ok(!(await send("GET", "/v1/metrics")).metrics.some((m) => m.name === "contains"));
  await p.go("metrics?q=nothing+like+it", "text=No metric matches");
  await p.check("a ready-made one");
  await p.close();
});

test("widths, themes, and a key that reads only", async () => {
  const { metrics } = await send("GET", "/v1/metrics");
  const [hostileOne, scored] = [metrics.find((m) => m.type === "LLM"), metrics.find((m) => m.name === "says refund")];
  const routes = ["metrics", "metrics/library", "metrics/new?type=COMPOSITE", `metrics/${hostileOne.id}`, `metrics/${hostileOne.id}?view=versions`, `metrics/${scored.id}?view=agreement&with=feedback.rating`, `metrics/${scored.id}?view=runs`];
  for (const [width, scheme] of [[400, "light"], [1280, "dark"], [2560, "light"]]) {
    const p = await open({ width, scheme, reduced: true });
    for (const route of routes) {
      await p.go(route, "h1");
      await p.page.waitForFunction(() => !document.querySelector(".progress"));
      if (width !== 2560) await p.flaws(`${route} at ${width}`);
      await p.check(`${route} at ${width}`);
      if (shots) await p.page.screenshot({ path: `${shots}/${route.replace(/\W+/g, "-")}-${width}.png` });
    }
    await p.close();
  }
  const { project } = await send("GET", "/v1/me");
  const key = (await send("POST", `/v1/projects/${project.id}/fine_grained_api_keys`, { name: "reads", permissions: ["read"], expires_at: "2900-01-01T00:00:00Z" })).data.key_value;
  const p = await open({ signIn: false });
  assert.equal((await p.context.request.post(`${base}/v1/login`, { data: { key } })).status(), 200);
  await p.go("metrics", ".table .row");
  assert.equal(await p.page.locator("text=New metric").count(), 0);
  await p.go(`metrics/${scored.id}`, "text=This key reads only");
  assert.ok(await p.page.isDisabled(".metric-code"));
  assert.equal(await p.page.locator("button:text-is('Deploy'), [aria-label='Delete the metric']").count(), 0);
  await p.go(`metrics/${scored.id}?view=runs`, ".metric-figures");
  assert.equal(await p.page.locator("text=Score past events").count(), 0);
  await p.check("a key that reads");
  await p.close();
});

test("edits that are kept say that another version was deployed since", async () => {
  const id = (await send("POST", "/v1/metrics", { name: `shared ${uuid().slice(0, 8)}`, type: "EXPRESSION", criteria: "duration < 10", return_type: "boolean" })).metric_id;
  const theirs = async (criteria) => {
    const { metrics: [m] } = await send("GET", `/v1/metrics?id=${id}`);
    const content = Object.fromEntries(["name", "type", "criteria", "description", "return_type", "enabled_in_prod", "needs_ground_truth", "sampling_percentage", "filters"].map((f) => [f, m[f]]));
    await send("POST", `/v1/metrics/${id}/versions`, { message: "theirs", content: { ...content, criteria }, deploy_immediately: true });
  };
  const { page, check, go, close } = await open();
  const status = () => page.textContent(".metric-save [role=status]");
  await go(`metrics/${id}`, ".metric-code");
  await page.fill(".metric-code", "duration < 20");
  await page.waitForSelector("text=Edits are kept in this tab");
  await theirs("duration < 30");
  await page.reload();
  await page.waitForSelector(".metric-save .warn");
  assert.match(await status(), /These edits began at v1, and v2 is deployed now\./);
  assert.equal(await page.inputValue(".metric-code"), "duration < 20");
  await page.fill(".metric-code", "duration < 25");
  await page.reload();
  await page.waitForSelector(".metric-save .warn");
  assert.match(await status(), /began at v1, and v2/);
  await page.click("button:text-is('Discard')");
  await page.waitForSelector("text=As deployed, v2.");
  assert.equal(await page.inputValue(".metric-code"), "duration < 30");
  await page.fill(".metric-code", "duration < 40");
  await page.waitForSelector("text=Edits are kept in this tab");
  assert.equal(await page.locator(".metric-save .warn").count(), 0);
  await page.click("button:text-is('Deploy')");
  await page.waitForSelector("text=v3 is deployed.");
  await page.fill(".metric-code", "duration < 50");
  await page.waitForSelector("text=Edits are kept in this tab");
  assert.equal(await page.locator(".metric-save .warn").count(), 0);
  await check("kept edits");
  await close();
});

await run();
model.close();
