// The first half of the pages in Chromium: sign-in, lists, filters, all readings of a session.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { frameWork, held, median } from "./measure.mjs";
import { base, figure, hostile, key, open, run, send, shots, soon, test, time, uuid } from "./page.mjs";

// ---- Data ----

/** A session of n events: turns of 25, in which model calls and tools follow each other, some of them failed. */
async function bigSession(n) {
  const session = uuid();
  const now = Date.now() - 600_000;
  await send("POST", "/v1/session/start", { session: { session_id: session, session_name: `agent of ${n} steps`, start_time: now } });
  const ids = Array.from({ length: n }, uuid);
  const events = ids.map((id, k) => {
    const first = k - (k % 25);
    const type = k === first ? "chain" : ["chain", "model", "tool", "tool", "model"][k % 5];
    const parent = k === first ? session : k % 5 === 2 ? ids[k - 1] : ids[first];
    return {
      event_id: id, session_id: session, parent_id: parent, event_type: type, event_name: k === first ? `turn ${k / 25}` : type === "model" ? "chat" : ["search", "read", "test"][k % 3],
      start_time: now + k * 40, duration: k === first ? 980 : [5, 20, 35, 80, 400][k % 5], error: k % 211 === 7 ? "TimeoutError: no answer within 30 s" : undefined,
      inputs: type === "model" ? { chat_history: [{ role: "user", content: `step ${k}: why does the build fail?` }] } : { query: `step ${k}` },
      outputs: type === "model" ? { role: "assistant", content: `**step ${k}** fails since \`nil\` is read.` } : { result: `ok ${k}` },
      config: type === "model" ? { model: "gpt-4o" } : {}, metadata: type === "model" ? { prompt_tokens: 900, completion_tokens: 100, cost: 0.003 } : {},
    };
  });
  for (let i = 0; i < n; i += 1000) await send("POST", "/v1/events/batch", { events: events.slice(i, i + 1000) });
  return { session, ids };
}

/** A session of turns, each with 99 steps: more than the page loads at once. */
async function longSession(turns) {
  const session = uuid();
  const now = Date.now() - 3_600_000;
  await send("POST", "/v1/session/start", { session: { session_id: session, session_name: "a long session", start_time: now } });
  const ids = Array.from({ length: turns * 100 }, uuid);
  const events = ids.map((id, k) => {
    const first = k - (k % 100);
    const type = k === first ? "chain" : k % 2 ? "model" : "tool";
    return {
      event_id: id, session_id: session, parent_id: k === first ? session : ids[first], event_type: type, event_name: k === first ? `turn ${k / 100}` : `${type} ${k}`,
      start_time: now + k * 10, duration: k === first ? 990 : 8, error: k % 500 === 7 ? "TimeoutError" : undefined, inputs: {}, outputs: {},
    };
  });
  for (let i = 0; i < events.length; i += 1000) await send("POST", "/v1/events/batch", { events: events.slice(i, i + 1000) });
  return { session, ids };
}

/** A session of n events that are each below the one before, or all below one, each with a name of its own. */
async function plainSession(n, deep) {
  const session = uuid();
  const now = Date.now() - 3_600_000;
  await send("POST", "/v1/session/start", { session: { session_id: session, session_name: deep ? "deep" : "wide", start_time: now } });
  const ids = Array.from({ length: n }, uuid);
  const events = ids.map((id, k) => ({
    event_id: id, session_id: session, parent_id: k === 0 ? session : ids[deep ? k - 1 : 0], event_type: ["chain", "model", "tool"][k % 3], event_name: `step ${k}`,
    inputs: {}, start_time: now + k, duration: deep || k === 0 ? 3 * n - 2 * k : 1,
  }));
  for (let i = 0; i < n; i += 1000) await send("POST", "/v1/events/batch", { events: events.slice(i, i + 1000) });
  return session;
}

async function hostileSession() {
  const session = uuid();
  const now = Date.now() - 60_000;
  const cycle = [uuid(), uuid()];
  await send("POST", "/v1/session/start", { session: { session_id: session, session_name: hostile[0], start_time: now, user_properties: { user_id: hostile[1] } } });
  const events = hostile.map((text, i) => ({
    event_id: uuid(), session_id: session, event_type: i % 2 ? "model" : "tool", event_name: text, source: text.slice(0, 300), error: i % 3 === 0 ? text : undefined, start_time: now + i, duration: i,
    inputs: { chat_history: [{ role: "user", content: text }, { role: text.slice(0, 50), content: [{ type: text.slice(0, 50), text }] }], [text.slice(0, 200)]: text, __proto__x: 1, constructor: text, "a.b": 1, a: { b: 2 } },
    outputs: { role: "assistant", content: text, tool_calls: [{ id: "1", name: text.slice(0, 100), arguments: text }] }, config: { model: text.slice(0, 200) },
    metadata: { [text.slice(0, 100)]: text }, metrics: { [`m ${i}`]: text },
  }));
  events.push({ event_id: cycle[0], session_id: session, parent_id: cycle[1], event_type: "chain", event_name: "cycle a", start_time: now, inputs: {} });
  events.push({ event_id: cycle[1], session_id: session, parent_id: cycle[0], event_type: "chain", event_name: "cycle b", start_time: now + 1, end_time: now - 1000, inputs: {} });
  events.push({ event_id: uuid(), session_id: session, parent_id: uuid(), event_type: "tool", event_name: "orphan", start_time: now, inputs: {} });
  await send("POST", "/v1/events/batch", { events });
  return { session, events };
}

/** Events with a field of ten megabytes, each of another kind. */
async function bigFields() {
  const session = uuid();
  const list = Array.from({ length: 100_000 }, (_, i) => ({ id: i, text: `row number ${i} of the table`, deep: { list: [i, i + 1, "x".repeat(20)] } }));
  const fields = { nodes: { exact: "9007199254740993", list, last: "needle at the end" }, text: { text: "lorem ipsum ".repeat(800_000) }, deep: JSON.parse("[".repeat(90) + "]".repeat(90)) };
  const ids = {};
  await send("POST", "/v1/session/start", { session: { session_id: session, session_name: "large fields" } });
  for (const [name, value] of Object.entries(fields)) {
    ids[name] = uuid();
    const body = JSON.stringify({ event: { event_id: ids[name], session_id: session, event_type: "tool", event_name: name, inputs: { value } } }).replace('"9007199254740993"', "9007199254740993");
    const response = await fetch(`${base}/v1/events`, { method: "POST", headers: { Authorization: `Bearer ${key}` }, body });
    assert.ok(response.ok, `${name}: ${response.status}`);
  }
  return { session, ids };
}

const big = await bigSession(10_000);
const bad = await hostileSession();
const large = await bigFields();

test("signing in, and out", async () => {
  const p = await open({ signIn: false });
  await p.go("sessions", "#key");
  await p.flaws("the sign-in page");
  await p.page.fill("#key", "sg_wrong");
  await p.page.click("button[type=submit]");
  await p.page.waitForSelector("[role=alert]");
  await soon.match(() => p.page.textContent("[role=alert]"), /unknown API key/);
  await p.page.fill("#key", key);
  await p.page.click("button[type=submit]");
  await p.page.waitForSelector(".table .row");
  assert.deepEqual(await p.page.evaluate(() => [document.cookie, JSON.stringify(localStorage).includes("sg_")]), ["", false], "scripts can read what signs in");
  await p.page.reload();
  await p.page.waitForSelector(".table .row");
  await p.page.click("[aria-label='Sign out']");
  await p.page.waitForSelector("#key");
  await p.page.reload();
  await p.page.waitForSelector("#key");
  await p.check("signing in");
  await p.close();
});

test("a revoked key ends its sign-in", async () => {
  const me = await send("GET", "/v1/me");
  const made = await send("POST", `/v1/projects/${me.project.id}/fine_grained_api_keys`, { name: "browser", permissions: ["read"], expires_at: "2099-01-01T00:00:00Z" });
  const p = await open({ signIn: false });
  const login = await p.context.request.post(`${base}/v1/login`, { data: { key: made.data?.key_value ?? made.key_value } });
  assert.equal(login.status(), 200);
  await p.go("sessions?range=all", ".table .row");
  await send("DELETE", `/v1/projects/${me.project.id}/api_keys/${made.data?.key_id ?? made.key_id}`);
  await p.page.reload();
  await p.page.waitForSelector("#key");
  await p.close();
});

