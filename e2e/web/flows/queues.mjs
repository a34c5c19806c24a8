// Annotation queues: two people in two browsers score the same items by keyboard alone, one settles what they differ over; comments.
import assert from "node:assert/strict";
import { hostile, open, run, send, shots, soon, test, uuid } from "../page.mjs";

const shot = async (page, name) => { if (shots) await page.screenshot({ path: `${shots}/queues-${name}.png` }); };

/** Stores a session of model calls, each with a question and an answer, and returns the ids of the calls. */
async function calls(name, n) {
  const session = uuid();
  await send("POST", "/v1/session/start", { session: { session_id: session, session_name: name, source: "shop" } });
  const events = Array.from({ length: n }, (_, i) => ({
    event_id: uuid(), session_id: session, event_type: "model", event_name: `answer ${name}`, source: "shop", start_time: Date.now() - 60_000 + i, duration: 800 + i,
    config: { model: "gpt-4o" }, metrics: { judge: 0.5 }, metadata: { total_tokens: 900 },
    inputs: { chat_history: [{ role: "system", content: "You answer questions about orders, briefly." }, { role: "user", content: `Where is order ${i + 1}?` }] },
    outputs: { role: "assistant", content: `Order **${i + 1}** was sent on Monday and should be with you by Thursday.` },
  }));
  await send("POST", "/v1/events/batch", { events });
  return { session, ids: events.map((e) => e.event_id), events };
}

async function metric(fields) {
  await send("POST", "/v1/metrics", { type: "HUMAN", criteria: "", ...fields });
  return fields.name;
}

/** Opens a browser of a person. */
async function as(name, options = {}) {
  const o = await open(options);
  await o.context.addInitScript((n) => localStorage.setItem("spangrove.person", n), name);
  return o;
}

const where = (page) => page.locator(".where b").textContent();
const item = (page) => new URL(page.url().replace("/#/", "/")).searchParams.get("item");

/** Presses keys one after the other, and waits until the page has done what each asks for. */
async function press(page, ...keys) {
  for (const k of keys) {
    await page.keyboard.press(k);
    await page.waitForFunction(() => !document.querySelector(".work .progress"));
  }
}

