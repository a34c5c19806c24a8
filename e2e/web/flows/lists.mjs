// Lists: several rows are selected and put to use, what is filtered is exported and deleted; by keyboard alone, and at 400 px.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { open, run, send, shots, soon, test, uuid } from "../page.mjs";

const shot = async (page, name) => { if (shots) await page.screenshot({ path: `${shots}/lists-${name}.png` }); };

/** Stores sessions of one model call each, a second apart, the last one newest, and returns their ids and a filter for them. */
async function sessions(n) {
  const source = `lists-${uuid().slice(0, 8)}`;
  const ids = [];
  for (let i = 0; i < n; i++) {
    const session = uuid();
    const at = Date.now() - 3_600_000 + i * 1000;
    await send("POST", "/v1/session/start", { session: { session_id: session, session_name: `order ${i + 1}`, source, start_time: at, metadata: { tenant: i % 2 ? "=acme" : "globex" } } });
    await send("POST", "/v1/events/batch", { events: [{
      event_id: uuid(), session_id: session, event_type: "model", event_name: `answer ${i + 1}`, source, start_time: at, duration: 500 + i, config: { model: "gpt-4o" }, metadata: { total_tokens: 100 + i },
      inputs: { question: `Where is order ${i + 1}?` }, outputs: { answer: "On its way." },
    }] });
    ids.push(session);
  }
  return { source, ids, q: `source:${source}` };
}

const list = (of, q, more = "") => `${of}?range=all&q=${encodeURIComponent(q)}${more}`;
const bar = (page) => page.locator(".chosen-bar [role=status]");
const count = async (source, of = "sessions") => of === "sessions"
  ? (await send("POST", "/v1/sessions/search", { filters: [{ field: "source", operator: "is", value: source, type: "string" }], total: "exact", limit: 1 })).total
  : (await send("POST", "/v1/events/search", { filters: [{ field: "source", operator: "is", value: source, type: "string" }, { field: "event_type", operator: "is", value: "model", type: "string" }], limit: 1 })).totalEvents;

async function saved(page, text) {
  const download = page.waitForEvent("download");
  await page.click("[aria-label=Export]");
  await page.click(`.export-menu button:has-text("${text}")`);
  const file = await download;
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
}

test("what is filtered is saved whole, or with the columns on screen", async () => {
  const { q, ids } = await sessions(3);
  const p = await open();
  await p.go(list("sessions", q, `&cols=${encodeURIComponent("name,events,metadata.tenant")}&sort=duration&order=asc`), ".table .row");
  const shown = await saved(p.page, "CSV of the columns shown");
  assert.equal(shown.name, "sessions.csv");
  const lines = shown.text.trimEnd().split("\r\n");
  assert.equal(lines[0], "session_id,session_name,num_events,metadata.tenant");
  assert.equal(lines.length, 4);
  assert.ok(lines.includes(`${ids[1]},order 2,1,'=acme`), shown.text);
  const whole = await saved(p.page, "JSONL, 3 sessions");
  assert.deepEqual(whole.text.trimEnd().split("\n").map((l) => JSON.parse(l).session_id).sort(), [...ids].sort());
  await p.go(list("completions", q, "&cols=name,model,tokens"), ".table .row");
  const events = await saved(p.page, "JSONL of the columns shown");
  assert.deepEqual(Object.keys(JSON.parse(events.text.split("\n")[0])), ["event_id", "event_name", "config.model", "metadata.total_tokens"]);
  await p.check("files");
  await p.close();
});