test("the list of sessions: filters, values, sort, peek, keys, Back", async () => {
  const p = await open();
  await p.go("sessions?range=all", ".table .row");
  await p.page.hover(".rail a.place:has-text('Metrics')"); // its key is shown
  await p.flaws("sessions");
  const total = Number((await p.page.textContent(".foot")).match(/([\d,]+) session/)[1].replace(",", ""));
  assert.ok(total > 50, `${total} sessions`);
  await p.page.fill("#filter-bar", "events>5000");
  await p.page.keyboard.press("Enter");
  await p.page.waitForFunction(() => document.querySelector(".foot")?.textContent.startsWith("1 session"));
  assert.ok(p.page.url().includes("q=events"), p.page.url());
  await p.page.goBack();
  await p.page.waitForFunction((n) => document.querySelector(".foot")?.textContent.startsWith(n.toLocaleString("en-US")), total);
  await p.page.fill("#filter-bar", "region:eu");
  await p.page.waitForSelector(".problem", { state: "attached", timeout: 5000 }).catch(async () => { await p.page.keyboard.press("Escape"); await p.page.waitForSelector(".problem"); });
  await p.page.fill("#filter-bar", "");
  await p.page.keyboard.press("Enter");
  await p.page.keyboard.press("Escape");
  await p.page.click(".table .head button:has-text('Cost')");
  await p.page.waitForFunction(() => location.hash.includes("sort=cost"));
  await p.page.waitForFunction(() => document.querySelector(".table .row")?.textContent.includes("agent of 10000 steps"));
  await p.page.click(".table .row .value");
  await p.page.waitForFunction(() => location.hash.includes("q=name"));
  await p.page.waitForFunction(() => document.querySelector(".foot")?.textContent.startsWith("1 session"));
  await p.page.locator("h1").click();
  await p.page.keyboard.press("j");
  await p.page.waitForSelector(".peek .step");
  await p.check("with the peek open");
  await p.flaws("the peek");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector(".tree-row");
  await p.page.goBack();
  await p.page.waitForSelector(".peek .step");
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector(".peek", { state: "detached" });
  await p.page.keyboard.press("Shift+?");
  await p.page.waitForSelector("dialog[open] kbd");
  await p.flaws("the keys");
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector("dialog[open]", { state: "detached" });
  await p.check("the list");
  await p.close();
});

test("a list that is live shows what comes, and one that is empty says why", async () => {
  const p = await open();
  await p.go("sessions?range=24h&live=1", ".table .row");
  const name = `live ${uuid()}`;
  await send("POST", "/v1/session/start", { session: { session_name: name } });
  await p.page.waitForFunction((n) => document.querySelector(".table .row")?.textContent.includes(n), name);
  await p.go("sessions?q=name:nobody", ".empty");
  await soon.match(() => p.page.textContent(".empty"), /No session matches/);
  await p.page.click(".empty button");
  await p.page.waitForSelector(".table .row");
  await p.check("live and empty");
  await p.close();
});

test("times are shown in the zone of the browser, or in UTC", async () => {
  const start = Date.UTC(2026, 0, 15, 3, 30); // the evening before in New York
  await send("POST", "/v1/session/start", { session: { session_id: uuid(), session_name: "at night", start_time: start, end_time: start + 1000 } });
  const p = await open({ zone: "America/New_York" });
  await p.go(`sessions?q=name:"at night"&range=${start - 3_600_000}..${start + 3_600_000}`, ".table .row");
  await p.page.waitForSelector(".bars .scale:has-text('22:00')"); // from 21:30 to 23:30
  const shown = () => p.page.textContent(".table .row .cell");
  const label = () => p.page.textContent(".range-button");
  assert.match(await shown(), /^Jan 14 22:30/);
  assert.equal((await label()).trim(), "Jan 14 21:30 – Jan 14 23:30");
  await p.page.click(".range-button");
  await p.page.click(".range-menu button:has-text('UTC')");
  await p.page.waitForSelector(".bars .scale:has-text('03:00')");
  assert.match(await shown(), /^Jan 15 03:30/);
  await p.page.reload();
  await p.page.waitForSelector(".bars .scale:has-text('03:00')");
  assert.equal((await label()).trim(), "Jan 15 02:30 – Jan 15 04:30");
  await p.page.click(".range-button");
  await p.page.waitForFunction(() => document.querySelector(".range-menu input").value !== ""); // the open menu has filled its fields
  await p.page.fill(".range-menu label:has-text('From') input", "2026-01-15T03:00");
  await p.page.click(".range-menu button:has-text('Apply')");
  await p.page.waitForFunction((n) => new URLSearchParams(location.hash.split("?")[1]).get("range")?.startsWith(`${n}..`), Date.UTC(2026, 0, 15, 3));
  await p.flaws("the zone");
  await p.check("the zone");
  await p.close();
});

test("facets, columns and the height of rows", async () => {
  const p = await open();
  await p.go("events?range=all&q=type:model", ".table .row");
  const total = () => p.page.evaluate(() => Number(document.querySelector(".foot").textContent.match(/([\d,]+) event/)[1].replaceAll(",", "")));
  const models = await total();
  await p.page.locator("h1").click();
  await p.page.keyboard.press("b");
  await p.page.waitForSelector(".facets label:has-text('tool')");
  // The facet of a field counts what the list would show if the filter did not speak of the field.
  const count = (await p.page.textContent(".facets label:has-text('tool')")).replace("tool", "");
  await p.page.click(".facets label:has-text('tool')");
  await p.page.waitForFunction(() => document.querySelector("#filter-bar").value === "type:(model OR tool)");
  await p.page.waitForFunction((n) => Number(document.querySelector(".foot").textContent.match(/([\d,]+) event/)?.[1].replaceAll(",", "")) > n, models);
  if (/^[\d,]+$/.test(count)) assert.equal(await total(), models + Number(count.replaceAll(",", ""))); // great counts are rounded
  await p.page.fill(".facets .add", "service.name");
  await p.page.click(".facets .found button[title='metadata.resource.service.name']");
  await p.page.waitForSelector(".facets section:last-of-type label");
  await p.flaws("facets");
  await p.page.click("[aria-label=Columns]");
  await p.page.click("#columns-menu [aria-label='Columns shown'] button:has-text('Tokens')");
  await p.page.fill("#columns-menu input", "resource.service.name");
  await p.page.click("#columns-menu button[title='metadata.resource.service.name']");
  await p.page.click("#columns-menu button:has-text('comfortable')");
  await p.page.keyboard.press("Escape");
  await p.page.waitForFunction(() => document.querySelector(".table .row")?.getBoundingClientRect().height === 52);
  const heads = await p.page.locator(".table [role=columnheader]").allTextContents();
  assert.ok(heads.includes("service.name") && !heads.includes("Tokens"), heads.join());
  await p.flaws("chosen columns");
  await p.page.reload();
  await p.page.waitForSelector(".facets section:last-of-type label");
  assert.deepEqual(await p.page.locator(".table [role=columnheader]").allTextContents(), heads);
  await p.go("events?range=all&q=has:metadata.resource.service.name&cols=name,metadata.resource.service.name", ".table .row");
  await p.page.waitForFunction(() => document.querySelector(".table .row")?.lastElementChild.textContent.length > 1);
  await p.go(`sessions?range=all&q=${encodeURIComponent("event.type:(tool OR chain) (name:a OR name~o)")}`, ".table .row");
  await p.page.click("[aria-label='Close the facets']");
  await p.page.waitForSelector(".facets", { state: "detached" });
  await p.check("facets");
  await p.close();
});

test("views are saved, opened, changed and deleted", async () => {
  const p = await open();
  await p.go("events?range=all", ".table .row");
  await p.page.click("button[popovertarget=views-menu]");
  await p.page.click("#views-menu a:has-text('Tool calls')");
  await p.page.waitForFunction(() => document.querySelector("#filter-bar").value === "type:tool" && document.querySelector(".table .row"));
  await p.go("events?range=all&q=type:tool&cols=start,name,duration", ".table .row");
  await p.page.click("button[popovertarget=views-menu]");
  const name = `tools ${uuid()}`;
  await p.page.fill("#views-menu input", name);
  await p.page.keyboard.press("Enter");
  await p.page.waitForFunction(() => location.hash.includes("view=") && !document.querySelector("#views-menu:popover-open"));
  await p.page.waitForSelector(`button[popovertarget=views-menu]:has-text('${name}')`);
  await p.go("events?range=all", ".table .row");
  await p.page.click("button[popovertarget=views-menu]");
  await p.page.waitForSelector(`#views-menu button:has-text('${name}')`);
  await p.flaws("views");
  await p.page.click(`#views-menu button:has-text('${name}')`);
  await p.page.waitForFunction(() => document.querySelector("#filter-bar").value === "type:tool" && document.querySelectorAll(".table [role=columnheader]:not(.box)").length === 3);
  await p.page.fill("#filter-bar", "type:tool has:error");
  await p.page.keyboard.press("Enter");
  await p.page.waitForFunction(() => location.hash.includes("has%3Aerror"));
  await p.page.click("h1");
  await p.page.click("button[popovertarget=views-menu]");
  await p.page.click("#views-menu button:has-text('Keep the changes')");
  await p.page.waitForSelector("#views-menu button:has-text('Keep the changes')", { state: "detached" });
  const saved = (await send("GET", "/v1/views")).data.find((v) => v.name === name);
  assert.deepEqual(saved.state, { range: "all", q: "type:tool has:error", cols: "start,name,duration" });
  await p.page.click(`#views-menu [aria-label='Delete ${name}']`);
  await p.page.click(`#views-menu [aria-label='Yes, delete ${name}']`);
  await p.page.waitForSelector(`#views-menu button:has-text('${name}')`, { state: "detached" });
  await p.check("views");
  await p.close();
});