test("two people score the same items by keyboard, and one settles what they differ over", async () => {
  const tag = uuid().slice(0, 8);
  const { ids } = await calls(tag, 3);
  const helpful = await metric({ name: `helpful ${tag}`, return_type: "boolean", criteria: "Does it answer the question?" });
  const stars = await metric({ name: `stars ${tag}`, return_type: "float", scale: 5 });
  const tone = await metric({ name: `tone ${tag}`, return_type: "categorical", categories: [{ category: "kind" }, { category: "rude" }] });
  const { queue } = await send("POST", "/v1/queues", { name: `doubtful ${tag}`, description: "**Good** means that the customer needs not ask again.", event_ids: ids, annotators_per_item: 2, metrics: [helpful, stars, tone] });

  const ann = await open();
  await ann.go(`queues/${queue.id}`, ".ask");
  await ann.page.keyboard.press("Tab");
  await ann.page.locator(".ask input").focus();
  await ann.page.keyboard.type("Ann");
  await ann.page.keyboard.press("Enter");
  await ann.page.waitForSelector(".scoring");
  assert.equal(await where(ann.page), "1 of 3");
  assert.equal(item(ann.page), ids[0]);
  await soon.match(() => ann.page.locator(".asked").innerText(), /Where is order 1\?/);
  assert.ok(!(await ann.page.locator(".asked").innerText()).includes("judge"), "scores of others are shown to who is to score");
  await shot(ann.page, "item");
  await ann.flaws("an item");

  const bob = await as("Bob");
  await bob.go(`queues/${queue.id}`, ".scoring");
  assert.equal(item(bob.page), ids[0], "two people are needed");
  const cid = await as("Cid", { width: 400, height: 800 });
  await cid.go(`queues/${queue.id}`, ".scoring");
  assert.equal(item(cid.page), ids[1]);
  assert.match(await where(cid.page), /^1 of 3, 1 held by others$/);
  await shot(cid.page, "item-400");
  await cid.check("an item at 400 px");
  // With thumbs: large buttons that are on the screen.
  const box = await cid.page.locator(".options .button").first().boundingBox();
  assert.ok(box.height >= 44 && box.y + box.height < 800, `the first answer: ${JSON.stringify(box)}`);
  await cid.page.locator(".moves .button.primary").tap().catch(() => cid.page.locator(".moves .button.primary").click());
  await soon.match(() => cid.page.locator(".panel .bad").textContent(), /has no score yet/);
  await cid.page.locator(".moves .button", { hasText: "Skip" }).click();
  await cid.page.waitForFunction((id) => !location.hash.includes(id), ids[1]);
  await cid.close();

  // 1 is yes, 4 is the number, 2 the second category; Enter saves.
  await press(ann.page, "1", "4", "2");
  await ann.page.reload();
  await ann.page.waitForSelector('.options [aria-pressed="true"]');
  await soon.equal(() => ann.page.locator('.options [aria-pressed="true"]').count(), 3, "what was chosen is there after a reload");
  await press(ann.page, "c");
  await ann.page.keyboard.type("polite enough");
  await ann.page.keyboard.press("Escape");
  await press(ann.page, "Enter");
  await ann.page.waitForFunction((id) => location.hash.includes(id), ids[1]);
  assert.equal(await where(ann.page), "2 of 3");
  // Undo, with what was said; previous and next.
  await press(ann.page, "u");
  await ann.page.waitForFunction((id) => location.hash.includes(id), ids[0]);
  await soon.equal(() => ann.page.locator("#queue-comment").inputValue(), "polite enough");
  assert.equal((await send("GET", `/v1/queues/${queue.id}/items`)).items[0].annotations.length, 0);
  await press(ann.page, "Enter");
  await ann.page.waitForFunction((id) => location.hash.includes(id), ids[1]);
  await press(ann.page, "p");
  await ann.page.waitForFunction((id) => location.hash.includes(id), ids[0]);
  assert.match(await where(ann.page), /Annotated before/);
  await press(ann.page, "n");
  await ann.page.waitForFunction((id) => location.hash.includes(id), ids[1]);
  await press(ann.page, "2", "0", "2", "Enter");
  await ann.page.waitForFunction((id) => location.hash.includes(id), ids[2]);
  await press(ann.page, "s");
  await ann.page.waitForSelector(".empty");
  await soon.match(() => ann.page.locator(".empty").innerText(), /You have annotated 2 items and skipped 1/);
  await shot(ann.page, "through");

  // Bob sees the first two otherwise in part.
  await press(bob.page, "1", "4", "1", "Enter");
  await bob.page.waitForFunction((id) => location.hash.includes(id), ids[1]);
  await press(bob.page, "2", "0", "2", "Enter");
  await bob.page.waitForFunction((id) => location.hash.includes(id), ids[2]);
  await bob.go(`queues/${queue.id}/people`, ".people table");
  const people = await bob.page.locator(".people").innerText();
  assert.match(people, /Ann\s+2\s+1/);
  assert.match(people, new RegExp(`helpful ${tag}\\s+Ann and Bob\\s+2\\s+100 %\\s+1.00`));
  await shot(bob.page, "people");
  await bob.flaws("people");

  await bob.go(`queues/${queue.id}/differences`, ".differences li");
  await soon.equal(() => bob.page.locator(".differences li").count(), 1);
  await soon.match(() => bob.page.locator(".differences li").innerText(), /Ann\s+rude\s+Bob\s+kind/);
  await shot(bob.page, "differences");
  await bob.flaws("differences");
  await bob.page.locator(".differences li a").focus();
  await bob.page.keyboard.press("Enter");
  await bob.page.waitForSelector(".panel .scoring");
  await shot(bob.page, "settling");
  await bob.page.waitForSelector(".asked .event");
  await bob.flaws("settling");
  await press(bob.page, "1", "Enter");
  await bob.page.waitForSelector(".differences .empty");
  assert.equal((await send("GET", `/v1/events/${ids[0]}`)).event.metrics[tone], "kind");
  await bob.go(`queues/${queue.id}/differences?show=settled`, ".differences li");
  await soon.match(() => bob.page.locator(".differences li").innerText(), /Bob settled it: .*kind/);
  await bob.page.locator(".differences li a").click();
  await bob.page.locator(".moves .button", { hasText: "Take back" }).click();
  await bob.page.waitForSelector(".differences .empty");
  assert.equal((await send("GET", `/v1/queues/${queue.id}/items?differ=unsettled`)).items.length, 1);
  await ann.check("Ann");
  await bob.check("Bob");
  await ann.close();
  await bob.close();
});