test("rows are selected by boxes, ranges and all that match", async () => {
  const { q, ids, source } = await sessions(6);
  const p = await open();
  await p.go(list("sessions", q), ".table .row");
  const boxes = p.page.locator(".table .row .box input");
  assert.equal(await boxes.first().evaluate((e) => getComputedStyle(e).opacity), "0", "boxes are out of the way");
  await p.page.locator(".table .row").first().hover();
  await boxes.nth(0).click();
  await soon.equal(() => bar(p.page).textContent(), "1 session selected");
  assert.equal(new URL(p.page.url().replace("/#/", "/")).searchParams.get("s"), null, "a box opens no peek");
  await boxes.nth(3).click({ modifiers: ["Shift"] });
  await soon.equal(() => bar(p.page).textContent(), "4 sessions selected");
  await boxes.nth(1).click();
  await soon.equal(() => bar(p.page).textContent(), "3 sessions selected");
  await shot(p.page, "selected");
  await p.flaws("rows are selected");
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector(".chosen-bar", { state: "detached" });
  // Another filter selects nothing.
  await boxes.nth(0).click();
  await p.go(list("sessions", `${q} name:nothing`), ".empty");
  assert.equal(await p.page.locator(".chosen-bar").count(), 0);
  await p.go(list("sessions", q), ".table .row");
  // Into a dataset, those that were selected alone.
  await p.page.locator(".table .row").first().hover();
  await boxes.nth(0).click();
  await boxes.nth(2).click();
  await p.page.click(".chosen-bar button:has-text('Add to a dataset')");
  await p.page.waitForSelector("dialog h2:has-text('Add all 2 sessions')");
  await p.page.fill("dialog input[required]", `chosen ${source}`);
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog .good");
  await soon.match(() => p.page.locator("dialog .good").textContent(), /2 datapoints added/);
  await p.page.keyboard.press("Escape");
  // Into a queue: the newest first.
  await p.page.click(".chosen-bar button:has-text('Add to a queue')");
  await p.page.fill("dialog input[required]", `queue ${source}`);
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog .good");
  const { queues } = await send("GET", "/v1/queues");
  const { items } = await send("GET", `/v1/queues/${queues.find((x) => x.name === `queue ${source}`).id}/items`);
  assert.deepEqual(items.map((i) => i.event_id).sort(), [ids[5], ids[3]].sort());
  await p.check("several rows");
  await p.close();
});

test("by keyboard alone: x, Shift x, Delete, the count, Enter", async () => {
  const { q, ids, source } = await sessions(5);
  const p = await open();
  await p.go(list("sessions", q), ".table .row");
  const press = (...keys) => keys.reduce((before, k) => before.then(() => p.page.keyboard.press(k)), Promise.resolve());
  await press("x");
  await p.page.waitForSelector(`[id="row-${ids[4]}"].picked`);
  await press("j", "j");
  await p.page.waitForSelector(`[id="row-${ids[2]}"].selected`);
  await press("Shift+X");
  await soon.equal(() => bar(p.page).textContent(), "3 sessions selected");
  await press("?");
  await p.page.waitForSelector(".sheet");
  await soon.match(() => p.page.locator(".sheet").textContent(), /Select the row/);
  await press("Escape");
  await p.page.waitForSelector(".sheet", { state: "detached" });
  await press("Delete");
  await p.page.waitForSelector("dialog h2:has-text('Delete 3 sessions')");
  await soon.match(() => p.page.locator("dialog").textContent(), /6 events/);
  await p.flaws("a deletion");
  await p.page.keyboard.type("2");
  assert.ok(await p.page.locator("dialog button[type=submit]").isDisabled(), "another number deletes nothing");
  await press("Enter");
  await soon.equal(() => count(source), 5);
  await press("Backspace");
  await p.page.keyboard.type("3");
  await press("Enter");
  await p.page.waitForSelector("dialog p:has-text('6 of 6 events deleted')");
  await shot(p.page, "deleted");
  await press("Enter");
  await p.page.waitForSelector("dialog", { state: "detached" });
  await p.page.waitForFunction(() => document.querySelectorAll(".table .row").length === 2);
  await soon.equal(() => count(source), 2);
  await press("Control+a");
  await soon.equal(() => bar(p.page).textContent(), "2 sessions selected");
  await p.check("by keyboard");
  await p.close();
});