test("events and completions", async () => {
  const p = await open();
  for (const route of ["events?range=all", "completions?range=all", "events?range=all&q=has:error"]) {
    await p.go(route, ".table .row");
    await p.page.locator("h1").click();
    await p.page.keyboard.press("j");
    await p.page.waitForSelector(".peek .event");
    await p.check(route);
    await p.flaws(route);
    await p.page.keyboard.press("Escape");
  }
  await p.go("events?range=all", ".table .row");
  for (const order of ["desc", "asc"]) {
    const first = (await send("POST", "/v1/events/search", { sort: "duration", order, limit: 1, total: "none" })).events[0].event_id;
    await p.page.click(".table .head button:has-text('Duration')");
    await p.page.waitForFunction((id) => location.hash.includes("sort=duration") && document.querySelector(".table .row")?.id === `row-${id}`, first);
  }
  // Pages follow each other by a cursor, without gaps and repeats.
  await p.page.evaluate(() => { document.querySelector(".table").scrollTop = 1e9; });
  await p.page.waitForFunction(() => /200 loaded/.test(document.querySelector(".foot").textContent));
  const download = p.page.waitForEvent("download");
  await p.go(`events?range=all&q=${encodeURIComponent(`session:${bad.session}`)}`, ".table .row");
  await p.page.click("[aria-label=Export]");
  await p.page.click("text=CSV");
  const text = readFileSync(await (await download).path(), "utf8");
  assert.ok(text.includes("'=HYPERLINK") && text.startsWith("event_id,"), text.slice(0, 200));
  await p.check("export");
  await p.close();
});

test("a link to a transcript shows what its steps say, and two sessions are chosen on a narrow page", async () => {
  const { sessions: [session] } = await send("POST", "/v1/samples");
  const p = await open({ width: 400 });
  await p.go(`session/${session}?view=transcript`, ".step");
  await p.page.waitForSelector(".step-line:has-text('Where is my parcel?')");
  await p.go("compare", ".choose li");
  const button = await p.page.locator(".choose button[type=submit]").boundingBox();
  assert.ok(button.x + button.width <= 400, `the button ends at ${button.x + button.width}`);
  await p.check("a narrow page");
  await p.close();
  await send("DELETE", "/v1/samples");
});

test("a thread shows the call that is selected, also a late one, and what was before it", async () => {
  const { session_id: session } = await send("POST", "/v1/session/start", { session: { session_name: "a long talk" } });
  const began = Date.now() - 600_000;
  const events = Array.from({ length: 100 }, (_, i) => ({
    event_id: uuid(), session_id: session, event_type: "model", event_name: "answer", source: "test", start_time: began + i * 1000, duration: 500,
    inputs: { chat_history: [{ role: "user", content: `question ${i}` }] }, outputs: { role: "assistant", content: `answer ${i}` },
  }));
  await send("POST", "/v1/events/batch", { events });
  const p = await open();
  const shown = (i) => p.page.waitForFunction((text) => {
    const box = [...document.querySelectorAll(".thread .selected")].find((x) => x.textContent.includes(text))?.getBoundingClientRect();
    return box && box.bottom > 0 && box.top < innerHeight;
  }, `question ${i}`);
  await p.go(`session/${session}?view=thread&e=${events[75].event_id}`, ".thread .selected");
  await shown(75);
  await p.page.click(".thread button:has-text('Show earlier (40 model calls before)')");
  await p.page.waitForSelector(".thread .item:has-text('question 3')");
  await shown(75);
  await p.page.keyboard.press("1");
  await p.page.waitForSelector(".tree-row");
  await p.page.evaluate((id) => { location.hash = location.hash.replace(/e=[^&]+/, `e=${id}`); }, events[95].event_id);
  await p.page.keyboard.press("5");
  await shown(95);
  await p.close();
  await send("DELETE", `/v1/sessions/${session}`);
});

test("six readings of one selection, in both themes and at three widths", async () => {
  const found = await send("POST", "/v1/sessions/search", { sort: "events", limit: 5, filters: [{ field: "totals.events", operator: "less than", value: 1000 }, { field: "totals.model_events", operator: "greater than", value: 1 }] });
  const session = found.sessions[0].session_id;
  const rows = (await send("GET", `/v1/sessions/${session}/tree`)).rows;
  const event = rows.find((r) => r[2] === "model")[0];
  for (const [width, scheme] of [[400, "light"], [400, "dark"], [1280, "light"], [1280, "dark"], [2560, "light"], [2560, "dark"]]) {
    const p = await open({ width, height: width === 400 ? 800 : 900, scheme });
    for (const [view, sign] of [["", ".tree-row"], ["timeline", ".time-row"], ["graph", ".graph-node"], ["trajectory", ".bubble"], ["thread", ".message"], ["transcript", ".step"]]) {
      await p.go(`session/${session}${view ? `?view=${view}` : ""}`, sign);
      await p.page.waitForTimeout(150);
      await p.check(`${view || "tree"} at ${width}`);
      if (width === 1280) await p.flaws(`${view || "tree"}, ${scheme}`);
      if (shots) await p.page.screenshot({ path: `${shots}/${view || "tree"}-${width}-${scheme}.png` });
    }
    for (const route of ["sessions?range=all", "events?range=all", "start"]) {
      await p.go(route, route === "start" ? ".snippet" : ".table .row");
      await p.check(`${route} at ${width}`);
      if (shots) await p.page.screenshot({ path: `${shots}/${route.split("?")[0]}-${width}-${scheme}.png` });
    }
    await p.close();
  }
  const p = await open();
  await p.go(`session/${session}?e=${event}`, ".detail .event");
  await p.page.locator(".tree-row.selected").first().waitFor();
  for (const [digit, sign] of [["2", ".time-row.selected"], ["4", ".bubble.selected"], ["3", ".graph-node.selected"], ["6", ".step.selected"], ["1", ".tree-row.selected"]]) {
    await p.page.keyboard.press(digit);
    await p.page.waitForSelector(sign);
  }
  await p.flaws("an event");
  if (shots) await p.page.screenshot({ path: `${shots}/readme.png` });
  await p.page.reload();
  await p.page.waitForSelector(".tree-row.selected");
  await p.page.keyboard.press("j");
  await p.page.waitForFunction((e) => !location.hash.includes(e), event);
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector(".detail", { state: "detached" });
  await p.check("a session");
  await p.close();
});

