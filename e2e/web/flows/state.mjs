// What the pages hold while something is under way: presses that come twice, answers that come late, events that change while they are open, a
// list that was not looked at while many came, what is left when somebody else signs in, and what fails on its way.
import assert from "node:assert/strict";
import { base, key, open, run, send, soon, test, uuid } from "../page.mjs";

const tag = uuid().slice(0, 8);

/** Stores a session with one model call, and returns the ids of both. */
async function stored(fields = {}) {
  const [session, event] = [uuid(), uuid()];
  await send("POST", "/v1/session/start", { session: { session_id: session, session_name: `asked ${tag}` } });
  await send("POST", "/v1/events", { event: { event_id: event, session_id: session, event_type: "model", event_name: `answer ${tag}`, start_time: Date.now(), inputs: { chat_history: [{ role: "user", content: "Are you there?" }] }, ...fields } });
  return { session, event };
}

/** Has what changes something wait a little, as far away servers do. */
const slowly = (page) => page.route("**/v1/**", async (r) => {
  if (r.request().method() !== "GET") await new Promise((done) => setTimeout(done, 300));
  await r.continue();
});

/** Has the next request of a path fail that a condition holds for, in the server's words. */
const failOnce = async (page, path, applies = () => true) => {
  let failed = false;
  await page.route(path, (r) => {
    if (failed || !applies(r.request())) return r.continue();
    failed = true;
    return r.fulfill({ status: 409, contentType: "application/json", body: '{"message": "not now"}' });
  });
};

/** Holds back what the page reads, searches by POST too, so that a change is the first that the server refuses. Returns what lets it go. */
async function holdReads(page) {
  let release;
  const released = new Promise((done) => { release = done; });
  const hold = async (r) => {
    if (r.request().method() !== "PUT") await released;
    await r.fallback();
  };
  await page.route("**/v1/**", hold);
  return () => {
    release();
    return page.unroute("**/v1/**", hold);
  };
}

/** Makes a key of a project, for a browser. */
async function browserKey(project) {
  const { data } = await send("POST", `/v1/projects/${project}/fine_grained_api_keys`, { name: "browser", permissions: ["full"], expires_at: "2099-01-01T00:00:00Z" });
  return data;
}