test("a claim is renewed while its item is open, and one that is lost is said", async () => {
  const tag = uuid().slice(0, 8);
  const { ids } = await calls(tag, 1);
  const good = await metric({ name: `good ${tag}`, return_type: "boolean" });
  const { queue } = await send("POST", "/v1/queues", { name: `short ${tag}`, event_ids: ids, annotators_per_item: 1, metrics: [good], lease_seconds: 2 });
  const ann = await as("Ann");
  await ann.go(`queues/${queue.id}`, ".scoring");
  await ann.page.waitForTimeout(2600);
  assert.equal((await send("POST", `/v1/queues/${queue.id}/next`, { annotator: "Bob" })).item, null, "the claim was not renewed");
  await ann.context.setOffline(true);
  for (let i = 0; (await send("POST", `/v1/queues/${queue.id}/next`, { annotator: "Bob" })).item === null; i++) {
    assert.ok(i < 50, "the claim never ran out");
    await ann.page.waitForTimeout(200);
  }
  await ann.context.setOffline(false);
  await ann.page.waitForSelector(".panel .notice", { timeout: 5000 });
  await soon.match(() => ann.page.locator(".panel .notice").innerText(), /hold on this item has ended/);
  await shot(ann.page, "lost");
  await ann.close();
});

test("a number is scored as it is typed, digit by digit", async () => {
  const tag = uuid().slice(0, 8);
  const { ids } = await calls(tag, 2);
  const likely = await metric({ name: `likely ${tag}`, return_type: "float", scale: 100 });
  const { queue } = await send("POST", "/v1/queues", { name: `numbers ${tag}`, event_ids: ids, annotators_per_item: 1, metrics: [likely] });
  const ann = await as("Ann");
  await ann.go(`queues/${queue.id}`, ".scoring");
  for (const [i, text] of ["0.05", "10.0"].entries()) {
    await press(ann.page, "1");
    await ann.page.keyboard.type(text);
    assert.equal(await ann.page.locator(".scoring input").inputValue(), text);
    await press(ann.page, "Enter", "Enter");
    if (i === 0) await ann.page.waitForFunction((id) => location.hash.includes(id), ids[1]);
  }
  await ann.page.waitForSelector(".empty");
  const { items } = await send("GET", `/v1/queues/${queue.id}/items`);
  assert.deepEqual(ids.map((id) => items.find((item) => item.event_id === id).annotations[0].scores[likely]), [0.05, 10]);
  await ann.check("numbers");
  await ann.close();
});

test("that there is no next item is said beside the one that was saved", async () => {
  const tag = uuid().slice(0, 8);
  const { ids } = await calls(tag, 2);
  const good = await metric({ name: `fine ${tag}`, return_type: "boolean" });
  const { queue } = await send("POST", "/v1/queues", { name: `broken ${tag}`, event_ids: ids, annotators_per_item: 1, metrics: [good] });
  const ann = await as("Ann"); // not checked: the browser itself writes of a request that failed to its console
  await ann.go(`queues/${queue.id}`, ".scoring");
  await ann.page.route("**/next", (r) => r.abort());
  await press(ann.page, "1", "Enter");
  await soon.match(() => ann.page.locator(".panel [role=alert]").textContent(), /cannot be reached/);
  await ann.page.unroute("**/next");
  await press(ann.page, "Enter");
  await ann.page.waitForFunction((id) => location.hash.includes(id), ids[1]);
  assert.equal(await ann.page.locator(".panel [role=alert]").count(), 0);
  await ann.close();
});

test("who leaves while an item is saved claims no other", async () => {
  const tag = uuid().slice(0, 8);
  const { ids } = await calls(tag, 2);
  const good = await metric({ name: `left ${tag}`, return_type: "boolean" });
  const { queue } = await send("POST", "/v1/queues", { name: `left ${tag}`, event_ids: ids, annotators_per_item: 1, metrics: [good] });
  const ann = await as("Ann");
  await ann.go(`queues/${queue.id}`, ".scoring");
  await ann.page.route("**/annotations", async (r) => { await new Promise((done) => setTimeout(done, 1000)); await r.continue(); });
  await ann.page.keyboard.press("1");
  const saved = ann.page.waitForResponse("**/annotations");
  await ann.page.keyboard.press("Enter");
  await ann.page.evaluate(() => { location.hash = "#/queues"; });
  await saved;
  await ann.page.waitForTimeout(1000);
  const { counts } = await send("GET", `/v1/queues/${queue.id}`);
  assert.deepEqual([counts.done, counts.held], [1, 0]);
  await ann.check("leaving");
  await ann.close();
});