test("scores lead to their events and their judges; words are found in contents", async () => {
  const word = `needle${uuid().slice(0, 8)}`;
  const [chain, tool] = [uuid(), uuid()];
  const started = await send("POST", "/v1/session/start", { session: { session_name: `scored ${word}` } });
  const session = started.session_id;
  const at = Date.now() - 1000;
  await send("POST", "/v1/events/batch", { events: [
    { event_id: chain, session_id: session, parent_id: session, event_type: "chain", event_name: "plan", inputs: { q: "x" }, outputs: { a: "y" }, start_time: at, duration: 900, metrics: { correct: true, correct_explanation: "as expected", "tone of it": 0.25 } },
    { event_id: tool, session_id: session, parent_id: chain, event_type: "tool", event_name: "look", inputs: { q: `where is the ${word}` }, outputs: { a: "here" }, start_time: at + 100, duration: 300 },
    { event_id: uuid(), session_id: session, parent_id: chain, event_type: "tool", event_name: "write", inputs: {}, outputs: { a: `found ${word}` }, start_time: at + 500, duration: 300 },
  ] });
  const judged = (await send("POST", "/v1/session/start", { session: { session_name: "judge", source: "evaluator" } })).session_id;
  await send("POST", "/v1/events/batch", { events: [{ session_id: judged, parent_id: judged, source: "evaluator", event_type: "model", event_name: "correct", inputs: {}, outputs: { a: "true" }, config: { model: "m" }, start_time: at, duration: 5,
    metadata: { evaluator_name: "correct", target_event_id: chain, target_session_id: session } }] });
  const p = await open();
  await p.go(`session/${session}`, ".tree-row");
  await p.page.waitForSelector("button:has-text('2 scores')");
  await p.page.keyboard.press("r");
  await p.page.waitForSelector(".scores li:has-text('as expected')");
  await p.flaws("scores");
  await p.page.click(".scores li:has-text('tone of it') .score-on");
  await p.page.waitForFunction((id) => location.hash.includes(id), chain);
  await p.page.waitForSelector(".detail .scores li:has-text('as expected') a");
  await p.page.fill("#find-in-session", word);
  await p.page.waitForFunction(() => document.querySelector(".foot").textContent.startsWith("2 events of 3 match")); // the session itself is not counted
  await p.page.keyboard.press("Enter");
  await p.page.keyboard.press("n");
  await p.page.keyboard.press("n");
  await p.page.waitForFunction((id) => location.hash.includes(id), tool);
  await p.page.waitForFunction((w) => [...(CSS.highlights.get("word") ?? [])].some((r) => r.toString().toLowerCase() === w), word);
  await p.page.keyboard.press("Shift+ArrowDown");
  await p.page.waitForSelector(".detail:has-text('write')");
  await p.page.keyboard.press("Shift+N");
  await p.page.waitForFunction((id) => location.hash.includes(id), tool);
  await p.page.click(".detail header [aria-label='Close the event']");
  await p.page.click(".scores a");
  await p.page.waitForFunction((id) => location.hash.includes(id), judged);
  await p.page.waitForSelector(".tree-row.selected:has-text('correct')");
  // From a list, ] and [ go from session to session.
  await p.go("sessions?range=all", ".table .row");
  const rows = await p.page.locator(".table .row").evaluateAll((list) => list.slice(0, 2).map((r) => r.id.replace("row-", "")));
  await p.go(`session/${rows[0]}`, ".tree-row");
  await p.page.keyboard.press("]");
  await p.page.waitForSelector(`.page:has-text("${rows[1]}")`); // the address is there before the page is
  await p.page.keyboard.press("[");
  await p.page.waitForSelector(`.page:has-text("${rows[0]}")`);
  await p.check("scores and words");
  await p.close();
});

test("two sessions are compared, from the first difference on", async () => {
  const at = Date.now() - 5000;
  const run = async (answer, last) => {
    const session = (await send("POST", "/v1/session/start", { session: { session_name: "compared" } })).session_id;
    const events = Array.from({ length: 12 }, (_, i) => ({ event_id: uuid(), session_id: session, event_type: i % 2 ? "tool" : "model", event_name: i % 2 ? "look" : "chat", start_time: at + i * 10, duration: 5,
      inputs: { q: `question ${i}` }, outputs: { a: i === 8 ? answer : `answer ${i}` } }));
    if (last) events.push({ event_id: uuid(), session_id: session, event_type: "tool", event_name: last, start_time: at + 500, duration: 5, inputs: {}, error: "refused" });
    await send("POST", "/v1/events/batch", { events });
    return { session, events };
  };
  const [left, right] = [await run("the red fox jumps"), await run("the blue fox jumps", "save")];
  const p = await open();
  await p.go(`session/${left.session}`, ".tree-row");
  await p.page.click("a:has-text('Compare')");
  await p.page.waitForSelector(".choose li");
  await p.flaws("choosing a session");
  await p.page.fill(".choose input", right.session);
  await p.page.keyboard.press("Enter");
  await p.page.waitForFunction(() => document.querySelector(".foot")?.textContent.startsWith("11 alike, 1 changed, 0 only left, 1 only right"));
  await soon.equal(() => p.page.locator(".pair-row.folded").count(), 1);
  await p.page.keyboard.press("d");
  await p.page.waitForFunction((id) => location.hash.includes(id), left.events[8].event_id);
  await p.page.waitForSelector(".text-diff del:has-text('red')");
  await soon.equal(() => p.page.textContent(".text-diff ins"), "blue");
  await p.flaws("a comparison");
  if (shots) await p.page.screenshot({ path: `${shots}/compare.png` });
  await p.page.keyboard.press("d");
  await p.page.waitForSelector(".compare-panel:has-text('Only the right session')");
  await p.page.keyboard.press("Shift+D");
  await p.page.waitForSelector(".text-diff del");
  await p.page.keyboard.press("o");
  await p.page.waitForFunction(() => document.querySelectorAll(".pair-row").length === 14);
  await p.page.keyboard.press("x");
  await p.page.waitForFunction(() => /1 only left/.test(document.querySelector(".foot")?.textContent));
  await p.go(`compare?left=${big.session}&right=${big.session}`, ".pair-row");
  await p.page.waitForFunction(() => /^10,000 alike/.test(document.querySelector(".foot")?.textContent));
  await p.page.setViewportSize({ width: 400, height: 800 });
  await p.check("a comparison");
  await p.close();
});

test("one needle and one range of time for all readings", async () => {
  const at = Date.now() - 600_000;
  const session = (await send("POST", "/v1/session/start", { session: { session_name: "timed", start_time: at, end_time: at + 30_000 } })).session_id;
  await send("POST", "/v1/events/batch", { events: Array.from({ length: 30 }, (_, i) => ({
    session_id: session, event_type: i % 2 ? "model" : "tool", event_name: `step ${i}`, start_time: at + i * 1000, duration: 990,
    inputs: i % 2 ? { chat_history: [{ role: "user", content: `question ${i}` }] } : {}, outputs: i % 2 ? { role: "assistant", content: `answer ${i}` } : {},
  })) });
  const p = await open();
  await p.go(`session/${session}`, ".tree-row");
  const place = () => p.page.evaluate(() => {
    const needle = document.querySelector(".minimap .needle");
    return needle === null ? null : parseFloat(needle.style.left) / 100;
  });
  const marked = (sign) => p.page.waitForFunction((s) => [...document.querySelectorAll(s)].length > 0, sign);
  assert.equal(await place(), null, "nothing is pointed at yet");
  // The pointer on the strip marks what runs at that time, in every reading.
  const strip = await p.page.locator(".minimap").boundingBox();
  const half = () => p.page.mouse.move(strip.x + strip.width * 0.519, strip.y + 10);
  const readings = [["1", ".tree-row"], ["2", ".time-row"], ["3", ".graph-node"], ["4", ".bubble"], ["5", ".thread .item"], ["6", ".step"]];
  for (const [digit, sign] of readings) {
    await p.page.mouse.move(5, 5);
    await p.page.keyboard.press(digit);
    await p.page.waitForSelector(sign);
    await half();
    await marked(digit === "1" || digit === "2" ? `${sign}[data-now] ~ ${sign}:not([data-now])` : `${sign}[data-now]`);
    const names = await p.page.evaluate((s) => [...document.querySelectorAll(`${s}[data-now]`)].map((e) => e.textContent).join(" "), sign);
    assert.match(names, /15/, `reading ${digit}: ${names}`);
    assert.doesNotMatch(names, /step 1[0-46-9]|step 2/, `reading ${digit}: ${names}`);
  }
  await p.page.waitForSelector(".minimap .needle");
  // A pointer on a row moves the needle to its start; without one it stands where the selected event begins.
  await p.page.keyboard.press("1");
  await p.page.hover(".tree-row:has-text('step 6')");
  await p.page.waitForFunction(() => Math.abs(parseFloat(document.querySelector(".minimap .needle")?.style.left) - 20) < 1);
  await p.page.click(".tree-row:has-text('step 9')");
  await p.page.mouse.move(5, 5);
  await p.page.waitForFunction(() => Math.abs(parseFloat(document.querySelector(".minimap .needle")?.style.left) - 30) < 1);
  // A click puts it, into the address, too.
  await p.page.mouse.click(strip.x + strip.width / 2, strip.y + 10);
  await p.page.waitForFunction(() => /[?&]t=\d+/.test(location.hash));
  await p.page.mouse.move(5, 5);
  await p.page.reload();
  await p.page.waitForFunction(() => Math.abs(parseFloat(document.querySelector(".minimap .needle")?.style.left) - 50) < 1);
  await p.page.keyboard.press("Escape");
  await p.page.waitForFunction(() => document.querySelector(".minimap .needle") === null);
  // Dragging narrows every reading.
  await p.page.mouse.move(strip.x + strip.width * 0.505, strip.y + 10);
  await p.page.mouse.down();
  await p.page.mouse.move(strip.x + strip.width * 0.59, strip.y + 10, { steps: 5 });
  await p.page.mouse.up();
  await p.page.waitForFunction(() => /range=\d/.test(location.hash));
  await p.page.reload();
  for (const [digit, sign, most] of [["1", ".tree-row", 5], ["2", ".time-row", 5], ["3", ".graph-node", 5], ["4", ".bubble", 4], ["6", ".step", 4]]) {
    await p.page.waitForSelector(".tabs");
    await p.page.keyboard.press(digit);
    await p.page.waitForSelector(sign);
    const shown = await p.page.locator(sign).count();
    assert.ok(shown > 0 && shown <= most, `reading ${digit} shows ${shown}`);
    await soon.match(() => p.page.textContent("#reading > .foot"), /of 30 (match|in this time)/);
  }
  await p.flaws("a range of time");
  await p.page.click(".tabs button[title='Show the whole session']");
  await p.page.waitForFunction(() => !location.hash.includes("range="));
  await p.page.waitForFunction(() => document.querySelectorAll(".step").length > 5);
  // The strip's height is dragged, moved by keys, and kept.
  const edge = await p.page.locator(".minimap-edge").boundingBox();
  await p.page.mouse.move(edge.x + 200, edge.y + 2);
  await p.page.mouse.down();
  await p.page.mouse.move(edge.x + 200, edge.y + 58, { steps: 4 });
  await p.page.mouse.up();
  const height = () => p.page.evaluate(() => document.querySelector(".minimap").getBoundingClientRect().height);
  const tall = await height();
  assert.ok(Math.abs(tall - 100) < 4, `${tall} pixels`);
  await p.page.focus(".minimap-edge");
  await p.page.keyboard.press("ArrowDown");
  await p.page.reload();
  await p.page.waitForSelector(".minimap");
  assert.equal(await height(), tall + 8);
  await p.check("a needle");
  await p.close();
});