test("what is pressed twice is done once", async () => {
  const { session, event } = await stored({ outputs: { content: "Yes." } });
  const { page, context, check, go, close } = await open();
  await context.addInitScript(() => localStorage.setItem("spangrove.person", "Ann"));
  await slowly(page);
  await go(`session/${session}?e=${event}`, ".comments form");
  await page.fill(".comments textarea", "once");
  await page.locator(".comments form .button", { hasText: "Comment" }).dblclick();
  await page.fill(".comments textarea", "typed meanwhile");
  await page.waitForSelector(".comments article");
  await page.waitForTimeout(700);
  assert.equal(await page.inputValue(".comments textarea"), "typed meanwhile");
  assert.deepEqual((await send("GET", `/v1/events/${event}/comments`)).data.map((c) => c.text), ["once"]);

  await page.click("text=Add to queue");
  await page.fill("dialog input[required]", `queue ${tag}`);
  await page.locator("dialog button[type=submit]").dblclick();
  await page.waitForSelector("dialog .good");
  await page.waitForTimeout(500);
  assert.equal((await send("GET", "/v1/queues")).queues.filter((q) => q.name === `queue ${tag}`).length, 1);
  await page.keyboard.press("Escape");

  await page.click("text=Add to dataset");
  await page.fill("dialog input[required]", `dataset ${tag}`);
  await page.locator("dialog button[type=submit]").dblclick();
  await page.waitForSelector("dialog .good");
  await page.waitForTimeout(500);
  const sets = async (name) => (await send("GET", "/v1/datasets?ids=false")).datasets.filter((d) => d.name === name).map((d) => d.num_points);
  assert.deepEqual(await sets(`dataset ${tag}`), [1]);
  await page.keyboard.press("Escape");

  await go("datasets", "header .primary");
  await page.click("header .primary");
  await page.fill("dialog input", `named ${tag}`);
  await page.locator("dialog button[type=submit]").dblclick();
  await page.waitForFunction(() => /#\/datasets\/./.test(location.hash));
  await page.waitForTimeout(500);
  assert.deepEqual(await sets(`named ${tag}`), [0]);

  await go("queues?edit=new", "dialog[open]");
  await page.getByLabel("Name", { exact: true }).fill(`made ${tag}`);
  await page.getByRole("button", { name: "Create" }).dblclick();
  await page.waitForFunction(() => /#\/queues\/./.test(location.hash));
  await page.waitForTimeout(500);
  assert.equal((await send("GET", "/v1/queues")).queues.filter((q) => q.name === `made ${tag}`).length, 1);

  await go("charts/new", ".chart-form");
  await page.locator(".chart-form input").first().fill(`chart ${tag}`);
  await page.locator("header .primary").dblclick();
  await page.waitForFunction(() => /#\/charts\/(?!new)/.test(location.hash));
  await page.waitForTimeout(500);
  const charts = async () => (await send("GET", "/v1/charts")).data;
  assert.equal((await charts()).filter((c) => c.name === `chart ${tag}`).length, 1);

  await go("dashboards", ".new input");
  await page.fill(".new input", `board ${tag}`);
  await page.locator(".new button").dblclick();
  await page.waitForFunction(() => /#\/dashboards\/./.test(location.hash));
  await page.waitForTimeout(500);
  const boards = async (name) => (await send("GET", "/v1/dashboards")).data.filter((d) => d.name === name).length;
  assert.equal(await boards(`board ${tag}`), 1);
  const before = (await charts()).length;
  await go("dashboards/cost", ".tile");
  await page.locator("header .button", { hasText: "Copy" }).dblclick();
  await page.waitForFunction(() => location.hash.includes("arrange"), null, { timeout: 20_000 });
  await page.waitForTimeout(1000);
  assert.deepEqual([await boards("Cost (copy)"), (await charts()).length - before], [1, 10]);
  await check("twice");
  await close();
});

test("a double click confirms nothing that its first click has only asked for", async () => {
  const { session, event } = await stored();
  const board = (await send("POST", "/v1/dashboards", { name: `kept ${tag}` })).data.id;
  const view = (await send("POST", "/v1/views", { name: `kept ${tag}`, page: "sessions", state: { range: "all" } })).data.id;
  await send("POST", `/v1/events/${event}/comments`, { author: "Ann", text: "kept" });
  const { page, check, go, close } = await open();
  await go(`dashboards/${board}?arrange=1`, "header .primary");
  await page.getByRole("button", { name: "Delete", exact: true }).dblclick();
  await page.waitForSelector("text=Delete the dashboard?");
  await go("sessions", "h1");
  await page.click("[popovertarget=views-menu]");
  await page.getByLabel(`Delete kept ${tag}`).dblclick();
  await page.getByLabel(`Yes, delete kept ${tag}`).waitFor();
  await go(`session/${session}?e=${event}`, ".comments article");
  await page.locator(".comments article").getByRole("button", { name: "Delete" }).dblclick();
  await page.waitForSelector("text=Delete it?");
  await page.waitForTimeout(500);
  for (const path of [`/v1/dashboards/${board}`, `/v1/views/${view}`]) await send("GET", path);
  assert.equal((await send("GET", `/v1/events/${event}/comments`)).data.length, 1);
  await page.click("text=Delete it?");
  await page.waitForSelector(".comments article", { state: "detached" });
  await check("a double click");
  await close();
});

test("a selection of text that ends beside a dialog does not close it", async () => {
  const { session, event } = await stored();
  const { page, check, go, close } = await open();
  await go(`session/${session}?e=${event}`, ".detail .actions");
  await page.click(".actions >> text=Comment");
  await page.fill("dialog textarea", "a long comment");
  const box = await page.locator("dialog textarea").boundingBox();
  await page.mouse.move(box.x + 60, box.y + 12);
  await page.mouse.down();
  await page.mouse.move(10, box.y + 12, { steps: 4 });
  await page.mouse.up();
  await page.waitForTimeout(200);
  assert.equal(await page.locator("dialog textarea").count(), 1, "what was typed is gone");
  await page.mouse.click(10, 10);
  await page.waitForSelector("dialog", { state: "detached" });
  await check("a selection");
  await close();
});

test("a score is kept under the name of the metric that gave it", async () => {
  const [first, second] = [`first ${tag}`, `second ${tag}`];
  for (const [name, criteria] of [[first, "1 + 0"], [second, "2 + 0"]]) await send("POST", "/v1/metrics", { name, type: "EXPRESSION", return_type: "float", criteria });
  const { session, event } = await stored();
  const { page, check, go, close } = await open();
  await slowly(page);
  await go(`session/${session}?e=${event}`, ".detail .actions");
  await page.click("text=Run a metric");
  await page.selectOption("dialog select", `own ${first}`);
  await page.click("dialog button[type=submit]");
  await page.selectOption("dialog select", `own ${second}`, { timeout: 200 }).catch(() => {}); // while the answer is on its way
  await page.waitForSelector("dialog .notice");
  await page.click("text=Keep the score");
  await page.waitForSelector("dialog :text('The score stands')");
  const kept = await send("GET", `/v1/events/${event}/fields/metrics`);
  assert.deepEqual([kept[first], kept[second]], [1, undefined]);
  await check("a score");
  await close();
});

test("an event that is open is read again when it changes, as is a thread", async () => {
  const { session, event } = await stored();
  const { page, check, go, close } = await open();
  await go(`session/${session}?e=${event}`, ".detail .event");
  await soon.match(() => page.textContent(".detail"), /Are you there\?/);
  await page.waitForTimeout(1000); // the stream stands
  await send("PUT", "/v1/events", { event_id: event, duration: 500, outputs: { role: "assistant", content: "Here I am." } });
  await page.waitForSelector(".detail .event:has-text('Here I am.')");
  await go(`session/${session}?view=thread`, ".thread .item");
  await soon.equal(() => page.locator(".thread .item").count(), 2);
  await page.waitForTimeout(1000);
  await send("PUT", "/v1/events", { event_id: event, duration: 900, outputs: { role: "assistant", content: "I was here." } });
  await page.waitForSelector(".thread:has-text('I was here.')");
  await check("changes");
  await close();
});

test("a live list that was not looked at while many came has them all", async () => {
  const name = (i) => `many ${tag} ${String(i).padStart(3, "0")}`;
  const add = (from, to) => Promise.all(Array.from({ length: to - from }, (_, i) => send("POST", "/v1/session/start", { session: { session_name: name(from + i) } })));
  await add(0, 5);
  const { page, check, go, close } = await open();
  await go(`sessions?q=name~"many ${tag}"&live=1`, ".table .row");
  await soon.match(() => page.textContent(".foot"), /^5 sessions/);
  const hide = (hidden) => page.evaluate((h) => {
    Object.defineProperty(document, "hidden", { value: h, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await hide(true);
  await add(5, 155);
  await hide(false);
  await soon.match(() => page.textContent(".foot"), /^155 sessions/);
  const seen = new Set();
  for (let i = 0; i < 60 && seen.size < 155; i++) {
    for (const text of await page.locator(".table .row .strong").allTextContents()) seen.add(text);
    await page.locator(".table").evaluate((t) => t.scrollBy(0, 300));
    await page.waitForTimeout(100);
  }
  assert.equal(seen.size, 155);
  await check("many");
  await close();
});

test("Esc ends the reading of further rows, which is no failure", async () => {
  await Promise.all(Array.from({ length: 105 }, (_, i) => send("POST", "/v1/session/start", { session: { session_name: `further ${tag} ${i}` } })));
  const { page, check, go, close } = await open();
  await go(`sessions?q=name~"further ${tag}"`, ".table .row");
  await soon.match(() => page.textContent(".foot"), /^105 sessions, 100 loaded/);
  await page.route("**/v1/sessions/search", async (r) => { await new Promise((done) => setTimeout(done, 1000)); await r.continue().catch(() => {}); });
  await page.locator(".table").evaluate((t) => t.scrollTo(0, 1e6));
  await page.waitForSelector(".main > .progress");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".main > .progress", { state: "detached" });
  assert.equal(await page.locator(".foot [role=alert]").count(), 0, await page.textContent(".foot"));
  await check("further rows");
  await close();
});

test("any dataset can be chosen for an event", async () => {
  const { session, event } = await stored();
  for (let i = 0; i < 210; i += 30) await Promise.all(Array.from({ length: 30 }, (_, k) => send("POST", "/v1/datasets", { name: `one of many ${tag} ${i + k}` })));
  const { page, check, go, close } = await open();
  await go(`session/${session}?e=${event}`, ".detail .actions");
  await page.click("text=Add to dataset");
  await soon.equal(() => page.locator("dialog select option", { hasText: `one of many ${tag}` }).count(), 210);
  await check("datasets");
  await close();
});

test("what is made of an event, and what a metric sees of it, has all its digits", async () => {
  const { session, event } = await stored();
  const text = (method, path, body) => fetch(base + path, { method, body, headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" } }).then((r) => r.text());
  await text("PUT", "/v1/events", `{"event_id":"${event}","inputs":{"order":{"id":9007199254740993}},"outputs":{"ids":[9007199254740995]}}`);
  const { page, check, go, close } = await open();
  await go(`session/${session}?e=${event}`, ".detail .actions");
  await page.click("text=Add to dataset");
  await page.fill("dialog input[required]", `digits ${tag}`);
  await page.fill("dialog label:has-text('Inputs are') input", "inputs.order");
  await page.fill("dialog label:has-text('Ground truth is') input", "outputs.ids.0");
  await page.waitForSelector("dialog pre >> text=9007199254740995");
  await page.click("dialog button[type=submit]");
  await page.waitForSelector("dialog .good");
  const made = (await text("GET", "/v1/datapoints?limit=1000")).split('"linked_event"').find((part) => part.includes("9007199254740995"));
  assert.ok(made?.includes("9007199254740993"), "the digits are others");
  await page.keyboard.press("Escape");

  await send("POST", "/v1/metrics", { name: `digits ${tag}`, type: "EXPRESSION", return_type: "float", criteria: "duration + 0" });
  await page.click("text=Run a metric");
  await page.selectOption("dialog select", `own digits ${tag}`);
  const asked = page.waitForRequest("**/metrics/run");
  await page.click("dialog button[type=submit]");
  assert.match((await asked).postData(), /9007199254740993/);
  await page.waitForSelector("dialog [role=status]");
  await check("digits");
  await close();
});

test("what is written from right to left is read from right to left", async () => {
  const { session, event } = await stored({ inputs: { chat_history: [{ role: "user", content: "מה שלום ההזמנה?" }] }, outputs: { role: "assistant", content: "**طلبك** في الطريق.\n\n- نعم." } });
  const { page, check, go, close } = await open();
  await go(`session/${session}?e=${event}`, ".detail .prose li");
  const ends = await page.locator(".detail .message .prose").evaluateAll((all) => all.map((prose) => {
    const walker = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
    const texts = [];
    for (let n = walker.nextNode(); n; n = walker.nextNode()) texts.push(n);
    const place = (node, at) => { const r = new Range(); r.setStart(node, at); r.setEnd(node, at + 1); return r.getBoundingClientRect().left; };
    const [first, last] = [texts[0], texts.at(-1)];
    return place(last, last.length - 1) < place(first, 0); // the sign at the end stands left of the first letter
  }));
  assert.deepEqual(ends, [true, true]);
  await page.fill(".comments textarea", "שלום?");
  assert.equal(await page.locator(".comments textarea").evaluate((t) => getComputedStyle(t).unicodeBidi), "plaintext");
  await check("right to left");
  await close();
});

test("a filter that cannot be read makes no queue", async () => {
  const { page, check, go, close } = await open();
  await go("queues?edit=new", "dialog[open]");
  await page.getByLabel("Name", { exact: true }).fill(`unread ${tag}`);
  await page.locator("dialog #filter-bar").fill("nme:x");
  await page.getByRole("button", { name: "Create" }).click({ timeout: 2000 }).catch(() => {});
  await page.waitForTimeout(500);
  assert.equal((await send("GET", "/v1/queues")).queues.filter((q) => q.name === `unread ${tag}`).length, 0);
  await page.locator("dialog #filter-bar").fill("name:x");
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForFunction(() => /#\/queues\/./.test(location.hash));
  assert.equal((await send("GET", "/v1/queues")).queues.find((q) => q.name === `unread ${tag}`).filters.filterArray.length, 1);
  await check("a filter");
  await close();
});

test("a run that comes while others are read is no second row of another", async () => {
  await Promise.all(Array.from({ length: 101 }, (_, i) => send("POST", "/v1/runs", { name: `run ${tag} ${i}`, status: "completed", event_ids: [] })));
  const { page, check, go, close } = await open();
  await go(`experiments?name=${tag}`, ".table .row");
  await soon.match(() => page.textContent(".foot"), /^101 runs, 100 loaded/);
  await send("POST", "/v1/runs", { name: `run ${tag} new`, status: "completed", event_ids: [] });
  await page.locator(".table").evaluate((t) => t.scrollTo(0, 1e6));
  await soon.match(() => page.textContent(".foot"), /^102 runs/);
  await page.waitForTimeout(300);
  const last = await page.locator(".table .row").evaluateAll((rows) => rows.map((r) => r.id));
  assert.equal(new Set(last).size, last.length, "one row twice");
  assert.match(await page.textContent(".foot"), /^102 runs, 101 loaded/);
  await check("a run");
  await close();
});

test("a completion that is taken leaves room for the next word", async () => {
  await stored();
  const { page, check, go, close } = await open();
  await go("alerts", "header .primary");
  await page.click("header .primary");
  const bar = page.locator("dialog #filter-bar");
  await bar.fill("");
  await bar.pressSequentially("type:mod");
  await page.waitForSelector("dialog .suggest li:only-child:has-text('model')");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type("has:error"); // at once
  await soon.equal(() => bar.inputValue(), "type:model has:error");
  await check("a completion");
  await close();
});

test("a completion that is chosen stays chosen when the answer to the last letter comes", async () => {
  await stored();
  const { page, check, go, close } = await open();
  await go("events", "#filter-bar");
  const held = [];
  await page.route("**/v1/events/values", async (r) => {
    if (r.request().postDataJSON().prefix === "mod") await new Promise((release) => held.push(release));
    await r.continue();
  });
  await page.locator("#filter-bar").pressSequentially("type:mo");
  await page.waitForSelector(".suggest li:only-child:has-text('model')");
  await page.keyboard.type("d");
  await page.keyboard.press("ArrowDown");
  await soon.equal(() => held.length, 1);
  const answered = page.waitForResponse((r) => r.url().endsWith("/v1/events/values") && r.request().postDataJSON().prefix === "mod");
  held[0]();
  await (await answered).finished();
  await page.evaluate(() => new Promise((drawn) => { requestAnimationFrame(() => requestAnimationFrame(drawn)); }));
  await page.keyboard.press("Enter");
  await soon.match(() => page.url(), /q=type%3Amodel$/);
  await page.keyboard.type("has:error"); // room was left for it, and the list has taken the filter before it
  await soon.equal(() => page.inputValue("#filter-bar"), "type:model has:error");
  await check("a completion of a letter before");
  await close();
});

test("what was read and written in one project is not there for who signs in to another", async () => {
  const { session, event } = await stored({ inputs: { chat_history: [{ role: "user", content: `secret ${tag}` }] } });
  const other = await send("POST", "/v1/projects", { name: `Other ${tag}` });
  const made = await send("POST", `/v1/projects/${other.id}/fine_grained_api_keys`, { name: "there", permissions: ["full"], expires_at: "2099-01-01T00:00:00Z" });
  const { page, go, close } = await open();
  await go(`session/${session}?e=${event}`, ".detail .event");
  await go(`playground?event=${event}`, ".prompt-text");
  await soon.equal(() => page.inputValue(".prompt-text"), `secret ${tag}`);
  await page.click("[aria-label='Sign out']");
  await page.fill("#key", made.data.key_value);
  await page.click("button[type=submit]");
  await page.waitForSelector(".shell");
  await go("playground", ".variant");
  assert.ok(!(await page.locator(".prompt-text").evaluateAll((t) => t.map((x) => x.value))).some((t) => t.includes(tag)), "the draft is there");
  await go(`playground?event=${event}`, ".playground [role=alert]");
  await soon.match(() => page.textContent(".playground"), /no event/);
  await close();
});

test("texts are copied on plain HTTP, too", async () => {
  const { session, event } = await stored();
  const { page, check, go, close } = await open();
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined })); // as browsers have it there
  await go(`session/${session}?e=${event}`, ".detail .event");
  await page.locator("h1").click();
  await page.keyboard.press("y");
  await page.waitForSelector(".over >> text=The link is copied.");
  await page.locator(".summary [aria-label=\"Copy the session's id\"]").click();
  await page.waitForSelector(".summary .glyph.good");
  await page.focus("#find-in-session");
  await page.keyboard.press("Control+v");
  await soon.equal(() => page.inputValue("#find-in-session"), session);
  await check("copying");
  await close();
});

test("a sign-in that ends while a page is open begins anew, and what was typed is still there", async () => {
  const { session, event } = await stored();
  const { project } = await send("GET", "/v1/me");
  const own = await browserKey(project.id);
  const { page, context, check, flaws, go, close } = await open({ signIn: false });
  await context.request.post(`${base}/v1/login`, { data: { key: own.key_value } });
  await go(`session/${session}?e=${event}`, ".detail .actions");
  await page.click(".actions >> text=Comment");
  await page.fill("dialog textarea", "a long comment");
  let letGo = await holdReads(page);
  await send("DELETE", `/v1/projects/${project.id}/api_keys/${own.key_id}`);
  await page.click("dialog >> text=Save");
  const again = page.getByRole("dialog", { name: "This browser is signed out" });
  await again.waitFor();
  await letGo();
  await flaws("signed out");
  await page.keyboard.press("Escape");
  await again.waitFor({ state: "detached" });
  await page.keyboard.press("Escape"); // the comment
  await page.waitForSelector(".over >> text=This browser is signed out");
  await flaws("signed out, and put off");
  await page.click(".actions >> text=Comment");
  await page.fill("dialog textarea", "a longer comment");
  await page.reload(); // which has nothing to lose
  await page.waitForSelector("#key");
  await page.fill("#key", key);
  await page.click("button[type=submit]");

  await page.waitForSelector(".detail .actions");
  await page.click(".actions >> text=Comment");
  await page.fill("dialog textarea", "a long comment");
  letGo = await holdReads(page);
  await context.clearCookies();
  await page.click("dialog >> text=Save");
  await again.waitFor();
  await letGo();
  await again.getByLabel("API key").fill("sg_wrong");
  await again.getByRole("button", { name: "Sign in" }).click();
  await again.locator("[role=alert]").waitFor();
  await again.getByLabel("API key").fill(key);
  await again.getByRole("button", { name: "Sign in" }).click();
  await again.waitFor({ state: "detached" });
  assert.equal(await page.inputValue("dialog textarea"), "a long comment");
  await page.click("dialog >> text=Save");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.equal((await send("GET", `/v1/events/${event}`)).feedback.comment, "a long comment");
  await check("signed out");
  await close();
});

test("all tabs of a browser act in the project that one of them signs in to", async () => {
  const other = await send("POST", "/v1/projects", { name: `Elsewhere ${tag}` });
  const { key_value: there } = await browserKey(other.id);
  const { page, context, go, close } = await open();
  await go("datasets", "header .primary");
  const tab = await context.newPage();
  await tab.goto(`${base}/#/sessions`);
  await tab.click("[aria-label='Sign out']");
  await tab.fill("#key", there);
  await tab.click("button[type=submit]");
  await tab.waitForSelector(".shell");
  await page.waitForFunction((name) => document.title.includes(name), `Elsewhere ${tag}`);

  // One that waits to be signed in is, too.
  await tab.click("[aria-label='Sign out']");
  await tab.waitForSelector("#key");
  await page.reload();
  await page.waitForSelector("#key");
  await tab.fill("#key", key);
  await tab.click("button[type=submit]");
  await page.waitForSelector(".shell");
  await close();
});

test("who could not be signed out is told", async () => {
  const { page, flaws, go, close } = await open(); // not checked: the browser itself writes of a request that failed to its console
  await go("sessions", ".shell");
  await page.route("**/v1/logout", (r) => r.abort());
  await page.click("[aria-label='Sign out']");
  await page.waitForSelector(".over >> text=You are still signed in: The server cannot be reached");
  await flaws("still signed in");
  await page.click(".over >> text=Stay");
  await page.waitForSelector(".over", { state: "detached" });
  await page.click("[aria-label='Sign out']");
  await page.waitForSelector(".over");
  await page.unroute("**/v1/logout");
  await page.click(".over >> text=Sign out");
  await page.waitForSelector("#key");
  await close();
});

test("of two layouts of a dashboard the last one stays, however slow the first one is", async () => {
  const chart = async (name) => (await send("POST", "/v1/charts", { name, metric: "duration" })).data.id;
  const [first, second] = [await chart(`a ${tag}`), await chart(`b ${tag}`)];
  const layout = [{ chart: first, x: 0, y: 0, width: 4, height: 4 }, { chart: second, x: 4, y: 0, width: 4, height: 4 }];
  const board = (await send("POST", "/v1/dashboards", { name: `slow ${tag}`, layout })).data.id;
  const { page, check, go, close } = await open();
  let puts = 0;
  await page.route("**/v1/dashboards/**", async (r) => {
    if (r.request().method() === "PUT" && puts++ === 0) await new Promise((done) => setTimeout(done, 2500));
    await r.continue();
  });
  await go(`dashboards/${board}?arrange=1`, ".tile.arranged");
  await page.locator(".tile.arranged").first().focus();
  await page.keyboard.press("Shift+ArrowDown");
  await page.waitForTimeout(1000); // it is on its way
  await page.keyboard.press("Shift+ArrowDown");
  await page.waitForTimeout(3000);
  await soon.equal(async () => (await send("GET", `/v1/dashboards/${board}`)).data.layout.find((t) => t.chart === first).height, 6);
  await page.waitForTimeout(500);
  assert.equal((await send("GET", `/v1/dashboards/${board}`)).data.layout.find((t) => t.chart === first).height, 6);
  await check("layouts");
  await close();
});

test("further rows that could not be read are read at the next try, and the failure is not said any more", async () => {
  await Promise.all(Array.from({ length: 101 }, (_, i) => send("POST", "/v1/runs", { name: `later ${tag} ${i}`, status: "completed", event_ids: [] })));
  await Promise.all(Array.from({ length: 105 }, (_, i) => send("POST", "/v1/session/start", { session: { session_name: `later ${tag} ${i}` } })));
  const { page, check, go, close } = await open();
  await go(`experiments?name=later ${tag}`, ".table .row");
  await soon.match(() => page.textContent(".foot"), /^101 runs, 100 loaded/);
  await failOnce(page, "**/v1/runs?*", (r) => r.url().includes("page=2"));
  await page.locator(".table").evaluate((t) => t.scrollTo(0, 1e6));
  await soon.match(() => page.textContent(".foot"), /not now/);
  await page.click(".foot >> text=Try again");
  await soon.equal(() => page.textContent(".foot"), "101 runs");

  await go(`sessions?q=name~"later ${tag}"`, ".table .row");
  await soon.match(() => page.textContent(".foot"), /^105 sessions, 100 loaded/);
  await failOnce(page, "**/v1/sessions/search", (r) => r.postData().includes("cursor"));
  await page.locator(".table").evaluate((t) => t.scrollTo(0, 1e6));
  await soon.match(() => page.textContent(".foot"), /not now/);
  await page.locator(".table").evaluate((t) => t.scrollTo(0, 0));
  await page.waitForTimeout(100);
  await page.locator(".table").evaluate((t) => t.scrollTo(0, 1e6));
  await soon.match(() => page.textContent(".foot"), /^105 sessions\d/);
  await soon.equal(() => page.locator(".foot [role=alert]").count(), 0);

  const set = (await send("POST", "/v1/datasets", { name: `differs ${tag}` })).result.insertedId;
  for (let i = 0; i < 60; i += 20) await Promise.all(Array.from({ length: 20 }, (_, k) => send("POST", "/v1/datapoints", { inputs: { question: `${i + k}` }, linked_datasets: [set] })));
  await go(`datasets/${set}?view=versions&from=1`, ".edits details");
  await soon.equal(() => page.locator(".edits details").count(), 50);
  await failOnce(page, "**/diff?*", (r) => r.url().includes("cursor"));
  await page.click("text=Show more of");
  await page.waitForSelector(".edits [role=alert] >> text=not now");
  await page.click("text=Show more of");
  await page.waitForFunction(() => document.querySelectorAll(".edits details").length > 50);
  await check("further rows");
  await close();
});

test("a score that comes while its session is open is shown", async () => {
  const { session, event } = await stored();
  const { page, check, go, close } = await open();
  await go(`session/${session}`, ".tree-row");
  await page.waitForTimeout(1000); // the stream stands
  await send("PUT", "/v1/events", { event_id: event, metrics: { helpful: 0.5 } });
  await page.waitForSelector(".summary >> text=1 score");
  await send("PUT", "/v1/events", { event_id: event, metrics: { polite: 1 } });
  await page.waitForSelector(".summary >> text=2 scores");
  await check("scores");
  await close();
});

test("a first session is seen though the clock of the browser is wrong", async () => {
  await stored();
  const { page, check, go, close } = await open();
  await page.addInitScript(() => { const now = Date.now; Date.now = () => now() + 10 * 60_000; });
  await go("start", ".waiting");
  await page.waitForTimeout(1500);
  assert.match(await page.textContent(".waiting"), /Waiting for the next session/);
  const { session } = await stored();
  await page.waitForSelector(`.waiting a[href="#/session/${session}"]`);
  await check("clocks");
  await close();
});

test("a comment that is begun is there again after a look at another event", async () => {
  const { session, event } = await stored();
  const { page, context, check, go, close } = await open();
  await context.addInitScript(() => localStorage.setItem("spangrove.person", "Ann"));
  await go(`session/${session}?e=${event}`, ".comments form");
  await page.fill(".comments textarea", "half a sentence");
  await page.locator(".tree-row").first().click();
  await page.waitForFunction((id) => !location.hash.includes(id), event);
  await soon.equal(() => page.inputValue(".comments textarea"), "");
  await page.goto(`${base}/#/session/${session}?e=${event}`);
  await soon.equal(() => page.inputValue(".comments textarea"), "half a sentence");
  await page.locator(".comments form .button", { hasText: "Comment" }).click();
  await page.waitForSelector(".comments article >> text=half a sentence");
  assert.equal(await page.inputValue(".comments textarea"), "");
  await check("a comment");
  await close();
});

test("a key may be held for as long as it takes: the address follows later", async () => {
  const session = uuid();
  await send("POST", "/v1/session/start", { session: { session_id: session, session_name: `long ${tag}` } });
  const events = Array.from({ length: 400 }, (_, i) => ({ event_id: uuid(), session_id: session, event_type: "tool", event_name: `step ${i}`, start_time: 1_700_000_000_000 + i, duration: 1, inputs: {} }));
  await send("POST", "/v1/events/batch", { events });
  const { page, check, go, close } = await open();
  await go(`session/${session}`, ".tree-row");
  for (let i = 0; i < 361; i++) await page.keyboard.press("j");
  await soon.equal(() => page.textContent(".detail h2"), "step 359");
  await soon.match(() => page.url(), new RegExp(events[359].event_id));
  await page.keyboard.press("k");
  await soon.equal(() => page.textContent(".detail h2"), "step 358");
  for (let i = 0; i < 300; i++) await page.keyboard.press(i % 2 === 0 ? "k" : "j");
  await page.keyboard.press("g");
  await page.keyboard.press("a"); // to another page while no address is taken
  await page.waitForSelector("h1 >> text=Datasets");
  await soon.match(() => page.url(), /#\/datasets$/);
  await check("a key that is held");
  await close();
});

test("an event that is open says what it says now", async () => {
  const { session, event } = await stored({ outputs: { answer: "first", n: 1 } });
  const { page, check, go, close } = await open();
  await go(`session/${session}?e=${event}`, ".detail [aria-label=Output] >> text=first");
  await page.waitForTimeout(1000); // the stream stands
  await send("PUT", "/v1/events", { event_id: event, outputs: { answer: "second", n: 2 } });
  await page.waitForSelector(".detail [aria-label=Output] >> text=second");
  await send("PUT", "/v1/events", { event_id: event, metrics: { helpful: 0.5 } });
  await page.waitForSelector(".detail [aria-label=Scores] >> text=helpful");
  await page.click(".actions [aria-label=Good]");
  await page.waitForSelector(".detail [aria-label=Feedback] >> text=true");
  await page.click(".actions [aria-label=Bad]");
  await page.waitForSelector(".detail [aria-label=Feedback] >> text=false");
  await check("an event that changes");
  await close();
});

test("what is compared has all its digits", async () => {
  const raw = (method, path, body) => fetch(base + path, { method, body, headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" } }).then((r) => r.text());
  const [a, b] = [await stored(), await stored()];
  await raw("PUT", "/v1/events", `{"event_id":"${a.event}","outputs":{"order":9007199254740992,"name":"caf\\u00e9"}}`);
  await raw("PUT", "/v1/events", `{"event_id":"${b.event}","outputs":{"order":9007199254740993,"name":"café"}}`);
  const { page, check, go, close } = await open();
  await go(`compare?left=${a.session}&right=${b.session}&e=${a.event}`, ".compare-panel [aria-label=outputs] ins");
  assert.equal(await page.textContent(".compare-panel [aria-label=outputs] del"), "9007199254740992");
  assert.equal(await page.textContent(".compare-panel [aria-label=outputs] ins"), "9007199254740993");
  await check("digits");
  await close();
});

test("a place that is found in JSON is where the word stands, whatever letters stand before it", async () => {
  const { session, event } = await stored({ outputs: { city: "İ".repeat(300), list: ["one", "two", "needle", "four"], more: "x".repeat(200) } });
  const { page, check, go, close } = await open();
  await go(`session/${session}?e=${event}`, ".detail [aria-label=Output] .json");
  await page.fill(".detail [aria-label=Output] [aria-label='Find in this value']", "needle");
  await page.waitForSelector(".detail [aria-label=Output] .json-line.selected >> text=needle");
  await check("a word");
  await close();
});

test("who signs out in one tab leaves nothing on screen in the others", async () => {
  const { session, event } = await stored();
  const { page, context, check, go, close } = await open();
  await go(`session/${session}?e=${event}`, ".detail .actions");
  const other = await context.newPage();
  await other.goto(`${base}/#/datasets`);
  await other.click("[aria-label='Sign out']");
  await other.waitForSelector("#key");
  await page.waitForSelector("#key");
  assert.doesNotMatch(await page.innerText("body"), new RegExp(tag));
  assert.match(page.url(), new RegExp(session)); // whoever signs in again is where they were
  await check("signed out");
  await close();
});

test("a layout of a dashboard does not undo what somebody else has arranged", async () => {
  const chart = async (name) => (await send("POST", "/v1/charts", { name, metric: "duration" })).data.id;
  const [first, second] = [await chart(`c ${tag}`), await chart(`d ${tag}`)];
  const tile = (chart, x) => ({ chart, x, y: 0, width: 4, height: 4 });
  const board = (await send("POST", "/v1/dashboards", { name: `shared ${tag}`, layout: [tile(first, 0)] })).data.id;
  const { page, check, go, close } = await open();
  await go(`dashboards/${board}?arrange=1`, ".tile.arranged");
  await send("PUT", `/v1/dashboards/${board}`, { layout: [tile(first, 0), tile(second, 4)] });
  await page.locator(".tile.arranged").first().focus();
  await page.keyboard.press("Shift+ArrowDown");
  await page.waitForSelector(".told.bad >> text=Somebody else has arranged this dashboard");
  assert.deepEqual((await send("GET", `/v1/dashboards/${board}`)).data.layout.map((t) => [t.chart, t.height]), [[first, 4], [second, 4]]);
  await page.click("text=Show theirs");
  await page.waitForFunction(() => document.querySelectorAll(".tile.arranged").length === 2);
  await page.locator(".tile.arranged").first().focus();
  await page.keyboard.press("Shift+ArrowDown");
  await soon.equal(async () => (await send("GET", `/v1/dashboards/${board}`)).data.layout.find((t) => t.chart === first).height, 5);
  await check("a shared dashboard");
  await close();
});

test("a link that was used before asks for a key, and leads on who is signed in", async () => {
  const { page, flaws, close } = await open({ signIn: false });
  await page.goto(`${base}/#/in/used-before`);
  await page.waitForSelector("main.login [role=alert]");
  await flaws("a link that was used");
  await page.fill("#key", key);
  await page.click("button[type=submit]");
  await page.waitForSelector(".shell");
  const tab = await page.context().newPage();
  await tab.goto(`${base}/#/in/used-before`);
  await tab.waitForSelector(".shell");
  await close();
});

test("where the browser has no room to keep what is typed, the work goes on", async () => {
  const items = [(await stored()).event, (await stored()).event];
  await send("POST", "/v1/metrics", { name: `kind ${tag}`, type: "HUMAN", criteria: "", return_type: "boolean" });
  const { queue } = await send("POST", "/v1/queues", { name: `full ${tag}`, event_ids: items, annotators_per_item: 1, metrics: [`kind ${tag}`] });
  const { page, context, check, go, close } = await open();
  await context.addInitScript(() => localStorage.setItem("spangrove.person", "Ann"));
  await go(`queues/${queue.id}`, ".scoring");
  await page.evaluate(() => {
    for (let size = 1 << 22; size >= 1; size >>= 1) try { for (;;) sessionStorage.setItem(`filler ${sessionStorage.length}`, "x".repeat(size)); } catch { /* a smaller one, then */ }
  });
  await page.keyboard.press("c");
  await page.keyboard.type("kind enough");
  await page.waitForSelector(".panel .warn >> text=no room to keep this");
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
  await page.keyboard.press("Enter");
  await page.waitForFunction((id) => location.hash.includes(id), items[1]);
  await page.waitForFunction(() => !document.querySelector(".work .progress"));
  await page.keyboard.press("u");
  await page.waitForFunction((id) => location.hash.includes(id), items[0]);
  await soon.equal(() => page.inputValue("#queue-comment"), "kind enough");

  const metric = (await send("POST", "/v1/metrics", { name: `full ${tag}`, type: "EXPRESSION", criteria: "duration < 50", return_type: "boolean" })).metric_id;
  await go(`metrics/${metric}`, ".metric-code");
  await page.fill(".metric-code", "duration < 60");
  await page.waitForSelector(".metric-save >> text=no room to keep this");
  await page.click("button:text-is('Discard')");
  await page.waitForSelector(".metric-save >> text=As deployed");
  await check("no room");
  await close();
});

test("what somebody else has deployed or saved of a configuration is not undone", async () => {
  const parameters = (content) => ({ call_type: "chat", model: "m", template: [{ role: "user", content }] });
  const { insertedId: id } = await send("POST", "/v1/configurations", { name: `shared ${tag}`, provider: "openai", parameters: parameters("first"), env: ["dev"] });
  const now = async () => (await send("GET", `/v1/configurations/${id}`)).configuration;
  const change = (fields) => send("PUT", `/v1/configurations/${id}`, { name: `renamed ${tag}`, ...fields });
  const { page, check, go, close } = await open();
  await go(`configurations/${id}`, "aside .deployed");
  await change({ env_versions: { prod: 1 } });
  await page.locator("aside label", { hasText: "dev" }).locator("select").selectOption("");
  await page.waitForSelector("h1 + .chip:has-text('prod 1')");
  assert.deepEqual([(await now()).env, (await now()).name, (await now()).version], [["prod"], `renamed ${tag}`, 2]);

  await page.fill(".prompt-text", "mine");
  await change({ parameters: parameters("theirs") });
  await page.click("button:has-text('Save as version 3')");
  await page.waitForSelector("[role=alert]:has-text('Version 3 was saved meanwhile')");
  assert.equal((await now()).parameters.template[0].content, "theirs");
  await page.click("button:has-text('Save as version 4')");
  await page.waitForSelector("li:has-text('Version 4'):has-text('current')");
  assert.deepEqual([(await now()).parameters.template[0].content, (await now()).env], ["mine", ["prod"]]);
  await check("a shared configuration");
  await close();
});

test("a score has a name, and a comment that is not touched stays", async () => {
  const { session, event } = await stored({ feedback: { comment: "as it was" } });
  const now = () => send("GET", `/v1/events/${event}?children=none`);
  const { page, check, go, close } = await open();
  await go(`session/${session}?e=${event}`, ".detail .actions");
  await page.click(".actions >> text=Comment");
  await send("PUT", "/v1/events", { event_id: event, feedback: { comment: "said meanwhile" } });
  await page.getByLabel("Score", { exact: true }).fill("0.8");
  await page.click("dialog >> text=Save");
  await page.waitForSelector("dialog input:invalid");
  assert.equal(await page.getByLabel("Score's name").evaluate((i) => i === document.activeElement), true, "the focus is on what is missing");
  await page.getByLabel("Score's name").fill(" ");
  await page.click("dialog >> text=Save");
  await page.waitForSelector("dialog input:invalid");
  await page.getByLabel("Score's name").fill("correct");
  await page.click("dialog >> text=Save");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.deepEqual([(await now()).metrics, (await now()).feedback], [{ correct: 0.8 }, { comment: "said meanwhile" }]);
  await page.click(".actions >> text=Comment");
  await page.getByLabel("Score's name").fill("words");
  await page.getByLabel("Score", { exact: true }).fill("Infinity");
  await page.click("dialog >> text=Save");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.deepEqual((await now()).metrics, { correct: 0.8, words: "Infinity" });
  await check("a score");
  await close();
});

test("what cannot be copied is said", async () => {
  const { session, event } = await stored();
  const { page, check, go, close } = await open();
  await page.addInitScript(() => { navigator.clipboard.writeText = () => Promise.reject(new DOMException("no", "NotAllowedError")); });
  await go(`session/${session}?e=${event}`, ".detail .event");
  await page.locator(".summary [aria-label=\"Copy the session's id\"]").click();
  await page.waitForSelector(".summary [aria-label='Not copied'] .glyph.bad");
  await page.locator("h1").click();
  await page.keyboard.press("y");
  await page.waitForSelector(".over >> text=The link could not be copied.");
  await page.waitForSelector(".summary [aria-label=\"Copy the session's id\"]"); // it may be tried again
  await page.click(".actions >> text=Link");
  await page.waitForSelector(".actions >> text=Not copied");
  await page.waitForSelector(".actions >> text=Link");
  await page.route("**/otlp", (r) => r.fulfill({ status: 404, contentType: "application/json", body: '{"message": "there is no such event"}' }));
  await page.click(".actions >> text=OTLP");
  await page.waitForSelector(".actions >> text=Not copied");
  await check("what is not copied");
  await close();
});

test("a width of the event that was chosen in a wide window leaves room for the tree in a narrow one", async () => {
  const { session, event } = await stored();
  const { page, context, check, go, close } = await open({ width: 1000 });
  await context.addInitScript(() => localStorage.setItem("spangrove.detail", "900"));
  await go(`session/${session}?e=${event}`, ".detail .event");
  const [tree, detail] = await Promise.all([".tree", ".detail"].map((s) => page.locator(s).boundingBox()));
  assert.ok(tree.width >= 250, `the tree has ${tree.width} pixels`);
  assert.ok(detail.x + detail.width <= 1000, `the event ends at ${detail.x + detail.width}`);
  await page.setViewportSize({ width: 800, height: 800 });
  await soon.equal(() => page.locator(".detail").evaluate((e) => e.offsetWidth - e.offsetParent.clientWidth), 0); // over the tree, as wide as both
  await check("a narrow window");
  await close();
});

test("keys that are for an input method do nothing else", async () => {
  const { dataset_id } = await send("POST", "/v1/datasets/import", { name: `words ${tag}`, format: "jsonl", text: '{"inputs": {"word": "before"}}' });
  const { page, check, go, close } = await open();
  const composing = (selector, key) => page.locator(selector).evaluate((e, key) => e.dispatchEvent(new KeyboardEvent("keydown", { key, isComposing: true, bubbles: true, cancelable: true })), key);
  const word = async () => (await send("GET", `/v1/datasets/${dataset_id}/rows`)).rows[0].datapoint.inputs.word;
  await go(`datasets/${dataset_id}`, ".table .row");
  await page.locator(".data-cell", { hasText: "before" }).dblclick();
  await page.fill(".data-edit textarea", "にほん");
  await composing(".data-edit textarea", "Enter"); // takes a word
  await page.waitForTimeout(300);
  assert.equal(await word(), "before");
  await page.fill(".data-edit textarea", "日本語");
  await page.press(".data-edit textarea", "Enter");
  await soon.equal(word, "日本語");

  await go("sessions?range=all", "#filter-bar");
  await page.fill("#filter-bar", "にほん");
  await composing("#filter-bar", "Enter");
  await page.waitForTimeout(300);
  assert.equal(new URL(page.url().replace("/#/", "/")).searchParams.get("q"), null);
  await page.press("#filter-bar", "Enter");
  await page.waitForFunction(() => new URLSearchParams(location.hash.split("?")[1]).get("q") === "にほん");
  await check("an input method");
  await close();
});

await run();