test("queues are made, changed and deleted, with hostile texts, at all widths", async () => {
  const { ids } = await calls("hostile", 1);
  const tag = uuid().slice(0, 8);
  for (const [i, text] of hostile.entries()) {
    const name = `${i} ${tag} ${text.slice(0, 150)}`;
    if ([...name].length <= 200) await send("POST", "/v1/queues", { name, description: text.slice(0, 9000), event_ids: ids, metrics: [] });
  }
  const bad = await metric({ name: `${tag} <img src=x onerror=window.__pwned=1>`, return_type: "categorical", criteria: hostile[2], categories: [{ category: hostile[0] }, { category: "x".repeat(300) }, { category: hostile[9] }] });
  const { queue } = await send("POST", "/v1/queues", { name: `worst ${tag} ${hostile[1]}`, description: hostile.filter((t) => t.length < 3000).join("\n\n").slice(0, 9900), event_ids: ids, annotators_per_item: 1, metrics: [bad] });
  await send("POST", "/v1/queues", { name: `rubric ${tag}`, description: "\n## **Good** means that `snake_case` stays\n\n- more", event_ids: ids, metrics: [] });
  await send("POST", `/v1/events/${ids[0]}/comments`, { author: hostile[1], text: hostile[4] });
  for (const width of [400, 1280, 2560]) {
    const { page, check, flaws, go, close } = await as(hostile[0], { width, height: width === 400 ? 800 : 900, scheme: width === 1280 ? "dark" : "light" });
    await go("queues", ".queues li");
    await page.waitForSelector(".queues li");
    await soon.equal(() => page.locator(".queues li", { hasText: `rubric ${tag}` }).locator(".what > .secondary").innerText(), "Good means that snake_case stays");
    await shot(page, `list-${width}`);
    await check(`the list at ${width} px`);
    await flaws(`the list at ${width} px`);
    await go(`queues/${queue.id}`, ".scoring");
    await page.waitForSelector(".rubric");
    await shot(page, `hostile-${width}`);
    await check(`an item at ${width} px`);
    await flaws(`an item at ${width} px`);
    await soon.equal(() => page.locator(".options .button").first().locator("span").textContent(), hostile[0]);
    await send("POST", `/v1/queues/${queue.id}/items/${ids[0]}/release`, { annotator: hostile[0] });
    await close();
  }

  const { page, check, flaws, go, close } = await as("Ann");
  await go("sessions", "#main");
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await page.waitForSelector(".queues");
  await page.keyboard.press("n");
  await page.waitForSelector("dialog[open]");
  await page.locator("dialog .picks label").first().waitFor();
  await flaws("the editor");
  await shot(page, "editor");
  await page.getByLabel("Name", { exact: true }).fill(`made ${tag}`);
  await page.getByText("New score").click();
  await page.getByLabel("Its name").fill(`clear ${tag}`);
  await page.getByRole("button", { name: "Make this score" }).click();
  await page.waitForFunction((name) => [...document.querySelectorAll(".picks label")].some((l) => l.textContent.includes(name) && l.querySelector("input").checked), `clear ${tag}`);
  await page.getByLabel("People an item needs").fill("1");
  await page.locator("dialog #filter-bar").fill('name:"answer hostile"');
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  if (await page.locator("dialog[open]").count() === 0) assert.fail("Esc in the list of fields closed the dialog");
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForSelector(".scoring");
  await soon.match(() => page.locator(".asked").innerText(), /Where is order 1\?/, "the filter lets events enter");
  await press(page, "1", "Enter");
  await page.waitForSelector(".empty");
  const made = (await send("GET", "/v1/queues")).queues.find((q) => q.name === `made ${tag}`);
  assert.deepEqual([made.annotators_per_item, made.metrics, made.filters.filterArray.length], [1, [`clear ${tag}`], 1]);
  await go("queues", ".queues li");
  await page.getByRole("button", { name: `Edit made ${tag}` }).click();
  await soon.equal(() => page.locator("dialog #filter-bar").inputValue(), 'name:"answer hostile"');
  await page.getByLabel("Rubric, beside each item (Markdown)").fill("Is it clear?");
  await send("PUT", `/v1/queues/${made.id}`, { annotators_per_item: 3, enabled: false }); // by somebody else, meanwhile
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForSelector("dialog", { state: "detached" });
  const changed = (await send("GET", "/v1/queues")).queues.find((q) => q.id === made.id);
  assert.deepEqual([changed.description, changed.annotators_per_item, changed.enabled, changed.metrics], ["Is it clear?", 3, false, [`clear ${tag}`]]);
  await page.getByRole("button", { name: `Delete made ${tag}` }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.waitForSelector("dialog", { state: "detached" });
  assert.ok(!(await send("GET", "/v1/queues")).queues.some((q) => q.name === `made ${tag}`));
  await check("making a queue");
  await close();
});

test("what the server refuses is said in the editor", async () => {
  const { page, go, close } = await as("Ann"); // not checked: the browser itself writes of a refusal to its console
  await go("queues?edit=new", "dialog[open]");
  await page.getByLabel("Name", { exact: true }).fill("too many");
  await page.getByLabel("People an item needs").fill("11");
  await page.getByRole("button", { name: "Create" }).click();
  await soon.match(() => page.locator("dialog .bad").textContent(), /annotators_per_item: must be from 1 to 10/);
  await close();
});

test("an event goes into a queue from its session, and is commented on", async () => {
  const tag = uuid().slice(0, 8);
  const { ids, session } = await calls(tag, 1);
  const { page, check, flaws, go, close } = await open();
  await go(`session/${session}?e=${ids[0]}`, ".detail .actions");
  await page.waitForSelector(".comments form");
  await page.locator(".comments textarea").fill("is this so?");
  await page.locator(".comments form .button").first().click();
  await page.locator(".comments .ask input").fill("Ann");
  await page.locator(".comments .ask .button").click();
  await page.waitForSelector(".comments article");
  await soon.match(() => page.locator(".comments article").innerText(), /Ann[\s\S]*is this so\?/);
  await page.locator(".comments textarea").fill(hostile[0]);
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => document.querySelectorAll(".comments article").length === 2);
  await page.locator(".comments article").first().getByRole("button", { name: "Edit" }).click();
  await page.locator(".comments article textarea").fill("yes, it is");
  await page.locator(".comments article").getByRole("button", { name: "Save" }).click();
  await page.waitForFunction(() => /edited[\s\S]*yes, it is/.test(document.querySelector(".comments article").textContent));
  await page.locator(".comments article").last().getByRole("button", { name: "Delete" }).click();
  await page.locator(".comments article").last().getByRole("button", { name: "Delete it?" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".comments article").length === 1);
  await page.locator(".comments").scrollIntoViewIfNeeded();
  await shot(page, "comments");
  await flaws("comments");
  await page.locator("#main").focus();
  await page.keyboard.press("q");
  await page.waitForSelector("dialog[open] select");
  await page.locator("dialog .input").last().fill(`from a session ${tag}`);
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .good");
  await page.locator("dialog .good a").click();
  await page.waitForSelector(".page.queue");
  const queue = (await send("GET", "/v1/queues")).queues.find((q) => q.name === `from a session ${tag}`);
  assert.equal(queue.counts.waiting, 1);
  await go(`events?q=name:"answer ${tag}"`, ".table .row");
  await page.waitForSelector('.table .chip[title="1 comment"]');
  await check("comments and queue");
  await close();
});

test("a key that may only read is told what it may not", async () => {
  const { ids } = await calls("read", 1);
  const { queue } = await send("POST", "/v1/queues", { name: "to read", event_ids: ids });
  const me = await send("GET", "/v1/me");
  const made = await send("POST", `/v1/projects/${me.project.id}/fine_grained_api_keys`, { name: "reader", permissions: ["read"], expires_at: "2099-01-01T00:00:00Z" });
  const reader = await open({ signIn: false });
  const response = await reader.context.request.post(`${process.env.SPANGROVE_URL}/v1/login`, { data: { key: made.data.key_value } });
  assert.equal(response.status(), 200, await response.text());
  await reader.go(`queues/${queue.id}`, ".empty");
  await soon.match(() => reader.page.locator(".empty").innerText(), /needs a key that may write/);
  await reader.go("queues", ".queues li");
  assert.equal(await reader.page.locator(".queues .do .button").count(), 0);
  await reader.check("a reader");
  await reader.close();
});

await run();