test("idle times of a timeline are folded", async () => {
  const session = (await send("POST", "/v1/session/start", { session: { session_name: "mostly idle" } })).session_id;
  const at = Date.now() - 60_000;
  await send("POST", "/v1/events/batch", { events: [0, 100, 36_000].map((offset) => ({ session_id: session, event_type: "tool", event_name: `at ${offset}`, start_time: at + offset, duration: 90, inputs: {} })) });
  const p = await open();
  await p.go(`session/${session}?view=timeline`, ".time-row");
  const width = () => p.page.evaluate(() => [...document.querySelectorAll(".time-bar")].at(-1).getBoundingClientRect().width);
  const before = await width();
  await p.page.click("button:has-text('idle')");
  await p.page.waitForSelector(".needle-track .idle", { state: "attached" });
  assert.ok(await width() > before * 5, `${before} and then ${await width()} pixels`);
  await p.flaws("a folded timeline");
  if (shots) await p.page.screenshot({ path: `${shots}/idle.png` });
  await p.page.reload();
  await p.page.waitForSelector("button:has-text('Unfold')");
  await p.check("a folded timeline");
  await p.close();
});

test("an event is rated, commented, and put into a dataset", async () => {
  const p = await open();
  const event = big.ids[1];
  await p.go(`session/${big.session}?e=${event}`, ".detail .event");
  await p.page.click("[aria-label=Good]");
  await p.page.waitForSelector("[aria-label=Good][aria-pressed=true]");
  assert.equal((await send("GET", `/v1/events/${event}/fields/feedback`)).rating, true);
  await p.page.click("text=Comment");
  await p.page.fill("dialog textarea", "well done");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog[open]", { state: "detached" });
  assert.equal((await send("GET", `/v1/events/${event}/fields/feedback`)).comment, "well done");
  await p.page.click("text=Add to dataset");
  await p.page.fill("dialog input[required]", `from the page ${uuid().slice(0, 8)}`);
  await p.flaws("the dialog");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog [role=status], dialog [role=alert]");
  await soon.match(() => p.page.textContent("dialog"), /was added/);
  const points = await send("GET", "/v1/datapoints?limit=10");
  assert.ok(JSON.stringify(points).includes(event), "the datapoint names its event");
  await p.page.keyboard.press("Escape");
  // Another datapoint, of parts of the event.
  await p.page.click("text=Add to dataset");
  await p.page.fill("dialog input[required]", `parts ${uuid().slice(0, 8)}`);
  await p.page.fill("dialog label:has-text('Inputs are') input", "inputs.chat_history");
  await p.page.fill("dialog label:has-text('Ground truth is') input", "outputs.content");
  await p.page.waitForFunction(() => [...document.querySelectorAll("dialog pre")].at(-1).textContent.startsWith('{\n  "output": "'));
  await p.page.fill("dialog label:has-text('Ground truth is') input", "outputs.nothing");
  await p.page.waitForSelector("dialog .warn");
  await p.page.fill("dialog label:has-text('Ground truth is') input", "outputs.content");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog [role=status]");
  const newest = (await send("GET", "/v1/datapoints?limit=1000")).datapoints.filter((d) => d.linked_event === event).find((d) => typeof d.ground_truth?.output === "string");
  assert.ok(Array.isArray(newest.inputs.input), JSON.stringify(newest));
  await p.page.keyboard.press("Escape");
  // A metric of the project is run, and its score kept.
  const metric = `quick ${uuid().slice(0, 8)}`;
  await send("POST", "/v1/metrics", { name: metric, type: "EXPRESSION", return_type: "boolean", criteria: "duration < 2000", threshold: { pass_when: true } });
  await p.page.click("text=Run a metric");
  await p.page.selectOption("dialog select", `own ${metric}`);
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog [role=status] :text('passed')");
  await p.flaws("a metric that was run");
  await p.page.click("text=Keep the score");
  await p.page.waitForSelector("dialog :text('The score stands')");
  assert.equal((await send("GET", `/v1/events/${event}/fields/metrics`))[metric], true);
  await p.page.click("dialog button:has-text('Close')");
  await p.page.waitForSelector(`.detail .scores li:has-text('${metric}')`);
  // What would be deleted is counted first.
  await p.go(`session/${big.session}?e=${big.ids[0]}`, ".detail .event");
  await p.page.click(".detail [aria-label=Delete]");
  await p.page.waitForSelector("dialog:has-text('19 events directly below it stay')");
  await p.page.keyboard.press("Escape");
  await p.check("actions");
  await p.close();
});