test("what is filtered is deleted, unless more match by then", async () => {
  const { q, source } = await sessions(3);
  const p = await open();
  await p.go(list("completions", q), ".table .row");
  const ask = async () => {
    await p.page.click("[aria-label=Export]");
    await p.page.click("text=Delete what is filtered…");
    await p.page.waitForSelector("dialog label");
  };
  await ask();
  await soon.match(() => p.page.locator("dialog h2").textContent(), /Delete 3 events/);
  const more = uuid();
  await send("POST", "/v1/events/batch", { events: [{ event_id: uuid(), session_id: more, event_type: "model", event_name: "late", source, start_time: Date.now() - 3_000_000, inputs: {}, outputs: {} }] });
  await p.page.fill("dialog input", "delete");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog .bad");
  await soon.match(() => p.page.locator("dialog .bad").textContent(), /more than the 3 expected/);
  await p.page.waitForSelector("dialog h2:has-text('Delete 4 events')");
  await soon.equal(() => count(source, "events"), 4);
  await p.page.fill("dialog input", "4");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog p:has-text('4 of 4 events deleted')");
  await p.page.click("dialog button:has-text('Close')");
  await p.page.waitForSelector(".empty");
  assert.equal(await count(source, "events"), 0);
  await soon.equal(() => count(source), 3, "sessions that were started stay");
  await p.check("a deletion");
  await p.close();
});

test("a deletion that takes long shows its progress, and is left or stopped", async () => {
  const { q } = await sessions(1);
  const p = await open();
  let done = 40;
  const deletion = (state) => ({ id: "d", of: "sessions", state, sessions: 100, events: 200, deleted_sessions: done / 2, deleted_events: done, kept_sessions: state === "done" ? 1 : 0, created_at: "2026-01-01T00:00:00Z" });
  await p.page.route("**/v1/sessions/delete", (r) => (r.request().postDataJSON().dry_run ? r.fallback() : r.fulfill({ json: deletion("running") })));
  await p.page.route("**/v1/deletions/d", (r) => { done = Math.min(160, done + 40); void r.fulfill({ json: deletion("running") }); });
  await p.page.route("**/v1/deletions/d/cancel", (r) => r.fulfill({ json: deletion("cancelled") }));
  await p.go(list("sessions", q), ".table .row");
  await p.page.click("[aria-label=Export]");
  await p.page.click("text=Delete what is filtered…");
  await p.page.waitForSelector("dialog label");
  await p.page.fill("dialog input", "delete");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog p:has-text('160 of 200 events deleted')");
  await soon.match(() => p.page.locator("dialog").textContent(), /It goes on if you leave/);
  await shot(p.page, "progress");
  await p.page.click("dialog button:has-text('Stop')");
  await p.page.waitForSelector("dialog p:has-text('then stopped')");
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector("dialog", { state: "detached" });
  await p.check("a long deletion");
  await p.close();
});

test("at 400 px rows are selected, and what is done with them fits", async () => {
  const { q, source } = await sessions(2);
  const p = await open({ width: 400, height: 800 });
  await p.go(list("sessions", q), ".table .row");
  const first = p.page.locator(".table .row .box input").first();
  await p.page.locator(".table .row").first().hover();
  await first.click();
  await soon.equal(() => bar(p.page).textContent(), "1 session selected");
  const box = await p.page.locator(".chosen-bar button.danger").boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 400 && box.y + box.height <= 800, JSON.stringify(box));
  await shot(p.page, "400");
  await p.page.click(".chosen-bar button.danger");
  await p.page.waitForSelector("dialog label");
  await shot(p.page, "400-dialog");
  await p.check("a dialog at 400 px");
  await p.page.fill("dialog input", "1");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog p:has-text('2 of 2 events deleted')");
  await p.page.click("dialog button:has-text('Close')");
  await soon.equal(() => count(source), 1);
  await p.close();
});