test("the first page shows refused attempts with their cure, and loads and removes samples", async () => {
  const project = await send("POST", "/v1/projects", { name: `first ${uuid()}` });
  const made = await send("POST", `/v1/projects/${project.id}/fine_grained_api_keys`, { name: "first", permissions: ["admin"], expires_at: "2099-01-01T00:00:00Z" });
  const own = made.data?.key_value ?? made.key_value;
  const p = await open({ signIn: false });
  assert.equal((await p.context.request.post(`${base}/v1/login`, { data: { key: own } })).status(), 200);
  await p.go("start", ".snippet");
  const attempt = (path, bearer, body) => fetch(base + path, { method: "POST", headers: { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" }, body });
  const wrong = `sg_${"wrong23".repeat(5)}`.slice(0, 35);
  for (let i = 0; i < 3; i++) assert.equal((await attempt("/v1/traces", wrong, "{}")).status, 401);
  await p.page.waitForSelector(".refusals");
  await p.page.waitForFunction(() => /begins with sg_wrong23,/.test(document.querySelector(".refusals").textContent) && /3 times/.test(document.querySelector(".refusals").textContent));
  assert.equal((await attempt("/v1/events", own, '{"event_type": "<img src=x onerror=window.__pwned=1>", "inputs": {}}')).status, 400);
  await p.page.waitForFunction(() => /unknown event type/.test(document.querySelector(".refusals").textContent));
  assert.ok(!(await p.page.content()).includes(wrong), "the page holds the whole key");
  await p.flaws("the first page with refusals");
  if (shots) await p.page.screenshot({ path: `${shots}/start-refused.png` });

  await p.page.click("text=Load sample sessions");
  await p.page.waitForSelector("text=Remove the samples");
  await p.page.reload();
  await p.page.click(".samples >> text=Look at them");
  await p.page.waitForFunction(() => document.querySelectorAll(".table .row").length === 5);
  if (shots) await p.page.screenshot({ path: `${shots}/samples.png` });
  await p.go("start", ".samples");
  await p.page.click("text=Remove the samples");
  await p.page.waitForSelector("text=Load sample sessions");
  assert.equal((await (await fetch(`${base}/v1/sessions/search`, { method: "POST", headers: { Authorization: `Bearer ${own}` }, body: "{}" })).json()).sessions.length, 0);

  const name = `first of all ${uuid()}`;
  assert.equal((await attempt("/v1/session/start", own, JSON.stringify({ session: { session_name: name } }))).status, 200);
  await p.page.waitForFunction((n) => location.hash.startsWith("#/session/") && document.body.textContent.includes(n), name);
  await p.check("the first page");
  await p.close();
  await send("DELETE", `/v1/projects?project_id=${project.id}`);

  // Where others send, too, nobody is taken away from the page.
  const reader = await open();
  await reader.go("start", ".snippet");
  await send("POST", "/v1/session/start", { session: { session_name: `of others ${uuid()}` } });
  await reader.page.waitForSelector(".waiting a:has-text('Open it')");
  await reader.page.waitForTimeout(1500);
  assert.ok(reader.page.url().endsWith("#/start"), reader.page.url());
  await reader.close();
});

test("the palette goes to an id, a page and a name", async () => {
  const p = await open();
  await p.go("sessions?range=all", ".table .row");
  await p.page.keyboard.press("Control+k");
  await p.page.fill(".palette input", big.ids[3]);
  await p.page.waitForSelector(".palette li svg");
  await p.page.keyboard.press("Enter");
  await p.page.waitForFunction((e) => location.hash.includes(e), big.ids[3]);
  await p.page.waitForSelector(".detail .event");
  const [run, datapoint, trace] = [uuid(), uuid(), uuid().replaceAll("-", "")];
  const span = uuid().replaceAll("-", "").slice(16);
  const { session_id: tried } = await send("POST", "/v1/session/start", { session: { session_name: "one try", metadata: { run_id: run, datapoint_id: datapoint } } });
  await send("POST", "/v1/events", { event: { session_id: tried, event_type: "tool", event_name: "of a trace", inputs: {}, metadata: { trace_id: trace, span_id: span } } });
  for (const [id, found, leads] of [[run, "1 session of the run", `metadata.run_id%3A${run}`], [datapoint, "1 session of the datapoint", `metadata.datapoint_id%3A${datapoint}`], [trace.toUpperCase(), "of a trace", tried], [span, "of a trace", tried]]) {
    await p.page.keyboard.press("Control+k");
    await p.page.fill(".palette input", id);
    await p.page.click(`.palette li:has-text('${found}')`);
    await p.page.waitForFunction((part) => location.hash.includes(part), leads);
    await p.page.waitForSelector(".table .row, .tree-row");
  }
  await p.page.keyboard.press("Control+k");
  await p.page.fill(".palette input", uuid());
  await p.page.waitForSelector(".palette li:has-text('Nothing has the id')");
  await p.page.fill(".palette input", "all events");
  await p.flaws("the palette");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("h1:has-text('All events')");
  await p.page.keyboard.press("Control+k");
  await p.page.fill(".palette input", "step 4321:");
  await p.page.waitForSelector(".palette .snippet mark:has-text('step 4321:')");
  await p.flaws("hits in the palette");
  await p.page.click(".palette li:has(.snippet)");
  await p.page.waitForFunction((s) => location.hash.includes(s) && location.hash.includes("find=step"), big.session);
  await p.page.waitForFunction(() => [...(CSS.highlights.get("word") ?? [])].length > 0);
  await p.check("the palette");
  await p.close();
});

test("the palette takes the key that follows the one that opens it", async () => {
  const p = await open();
  await p.go("sessions?range=all", ".table .row");
  const taken = await p.page.evaluate(async () => {
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }));
    await null; // the next key comes no sooner
    return document.activeElement.matches(".palette input");
  });
  assert.ok(taken);
  await p.check("the palette just opened");
  await p.close();
});

test("ten thousand events", async () => {
  const first = [], selectable = [];
  let bytes = 0;
  for (let i = 0; i < 3; i++) {
    const p = await open();
    await p.go("start", ".snippet");
    const sizes = [];
    const client = await p.context.newCDPSession(p.page);
    await client.send("Network.enable");
    client.on("Network.loadingFinished", (e) => sizes.push(e.encodedDataLength));
    const began = Date.now();
    await p.page.evaluate((s) => { location.hash = `#/session/${s}`; }, big.session);
    await p.page.waitForSelector(".tree-row");
    first.push(Date.now() - began);
    await p.page.click(".tree-row:nth-child(5)");
    await p.page.waitForSelector(".tree-row.selected");
    selectable.push(Date.now() - began);
    bytes = sizes.reduce((a, b) => a + b, 0);
    if (i === 2) {
      const counts = await client.send("Memory.getDOMCounters");
      figure("DOM nodes", counts.nodes, "", 4000);
      const work = await frameWork(p.page, client, ".tree");
      time("work a frame while scrolling, on average, of the processor", work.mean, 12);
      time("work a frame while scrolling, p95, of the processor", work.p95, 16);
      figure("work a frame while scrolling, p95, with whatever else the machine did", work.clock, "ms");
      await inOrder(p.page);
      await p.page.keyboard.press("e");
      await p.page.waitForFunction(() => /48 events of 10,000 match/.test(document.querySelector(".foot")?.textContent ?? ""));
      await p.check("ten thousand");
      for (const view of ["2", "3", "4", "6"]) {
        await p.page.keyboard.press(view);
        await p.page.waitForTimeout(300);
        await p.check(`ten thousand, reading ${view}`);
      }
    }
    await p.close();
  }
  time("first rows", median(first), 1200);
  time("selectable", median(selectable), 3000);
  figure("bytes of the session", bytes / 1000, "KB", 600);
});

test("ten thousand events on a processor a quarter as fast", async () => {
  const first = [], selectable = [];
  for (let i = 0; i < 3; i++) {
    const p = await open();
    await p.go("start", ".snippet");
    const client = await p.context.newCDPSession(p.page);
    await client.send("Emulation.setCPUThrottlingRate", { rate: 4 });
    const began = Date.now();
    await p.page.evaluate((s) => { location.hash = `#/session/${s}`; }, big.session);
    await p.page.waitForSelector(".tree-row", { timeout: 120_000 });
    first.push(Date.now() - began);
    await p.page.click(".tree-row:nth-child(5)", { timeout: 120_000 });
    await p.page.waitForSelector(".tree-row.selected", { timeout: 120_000 });
    selectable.push(Date.now() - began);
    if (i === 2) {
      const work = await frameWork(p.page, client, ".tree");
      figure("a quarter as fast: work a frame while scrolling, mean, of the processor", work.mean, "ms");
      figure("a quarter as fast: work a frame while scrolling, p95, of the processor", work.p95, "ms");
      await client.send("Emulation.setCPUThrottlingRate", { rate: 1 });
      await p.check("a quarter as fast");
    }
    await p.close();
  }
  time("a quarter as fast: first rows", median(first), 4000);
  time("a quarter as fast: selectable", median(selectable), 4000);
});

/** The rows of the tree are in the document in their order, each once, without a gap, once scrolling has ended. */
async function inOrder(page) {
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll(".tree-row")];
    const index = rows.map((r) => Number(r.getAttribute("aria-rowindex")));
    return rows.length > 10 && new Set(rows.map((r) => r.id)).size === rows.length && index.every((n, i) => i === 0 || n === index[i - 1] + 1);
  });
  const wrong = await page.evaluate(() => {
    const height = document.querySelector(".tree-row").getBoundingClientRect().height;
    const top = document.querySelector(".tree").firstElementChild.getBoundingClientRect().top;
    return [...document.querySelectorAll(".tree-row")].filter((r) => Math.abs(r.getBoundingClientRect().top - top - (Number(r.getAttribute("aria-rowindex")) - 1) * height) > 1).length;
  });
  assert.equal(wrong, 0, "rows stand elsewhere than their index says");
}

test("sessions and events that are opened and closed leave nothing behind", async () => {
  const p = await open();
  const client = await p.context.newCDPSession(p.page);
  const shown = (sign) => p.page.waitForFunction((s) => document.querySelector(s) !== null, sign); // a handle would hold the element
  const view = (n) => ["", "&view=timeline", "", "&view=transcript", ""][n % 5];
  const round = async (n) => {
    await p.page.evaluate((hash) => { location.hash = hash; }, `#/session/${big.session}?e=${big.ids[10 + n * 7]}${view(n)}`);
    await shown(".detail .event");
    await p.page.evaluate(() => { location.hash = "#/sessions?range=all"; });
    await shown(".table .row");
  };
  await p.go("sessions?range=all");
  for (let n = 0; n < 10; n++) await round(n);
  const before = await held(client);
  for (let n = 10; n < 60; n++) await round(n);
  const after = await held(client);
  await p.check("opened and closed");
  figure("memory kept by 50 sessions opened and closed", Math.max(0, after.heap - before.heap), "MB", 3);
  figure("nodes kept by them", Math.max(0, after.nodes - before.nodes), "", 50);
  figure("listeners kept by them", Math.max(0, after.listeners - before.listeners), "", 10);
  await p.close();
});

test("five thousand levels, and ten thousand siblings", async () => {
  for (const [shape, session] of [["levels", await plainSession(5000, true)], ["siblings", await plainSession(10_000, false)]]) {
    const p = await open();
    await p.page.addInitScript(() => {
      window.longest = 0;
      new PerformanceObserver((list) => { for (const e of list.getEntries()) window.longest = Math.max(window.longest, e.duration); }).observe({ type: "longtask", buffered: true });
    });
    await p.page.reload();
    await p.go(`session/${session}`, ".tree-row");
    for (const digit of ["2", "3", "4", "5", "6", "1"]) {
      await p.page.keyboard.press(digit);
      await p.page.waitForSelector(`[role=tab]:nth-child(${digit})[aria-selected=true]`);
      await p.page.waitForTimeout(300);
      await p.check(`${shape}, reading ${digit}`);
    }
    await p.page.click(".tree-row:nth-child(4)");
    await p.page.keyboard.press("End");
    await p.page.waitForFunction((last) => document.querySelector(".tree-row.selected")?.textContent.includes(last), shape === "levels" ? "step 4999" : "step 9999");
    await p.check(`${shape}, the last event`);
    time(`${shape}: the longest task of six readings`, await p.page.evaluate(() => window.longest), 200);
    await p.close();
  }
});

test("a session of twenty-five thousand events is loaded in parts", async () => {
  const began = Date.now();
  const long = await longSession(250);
  figure("25,000 events stored", Date.now() - began, "ms");
  const p = await open();
  const asked = Date.now();
  await p.go(`session/${long.session}`, ".tree-row");
  time("a long session's first rows", Date.now() - asked, 4000);
  const shown = p.page.locator("#reading > .foot");
  const foot = (pattern) => soon.match(async () => ((await shown.count()) > 0 ? shown.textContent() : ""), new RegExp(pattern));
  await foot("19,999 of 25,000 events.*5,001 events not loaded");
  await p.page.waitForFunction(() => /25,000 events.*12,500 model calls/.test(document.querySelector(".summary").textContent) && /50 errors/.test(document.querySelector(".summary").textContent));
  if (shots) await p.page.screenshot({ path: `${shots}/long-tree.png` });
  // Filters say what they looked at, and where all of it is searched.
  await p.page.keyboard.press("e");
  await foot("events? of 19,999 match.*5,001 events not loaded, and not looked at");
  await soon.match(() => p.page.getAttribute(".foot a", "href"), /q=session/);
  await p.page.keyboard.press("e");
  // All other readings say that they show a part.
  for (const digit of ["2", "3", "4", "5", "6"]) {
    await p.page.keyboard.press(digit);
    await p.page.waitForSelector(`[role=tab]:nth-child(${digit})[aria-selected=true]`);
    await foot("5,001 events not loaded");
  }
  await p.flaws("a part of a session");
  // What is missing is loaded when it comes on screen.
  await p.page.keyboard.press("1");
  await p.page.click("[role=treegrid]", { position: { x: 300, y: 60 } });
  await p.page.keyboard.press("z");
  await p.page.keyboard.press("1");
  await p.page.waitForSelector(".tree-row:has-text('turn 0')");
  await p.page.evaluate(() => { document.querySelector(".tree").scrollTop = 1e6; });
  await p.page.waitForSelector(".tree-row:has-text('turn 249')");
  await p.page.click(".tree-row:has-text('turn 245') .fold");
  await p.page.waitForSelector(".tree-row:has-text('24501')");
  await foot("20,098 of 25,000");
  // A link to what is not loaded loads it with what stands above and beside it.
  const far = long.ids[23_050];
  await p.page.evaluate((a) => { location.hash = a; }, `#/session/${long.session}?e=${far}`);
  await p.page.waitForSelector(".tree-row.selected:has-text('23050')", { timeout: 20_000 });
  await p.page.waitForSelector(".detail .facts");
  await p.check("a link into a long session");
  const q = await open();
  await q.go(`session/${long.session}?e=${far}`, ".tree-row.selected:has-text('23050')");
  assert.ok(await q.page.evaluate(() => {
    const row = document.querySelector(".tree-row.selected").getBoundingClientRect();
    const box = document.querySelector(".tree").getBoundingClientRect();
    return row.top >= box.top && row.bottom <= box.bottom;
  }), "the event is on screen");
  await q.page.keyboard.press("k");
  await q.page.waitForSelector(".tree-row.selected:has-text('23049')");
  if (shots) await q.page.screenshot({ path: `${shots}/long-link.png` });
  // Twenty thousand events cost a frame of scrolling no more than ten thousand do.
  const r = await open();
  await r.go(`session/${long.session}`, ".tree-row");
  const client = await r.context.newCDPSession(r.page);
  figure("a long session's DOM nodes", (await client.send("Memory.getDOMCounters")).nodes, "", 4000);
  const work = await frameWork(r.page, client, ".tree");
  time("a long session's work a frame while scrolling, on average, of the processor", work.mean, 12);
  time("a long session's work a frame while scrolling, p95, of the processor", work.p95, 16);
  await inOrder(r.page);
  figure("a long session's memory", (await held(client)).heap, "MB", 60);
  await r.close();
  // The rest is loaded on demand, and then nothing is missing.
  for (let i = 0; i < 60 && /not loaded/.test(await q.page.textContent(".foot")); i++) {
    await q.page.locator(".foot button:has-text('more')").click({ timeout: 5000 }).catch(() => {});
    await q.page.waitForTimeout(150);
  }
  await q.page.waitForFunction(() => /25,000 of 25,000 events/.test(document.querySelector(".foot").textContent));
  await q.check("a long session");
  await q.close();
  // An event that is not in the session is said to be.
  await p.go(`session/${long.session}?e=${uuid()}`, ".foot .bad");
  await soon.match(() => p.page.textContent(".foot .bad"), /no event/);
  await p.close();
});

test("fields of ten megabytes", async () => {
  const p = await open();
  for (const [name, id] of Object.entries(large.ids)) {
    await p.go(`session/${large.session}?e=${id}`, ".detail .json-line");
    await p.page.waitForFunction((n) => document.querySelector(".detail h2")?.textContent === n, name);
    await p.check(name);
  }
  await p.go(`session/${large.session}?e=${large.ids.nodes}`, ".detail .json-line");
  await p.page.waitForFunction(() => /MB/.test(document.querySelector(".detail .json-lines")?.textContent ?? ""));
  const lines = async (key) => p.page.locator(".detail .json-line", { has: p.page.locator(`.json-key:text-is("${key}")`) }).first();
  const began = Date.now();
  await (await lines("value")).click();
  await p.page.waitForSelector(".json-key:text-is('exact')");
  time("opening a value of 10 MB", Date.now() - began, 600);
  assert.ok((await (await lines("exact")).textContent()).includes("9007199254740993"), "the digits have changed");
  const searched = Date.now();
  await p.page.locator(".detail .json-tools input").first().fill("needle at the end");
  await p.page.waitForSelector(".json-line mark");
  time("finding the last word of 10 MB", Date.now() - searched, 1000);
  await p.page.locator(".detail .field header button[aria-label='Copy inputs as stored']").click();
  await p.page.waitForTimeout(1500);
  const same = await p.page.evaluate(async ([path]) => {
    const copied = await navigator.clipboard.readText();
    const stored = await (await fetch(path)).text();
    return copied === stored && stored.length > 9_000_000;
  }, [`${base}/v1/events/${large.ids.nodes}/fields/inputs`]);
  assert.ok(same, "what was copied is not what is stored");
  await p.check("large fields");
  await p.close();
});