test("the filter bar that is left as it is leaves the selection, and what is deleted is shown no longer", async () => {
  const { q, ids } = await sessions(3);
  const { page, check, go, close } = await open();
  for (const of of ["sessions", "events"]) {
    await go(list(of, `${q}${of === "events" ? " type:model" : ""}`), ".table .row");
    await page.locator("h1").click();
    await page.keyboard.press("j");
    await page.waitForSelector(".peek");
    await page.keyboard.press("f");
    await page.waitForFunction(() => document.activeElement.id === "filter-bar");
    await page.keyboard.press("Tab");
    await page.waitForFunction(() => document.activeElement.id !== "filter-bar");
    await page.waitForSelector(".peek");
    assert.ok(new URL(page.url().replace("/#/", "/")).searchParams.get("s"), `${of}: the selection is gone`);
  }
  // One event, by its own button.
  const chosen = () => new URL(page.url().replace("/#/", "/")).searchParams.get("s");
  const first = chosen();
  await page.click(".peek [aria-label=Delete]");
  await page.click("dialog .danger");
  await page.waitForSelector(".foot >> text=2 events");
  await page.waitForSelector(".peek", { state: "detached" });
  assert.equal(await page.locator(".table .row").count(), 2);
  // Those that are selected, with the one that is open, and without it.
  const remove = async (button) => {
    await page.click(button);
    await page.fill("dialog input", "delete");
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog [role=status] >> text=deleted");
    await page.waitForSelector("dialog .primary >> text=Close");
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog", { state: "detached" });
  };
  await page.locator("h1").click();
  for (const k of ["j", "j", "x", "k"]) await page.keyboard.press(k);
  await page.waitForSelector(".peek");
  const open1 = chosen();
  await remove(".chosen-bar .danger");
  await page.waitForSelector(".foot >> text=1 event");
  assert.equal(chosen(), open1, "what is open was not deleted");
  await page.locator("h1").click();
  await page.keyboard.press("x");
  await remove(".chosen-bar .danger");
  await page.waitForSelector("h2:has-text('No event matches')");
  assert.equal(await page.locator(".peek").count(), 0);
  assert.equal(chosen(), null);
  assert.notEqual(first, open1);

  await go(list("sessions", q, `&s=${ids[0]}`), ".peek");
  await page.click("[aria-label=Export]");
  await remove(".export-menu .bad");
  await page.waitForSelector("h2:has-text('No session matches')");
  assert.equal(await page.locator(".peek").count(), 0);
  await check("what is gone");
  await close();
});

test("by keyboard alone: lists are sorted by their columns", async () => {
  const { q } = await sessions(3);
  const { page, check, flaws, go, close } = await open();
  for (const of of ["sessions", "events"]) {
    await go(list(of, `${q}${of === "events" ? " type:model" : ""}`), ".table .row");
    await page.focus(".table");
    for (let i = 0; (await page.evaluate(() => document.activeElement.textContent)) !== "Duration"; i++) {
      assert.ok(i < 12, `${of}: Tab does not lead to the duration`);
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await page.waitForSelector("[aria-sort=descending]:has-text('Duration')");
    await page.keyboard.press("Enter");
    await page.waitForSelector("[aria-sort=ascending]:has-text('Duration')");
    await flaws(`${of}, sorted`);
  }
  await check("sorted");
  await close();
});

test("in a narrow window the facets do not cover a row that is open, and are there after it", async () => {
  const { q } = await sessions(2);
  const { page, check, flaws, go, close } = await open({ width: 800 });
  for (const of of ["sessions", "events"]) {
    await go(list(of, q), ".table .row");
    if (!await page.locator(".facets").count()) await page.click("[aria-label=Facets]");
    await page.waitForSelector(".facets");
    await page.focus(".table");
    await page.keyboard.press("j");
    await page.waitForSelector(".peek");
    await page.click(".peek > header h2", { trial: true, position: { x: 4, y: 4 } });
    await flaws(`${of}, a row and facets`);
    await page.click(".peek > header [aria-label^=Close]");
    await page.waitForSelector(".facets");
  }
  await check("facets");
  await close();
});

await run();