test("hostile text is text", async () => {
  const p = await open();
  await p.go("sessions?range=all", ".table .row");
  await p.check("the list");
  for (const view of ["", "timeline", "graph", "trajectory", "thread", "transcript"]) {
    await p.go(`session/${bad.session}${view ? `?view=${view}` : ""}`, ".tabs");
    await p.page.waitForTimeout(300);
    await p.check(view || "tree");
  }
  await p.go(`session/${bad.session}`, ".tree-row");
  const heights = await p.page.evaluate(() => [...new Set([...document.querySelectorAll(".tree-row")].map((r) => r.getBoundingClientRect().height))]);
  assert.deepEqual(heights, [26], "rows have other heights");
  assert.ok((await p.page.textContent(".tree")).includes("<script>window.__pwned=1</script>"));
  assert.ok((await p.page.textContent(".tree")).includes("cycle cut") && (await p.page.textContent(".tree")).includes("parent missing"));
  for (const e of bad.events) {
    await p.go(`session/${bad.session}?e=${e.event_id}`, ".detail .facts");
    await p.page.waitForTimeout(60);
    await p.check(`the event ${e.event_name.slice(0, 40)}`);
  }
  await p.page.waitForTimeout(500);
  await p.check("hostile text");
  await p.close();
});

test("a session and a list follow what is stored, and ask for it where there is no stream", async () => {
  const p = await open();
  const asked = { tree: 0, live: 0 };
  p.page.on("request", (r) => { for (const name of Object.keys(asked)) if (new URL(r.url()).pathname.split("/").includes(name)) asked[name]++; });
  const session = uuid();
  const add = (name, start_time) => send("POST", "/v1/events", { event: { session_id: session, event_type: "tool", event_name: name, start_time, duration: 1, inputs: {} } });
  // Nothing is asked of a session that ended long ago: only the stream can tell of what is added to it.
  const old = Date.now() - 3_600_000;
  await send("POST", "/v1/session/start", { session: { session_id: session, session_name: "ended", start_time: old, end_time: old + 1000 } });
  await add("first", old);
  await p.go(`session/${session}`, ".tree-row");
  await p.page.waitForTimeout(500);
  assert.deepEqual(asked, { tree: 1, live: 1 }, "an old session is read once");
  const sent = Date.now();
  await add("second", old + 10);
  await p.page.waitForSelector(".tree-row:has-text('second')");
  figure("an event of an open session is shown", Date.now() - sent, "ms");
  await p.page.waitForTimeout(1000);
  assert.ok(asked.tree <= 3, `${asked.tree} readings for one change`);
  // A running session without a stream: the page asks.
  await p.page.route("**/v1/live*", (r) => r.fulfill({ status: 404, body: "{}" }));
  await send("PUT", "/v1/events", { event_id: session, metadata: { again: true } });
  await add("third", Date.now());
  await p.page.reload();
  await p.page.waitForSelector(".tree-row:has-text('third')");
  await add("fourth", Date.now());
  await p.page.waitForSelector(".tree-row:has-text('fourth')", { timeout: 10_000 });
  await p.go("sessions?range=24h&live=1", ".table .row");
  const name = `asked for ${uuid()}`;
  await send("POST", "/v1/session/start", { session: { session_name: name } });
  await p.page.waitForFunction((n) => document.querySelector(".table .row")?.textContent.includes(n), name, { timeout: 10_000 });
  await p.check("follow");
  await p.close();
});

test("an admin's browser acts in another project, and all of its tabs do", async () => {
  const name = `Other ${uuid()}`;
  const [home, other] = [(await send("GET", "/v1/me")).project, await send("POST", "/v1/projects", { name })];
  const made = await send("POST", `/v1/projects/${other.id}/fine_grained_api_keys`, { name: "write", permissions: ["full"], expires_at: "2099-01-01T00:00:00Z" });
  const theirs = async (path, body) => assert.ok((await fetch(base + path, { method: "POST", headers: { Authorization: `Bearer ${made.data.key_value}` }, body: JSON.stringify(body) })).ok);
  const same = uuid(); // one id in both projects
  const ours = `ours ${uuid()}`, their = `theirs ${uuid()}`;
  await send("POST", "/v1/session/start", { session: { session_id: same, session_name: ours } });
  await theirs("/v1/session/start", { session: { session_id: same, session_name: their } });
  const view = (await send("POST", "/v1/views", { name: `v ${uuid()}`, page: "sessions", state: { range: "all" } })).data.id;

  const p = await open();
  const titled = (page, text) => page.waitForFunction((t) => document.title.includes(t), text);
  const first = (page, text) => page.waitForFunction((t) => document.querySelector(".table .row")?.textContent.includes(t), text);
  await p.go(`session/${same}`, ".tree-row"); // what was read of it here must not be shown there
  await p.page.waitForFunction((t) => document.querySelector("#main").textContent.includes(t), ours);
  const tab = await p.context.newPage();
  await tab.goto(`${base}/#/sessions?range=all`);
  await first(tab, ours);

  // By keyboard alone, from a list with a saved view, a selected row and a filter of one project.
  await p.go(`sessions?range=all&view=${view}&s=${same}&q=name~theirs`, ".empty, .table");
  await p.page.locator("h1").click();
  await p.page.keyboard.press("g");
  await p.page.keyboard.press("p");
  await p.page.waitForFunction((t) => document.querySelector("#projects-menu:popover-open")?.contains(document.activeElement) && document.querySelector("#projects-menu").textContent.includes(t), name);
  await p.flaws("the menu of projects");
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector("#projects-menu:popover-open", { state: "detached" });
  await p.page.focus("button.project");
  await p.page.keyboard.press("Enter");
  await p.page.waitForFunction(() => document.querySelector("#projects-menu:popover-open")?.contains(document.activeElement));
  for (let i = 0; i < 100 && !(await p.page.evaluate((t) => document.activeElement.textContent === t, name)); i++) await p.page.keyboard.press("ArrowDown");
  await p.page.keyboard.press("Enter");
  await titled(p.page, name);
  await first(p.page, their);
  await soon.equal(() => p.page.locator(".table .row").count(), 1);
  assert.equal(new URL(p.page.url()).hash, "#/sessions?range=all&q=name%7Etheirs");
  await soon.match(() => p.page.textContent(".who"), new RegExp(`${name}.*admin key of ${home.name}`));
  await p.flaws("in the other project");

  // The other tab has come along, and shows nothing of before.
  await titled(tab, name);
  await first(tab, their);
  assert.ok(!(await tab.textContent("#main")).includes(ours));

  // What is read and written there is the other project's.
  await p.go(`session/${same}`, ".tree-row");
  await p.page.waitForFunction((t) => document.querySelector("#main").textContent.includes(t), their);
  assert.ok(!(await p.page.textContent("#main")).includes(ours));
  await p.go(`session/${big.session}`, "[role=alert]");
  await soon.match(() => p.page.textContent("[role=alert]"), /no session/);
  await p.check("in the other project");

  // Back by the palette, from the page of one session.
  await p.go(`session/${same}`, ".tree-row");
  await p.page.keyboard.press("Control+k");
  await p.page.keyboard.type(`switch to project ${home.name}`);
  await p.page.getByRole("option", { name: `Switch to project ${home.name}`, exact: true }).waitFor(); // not that to search for these words
  await p.page.keyboard.press("Enter");
  await titled(p.page, ` ${home.name} `);
  await p.page.waitForSelector(".table .row");
  await titled(tab, ` ${home.name} `);

  // A project that is deleted meanwhile says so, and leads back.
  assert.equal((await p.context.request.post(`${base}/v1/login/project`, { data: { id: other.id } })).status(), 200);
  await p.page.reload();
  await titled(p.page, name);
  await send("DELETE", `/v1/projects?project_id=${other.id}`);
  await p.page.reload();
  await p.page.waitForSelector(".gone button.primary");
  await p.flaws("a deleted project");
  await p.page.click(".gone button.primary");
  await titled(p.page, ` ${home.name} `);
  await p.check("back from a deleted project");
  await p.close();

  // Whose key may not go anywhere has no menu.
  const key = await send("POST", `/v1/projects/${home.id}/fine_grained_api_keys`, { name: "browser", permissions: ["full"], expires_at: "2099-01-01T00:00:00Z" });
  const reader = await open({ signIn: false });
  await reader.context.request.post(`${base}/v1/login`, { data: { key: key.data.key_value } });
  await reader.go("sessions?range=all", ".table .row");
  await soon.match(() => reader.page.textContent(".who"), new RegExp(home.name));
  assert.equal(await reader.page.locator("button.project").count(), 0);
  await reader.close();
});

test("pages that are not there", async () => {
  const p = await open();
  await p.go("nowhere", ".empty");
  const { session_id } = await send("POST", "/v1/session/start", { session: { session_name: "by its name in the API" } });
  await p.go(`sessions/${session_id}`, ".tree-row");
  await p.go(`session/${uuid()}`, "[role=alert]");
  await soon.match(() => p.page.textContent("[role=alert]"), /no session/);
  await p.check("pages that are not there");
  await p.close();
});

await run();
