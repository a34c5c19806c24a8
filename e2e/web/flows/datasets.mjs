// Datasets in Chromium: a file imported with its columns mapped, datapoints browsed, found, edited and taken back, versions compared, splits, runs,
// and a dataset of what a list is filtered by.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { base, hostile, key, open, run, send, shots, soon, test, uuid } from "../page.mjs";

const rows = (id) => send("GET", `/v1/datasets/${id}/rows?limit=500`);
const made = (answer) => answer.dataset_id;
const lines = (list) => list.map((v) => JSON.stringify(v)).join("\n");

const questions = made(await send("POST", "/v1/datasets/import", {
  name: "support questions", format: "jsonl",
  text: lines(Array.from({ length: 230 }, (_, i) => ({ inputs: { question: `Question ${i}: where is my order?`, n: i }, ground_truth: { answer: `Answer ${i}` }, metadata: { split: i % 4 ? "train" : "test", tags: i % 10 ? ["easy"] : ["hard", "refund"] } }))),
}));
const digits = made(await send("POST", "/v1/datasets/import", { name: "digits", format: "jsonl", text: '{"inputs": {"q": "first", "id": 9007199254740993, "list": [1.50, {"a": null}]}, "ground_truth": {"a": "x"}}\n{"inputs": {"q": "second"}}' }));
const hostileSet = made(await send("POST", "/v1/datasets/import", { name: hostile[0], format: "jsonl", text: lines(hostile.map((t, i) => ({ inputs: { [t.slice(0, 60)]: t, q: t }, metadata: { split: t.slice(0, 150), i }, history: [{ role: t.slice(0, 40), content: t.slice(0, 500) }] }))) }));

const cell = (page, text) => page.locator(".table .row .data-cell", { hasText: text }).first();

test("a CSV file becomes a dataset: columns mapped, wrong rows named, and then all of it stored", async () => {
  const { page, check, flaws, go, close } = await open();
  await go("datasets", ".table .row");
  await page.keyboard.press("i");
  await page.waitForSelector(".import");
  const csv = "\uFEFFFrage;answer;split;note\r\n\"Wo; \"\"genau\"\"?\";Hier;test;=1+1\r\nWann?;Jetzt;train;\"zwei\nZeilen\"\r\n";
  await page.setInputFiles("input[type=file]", { name: "fragen.csv", mimeType: "text/csv", buffer: Buffer.from(`${csv}kurz;x\r\n`) });
  await page.waitForSelector(".wrong-rows");
  assert.deepEqual(await page.locator(".wrong-rows tbody td").allTextContents(), ["3", "5", "split", "has 2 cells, the line of names has 4"]);
  assert.ok(await page.locator("button[type=submit]").isDisabled(), "a file with a wrong row can be imported");
  await flaws("import with a wrong row");
  await page.setInputFiles("input[type=file]", { name: "fragen.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
  await page.waitForSelector("text=2 rows, CSV between semicolons");
  await soon.equal(() => page.getByLabel("Name of the dataset").inputValue(), "fragen");
  await soon.equal(() => page.getByLabel("Frage becomes").inputValue(), "inputs");
  await page.getByLabel("Key of Frage").fill("question");
  await page.getByLabel("note becomes").selectOption("");
  await soon.match(() => page.locator(".data-table tbody tr").first().innerText(), /"question": "Wo; \\"genau\\"\?"/);
  if (shots) await page.screenshot({ path: `${shots}/datasets-import.png` });
  await page.getByRole("button", { name: "Import 2 rows" }).click();
  await cell(page, 'Wo; "genau"?').waitFor();
  const id = page.url().split("/").at(-1);
  const stored = (await rows(id)).rows.map((r) => r.datapoint);
  assert.deepEqual(stored.map((d) => [d.inputs, d.ground_truth, d.metadata]), [[{ question: 'Wo; "genau"?' }, { answer: "Hier" }, { split: "test" }], [{ question: "Wann?" }, { answer: "Jetzt" }, { split: "train" }]]);
  await check("import");
  await close();
});

test("a file that is not UTF-8 is refused in words, as is one without rows, and one without inputs is warned of", async () => {
  const { page, check, flaws, go, close } = await open();
  await go("datasets/import", ".import");
  const choose = (name, buffer) => page.setInputFiles("input[type=file]", { name, mimeType: "text/csv", buffer });
  const button = page.locator("button[type=submit]");
  await choose("good.csv", Buffer.from("question,answer\nWo?,Straße\n"));
  await page.waitForSelector("text=1 row, CSV between commas");
  assert.equal(await page.locator("text=No column becomes inputs").count(), 0);
  for (const [name, buffer] of [["latin1.csv", Buffer.from("question,answer\nWo?,Straße\n", "latin1")], ["latin1.jsonl", Buffer.from('{"question":"Straße"}\n', "latin1")]]) {
    await choose(name, buffer);
    await page.waitForSelector(`[role=alert]:has-text('${name} is not UTF-8')`);
    assert.ok(await button.isDisabled(), `${name} can be imported`);
    assert.ok(!(await page.locator(".import").innerText()).includes("\uFFFD"), "letters that are lost are shown");
  }
  await flaws("import of what is not UTF-8");
  await choose("empty.csv", Buffer.from(""));
  await page.waitForSelector("[role=alert]:has-text('The file has no rows.')");
  assert.ok(await button.isDisabled());
  await choose("broken.jsonl", Buffer.from('{"question":"Wo?"}\n{"question":"Wo?" "answer":1}\n'));
  await soon.equal(() => page.locator(".wrong-rows tbody td:last-child").innerText(), "is no JSON: character 19 does not belong there");
  await soon.equal(() => page.getByLabel("Name of the dataset").inputValue(), "broken");
  await page.getByLabel("Name of the dataset").fill("typed");
  await choose("notes.csv", Buffer.from("\uFEFFnote,place\nStraße,Köln\n", "utf16le"));
  await page.waitForSelector("text=No column becomes inputs");
  await soon.match(() => page.locator(".data-table tbody tr").first().innerText(), /Straße/);
  await soon.equal(() => page.getByLabel("Name of the dataset").inputValue(), "typed", "a file renames what was named");
  await page.getByLabel("note becomes").selectOption("inputs");
  await page.waitForSelector("text=No column becomes inputs", { state: "detached" });
  assert.equal(await page.locator("[role=alert]").count(), 0);
  await check("import of what is not UTF-8");
  await close();
});

test("by keyboard alone: a cell is edited and taken back, every digit of the others stays", async () => {
  const { page, check, go, close } = await open();
  await go("datasets", ".table .row");
  await page.keyboard.press("f");
  await page.keyboard.type("digits");
  await page.waitForSelector("text=1 dataset of");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.waitForSelector(".table .row.selected");
  await page.keyboard.press("Enter");
  await cell(page, "9007199254740993").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  const editor = page.locator(".data-edit textarea");
  await editor.waitFor();
  await soon.equal(() => editor.inputValue(), "first");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("changed");
  await page.keyboard.press("Enter");
  await page.waitForSelector("text=Changed inputs.q");
  const text = async () => (await fetch(`${base}/v1/datasets/${digits}/rows`, { headers: { Authorization: `Bearer ${process.env.SPANGROVE_API_KEY}` } })).text();
  assert.match(await text(), /"inputs":\{"q":"changed","id":9007199254740993,"list":\[1.50, \{"a": null\}\]\}/);
  await page.keyboard.press("Control+z");
  await page.waitForSelector("text=Undone: Changed inputs.q");
  assert.match(await text(), /"inputs":\{"q": ?"first", ?"id": ?9007199254740993/);
  await page.keyboard.press("x");
  await page.keyboard.press("Delete");
  await page.getByRole("dialog").getByText("Remove 1 datapoint").first().waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector("text=Removed 1 datapoint");
  assert.equal((await rows(digits)).total, 1);
  await page.keyboard.press("u");
  await page.waitForSelector("text=Undone: Removed 1 datapoint");
  assert.equal((await rows(digits)).total, 2);
  await page.keyboard.press("n");
  await editor.waitFor();
  await page.keyboard.type("12345678901234567890");
  await page.getByLabel("Kind of value").selectOption("json");
  await editor.press("Enter");
  await page.waitForSelector("text=Changed inputs.q");
  assert.match(await text(), /"q": ?12345678901234567890/);
  await page.keyboard.press("u");
  await page.waitForSelector("text=Undone: Changed inputs.q");
  await page.keyboard.press("u");
  await page.waitForSelector("text=Undone: Added a datapoint");
  await check("edit");
  await close();
});

test("what somebody else has changed meanwhile is said, and nothing is lost", async () => {
  const { page, check, go, close } = await open();
  await go(`datasets/${digits}`, ".table .row");
  await cell(page, "second").dblclick();
  const editor = page.locator(".data-edit textarea");
  await editor.fill("mine");
  const theirs = (await rows(digits)).rows.find((r) => r.datapoint.inputs.q === "second");
  await send("PUT", `/v1/datapoints/${theirs.datapoint.id}`, { inputs: { q: "theirs" } });
  await editor.press("Enter");
  await page.waitForSelector("text=Somebody else has changed this datapoint meanwhile");
  await page.waitForSelector("text=It says now: theirs");
  await soon.equal(() => editor.inputValue(), "mine");
  await editor.press("Enter");
  await page.waitForSelector("text=Changed inputs.q");
  await send("PUT", `/v1/datapoints/${theirs.datapoint.id}`, { inputs: { q: "last" } });
  await page.keyboard.press("u");
  await page.waitForSelector("text=Not undone, since somebody else has changed this datapoint after you");
  assert.equal((await rows(digits)).rows.find((r) => r.datapoint.id === theirs.datapoint.id).datapoint.inputs.q, "last");
  await check("conflict");
  await close();
});

test("changes of one datapoint are taken back one after the other, and Enter that is pressed twice saves once", async () => {
  const { page, check, go, close } = await open();
  const { result } = await send("POST", "/v1/datasets", { name: "steps back" });
  await send("POST", "/v1/datapoints", { inputs: { q: "one" }, ground_truth: { a: "two" }, linked_datasets: [result.insertedId] });
  const now = async () => { const { datapoint: d } = (await rows(result.insertedId)).rows[0]; return [d.inputs.q, d.ground_truth.a]; };
  await go(`datasets/${result.insertedId}`, ".table .row");
  const editor = page.locator(".data-edit textarea");
  const change = async (from, to) => {
    await cell(page, from).dblclick();
    await editor.fill(to);
    await editor.press("Enter");
    await page.waitForSelector(".data-edit", { state: "detached" });
  };
  await change("one", "three");
  await change("two", "four");
  await change("three", "five");
  assert.deepEqual(await now(), ["five", "four"]);
  for (const [undone, left] of [["inputs.q", ["three", "four"]], ["ground_truth.a", ["three", "two"]], ["inputs.q", ["one", "two"]]]) {
    await page.keyboard.press("u");
    await page.waitForSelector(`text=Undone: Changed ${undone}`);
    assert.deepEqual(await now(), left);
  }
  // The second Enter comes while the first is under way.
  const held = [];
  await page.route("**/v1/datapoints/*", async (r) => { held.push(r.request().method()); await new Promise((done) => setTimeout(done, 300)); await r.continue(); });
  await cell(page, "one").dblclick();
  await editor.fill("six");
  await editor.press("Enter");
  await editor.press("Enter");
  await page.waitForSelector(".data-edit", { state: "detached" });
  await page.waitForTimeout(500);
  assert.deepEqual([held, await page.locator(".foot [role=alert]").count(), await now()], [["PUT"], 0, ["six", "two"]]);
  await check("steps back");
  await close();
});

test("what is typed into a cell is saved when another one is opened", async () => {
  const { page, check, go, close } = await open();
  const { result } = await send("POST", "/v1/datasets", { name: "from cell to cell" });
  await send("POST", "/v1/datapoints", { inputs: { q: "one", r: "two" }, linked_datasets: [result.insertedId] });
  const now = async () => (await rows(result.insertedId)).rows[0].datapoint.inputs;
  await go(`datasets/${result.insertedId}`, ".table .row");
  const editor = page.locator(".data-edit textarea");
  await cell(page, "one").dblclick();
  await editor.fill("first");
  await page.getByRole("button", { name: "Edit inputs.r" }).click();
  await page.waitForSelector("text=Changed inputs.q");
  await soon.equal(() => editor.inputValue(), "two");
  await editor.fill("second");
  await page.getByRole("button", { name: "Edit as JSON" }).first().click();
  await soon.match(() => editor.inputValue(), /"q": "first"[^]*"r": "second"/);
  assert.deepEqual(await now(), { q: "first", r: "second" });
  await editor.fill("{");
  await page.getByRole("button", { name: "Edit as JSON" }).nth(1).click();
  await page.waitForSelector("text=This is no JSON");
  await soon.equal(() => editor.inputValue(), "{");
  await editor.press("Escape");
  assert.deepEqual(await now(), { q: "first", r: "second" });
  await check("from cell to cell");
  await close();
});

test("datapoints are found by words and by splits, and what is shown is exported", async () => {
  const { page, check, flaws, go, close } = await open();
  await go(`datasets/${questions}`, ".table .row");
  await page.waitForSelector("text=230 datapoints, 100 loaded");
  await page.getByRole("button", { name: /^test/ }).click();
  await page.waitForSelector("text=230 datapoints, 58 shown");
  await page.getByLabel("Find in texts").fill("question 2");
  await page.waitForFunction(() => /230 datapoints, \d+ shown/.test(document.querySelector(".foot").innerText) && !document.querySelector(".foot").innerText.includes("58 shown"));
  const shown = Number(/(\d+) shown/.exec(await page.locator(".foot").innerText())[1]);
  assert.equal(shown, (await send("GET", `/v1/datasets/${questions}/rows?limit=500&text=question+2&field=metadata.split&value=test`)).rows.length);
  await flaws("rows with splits");
  await page.reload();
  await page.waitForSelector(`text=230 datapoints, ${shown} shown`);
  await page.getByRole("button", { name: "More" }).last().click();
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Export CSV, what is shown" }).click();
  const file = readFileSync(await (await download).path(), "utf8").trim().split("\r\n");
  assert.equal(file.length, shown + 1);
  assert.equal(file[0], "id,inputs.question,inputs.n,ground_truth.answer,metadata.split,metadata.tags");
  await page.getByLabel("Find in texts").fill("nowhere at all");
  await page.waitForSelector("text=No datapoint matches");
  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForSelector("text=230 datapoints, 100 loaded");
  await page.evaluate(() => document.querySelector(".table").scrollTo(0, 1e6));
  await page.waitForSelector("text=230 datapoints, 200 loaded");
  await check("splits");
  await close();
});

test("versions are compared, and runs lead to the version that they used", async () => {
  const { page, check, flaws, go, close } = await open();
  const all = (await rows(questions)).rows;
  const pilot = (await send("POST", "/v1/runs", { name: "pilot", dataset_id: questions, event_ids: [] })).run_id;
  const session = (datapoint_id) => send("POST", "/v1/events", { event: { event_type: "session", event_name: "pilot", inputs: {}, outputs: {}, metadata: { run_id: pilot, datapoint_id } } });
  for (const r of all.slice(3, 5)) await session(r.datapoint.id);
  await send("PUT", `/v1/datapoints/${all[0].datapoint.id}`, { inputs: { ...all[0].datapoint.inputs, question: "Question 0: where is my parcel?" } });
  await send("PUT", `/v1/datasets/${questions}`, { remove_datapoints: [all[1].datapoint.id, all[2].datapoint.id] });
  await send("POST", "/v1/datapoints", { inputs: { question: "New?" }, linked_datasets: [questions] });
  await go(`datasets/${questions}?view=versions&from=1`, ".edits details");
  assert.deepEqual(await page.locator(".filters .button").allTextContents(), ["1 added", "2 removed", "1 changed"]);
  await page.waitForSelector(".edits .changed ins");
  await soon.equal(() => page.locator(".edits .changed del").innerText(), "order");
  await soon.equal(() => page.locator(".edits .changed ins").innerText(), "parcel");
  await flaws("versions");
  await page.setViewportSize({ width: 800, height: 800 });
  await page.getByRole("button", { name: "1 added" }).click({ trial: true }); // the list of versions does not cover it
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("button", { name: "2 removed" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".edits details").length === 2);
  if (shots) await page.screenshot({ path: `${shots}/datasets-versions.png` });
  await page.keyboard.press("3");
  await page.waitForSelector(`a[href="#/experiments/${pilot}"]`);
  await soon.equal(() => page.locator(".table .row", { hasText: "pilot" }).locator("[role=gridcell]").nth(3).innerText(), "2");
  await flaws("runs");
  await page.getByRole("link", { name: "v1", exact: true }).click();
  await page.waitForSelector("text=Version 1, read only");
  await cell(page, "where is my order?").waitFor();
  assert.equal(await page.getByRole("button", { name: "Add" }).count(), 0);
  await page.goBack();
  await page.waitForSelector(`a[href="#/experiments/${pilot}"]`);
  await check("versions");
  await close();
});

test("all that a list is filtered by becomes datapoints, counted first", async () => {
  const session = uuid();
  await send("POST", "/v1/events/batch", { events: Array.from({ length: 7 }, (_, i) => ({ session_id: session, event_type: "tool", event_name: "lookup for datasets", inputs: { q: `q ${i}` }, outputs: { r: i }, source: "flow", config: {}, duration: 1 })) });
  const { page, check, flaws, go, close } = await open();
  await go(`events?q=${encodeURIComponent('name:"lookup for datasets" type:tool')}`, ".table .row");
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("button", { name: /^Add all 7 to a dataset/ }).click();
  await page.getByRole("heading", { name: "Add all 7 events to a dataset" }).waitFor();
  await page.waitForSelector("dialog pre");
  await flaws("add all");
  await page.getByLabel("Its name").fill("lookups");
  await page.getByLabel("Inputs, as paths with commas").fill("inputs.q");
  await page.waitForFunction(() => document.querySelector("dialog pre").innerText.includes('"ground_truth": {}'));
  await page.getByRole("button", { name: "Add 7 events" }).click();
  await page.getByRole("link", { name: "Open the dataset" }).click();
  await page.waitForSelector("text=7 datapoints");
  await check("add all");
  await close();
});

test("hostile texts stay texts, at all widths and in both themes", async () => {
  for (const [width, scheme] of [[400, "light"], [1280, "dark"], [2560, "light"]]) {
    const { page, check, flaws, go, close } = await open({ width, height: 800, scheme });
    await go("datasets", ".table .row");
    await check(`list at ${width}`);
    if (shots) await page.screenshot({ path: `${shots}/datasets-list-${width}.png` });
    await go(`datasets/${hostileSet}`, ".table .row");
    await soon.equal(() => page.locator("h1").innerText(), hostile[0]);
    await page.waitForFunction(() => document.querySelectorAll(".table .row").length > 3);
    assert.ok(await page.evaluate(() => [...document.querySelectorAll(".table .row")].every((r) => r.getBoundingClientRect().height === document.querySelector(".table .row").getBoundingClientRect().height)), "rows differ in height");
    await page.keyboard.press("j");
    await page.waitForSelector(".data-peek");
    await check(`a datapoint at ${width}`);
    await flaws(`a datapoint at ${width}`);
    if (shots) await page.screenshot({ path: `${shots}/datasets-hostile-${width}-${scheme}.png` });
    await go(`datasets/${questions}`, ".table .row");
    await check(`rows at ${width}`);
    if (shots) await page.screenshot({ path: `${shots}/datasets-rows-${width}-${scheme}.png` });
    await go(`datasets/${questions}?view=versions&from=1`, ".edits");
    await check(`versions at ${width}`);
    if (shots) await page.screenshot({ path: `${shots}/datasets-versions-${width}-${scheme}.png` });
    await go("datasets/import", ".import");
    await page.getByLabel("or its text").fill(`${hostile.slice(0, 5).map((t) => JSON.stringify({ [t]: t, inputs: { q: t } })).join("\n")}\n`);
    await page.waitForSelector(".mapping li");
    await check(`import at ${width}`);
    if (width === 400) await flaws("import at 400");
    if (shots) await page.screenshot({ path: `${shots}/datasets-import-${width}-${scheme}.png` });
    await close();
  }
});

test("a key that may only read sees no buttons that would fail", async () => {
  const { project } = await send("GET", "/v1/me");
  const secret = (await send("POST", `/v1/projects/${project.id}/fine_grained_api_keys`, { name: "reader", permissions: ["read"], expires_at: "2900-01-01T00:00:00Z" })).data.key_value;
  const { page, context, check, go, close } = await open({ signIn: false });
  assert.equal((await context.request.post(`${base}/v1/login`, { data: { key: secret } })).status(), 200);
  await go(`datasets/${questions}`, ".table .row");
  assert.equal(await page.getByRole("button", { name: "Add" }).count(), 0);
  await cell(page, "where is my").dblclick();
  assert.equal(await page.locator(".data-edit").count(), 0);
  await go("datasets", ".table .row");
  assert.equal(await page.getByRole("link", { name: "Import a file" }).count(), 0);
  await check("read only");
  await close();
});

test("what is compared of two versions has all its digits", async () => {
  const put = (id, body) => fetch(`${base}/v1/datapoints/${id}`, { method: "PUT", body, headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" } });
  const id = made(await send("POST", "/v1/datasets/import", { name: "long numbers", format: "jsonl", text: '{"inputs": {"a.b": 9007199254740992, "text": "same"}, "history": [{"n": 9007199254740992}]}' }));
  await put((await rows(id)).rows[0].datapoint.id, '{"inputs": {"a.b": 9007199254740993, "text": "same"}, "history": [{"n": 9007199254740993}]}');
  const { page, check, go, close } = await open();
  await go(`datasets/${id}?view=versions`, ".edits .changed ins");
  assert.deepEqual(await page.locator(".edits .changed h3").allTextContents(), ["inputs.a.b", "history"]);
  await soon.equal(async () => (await page.locator(".edits .changed ins").allTextContents()).join(), "9007199254740993,9007199254740993");
  assert.equal((await page.locator(".edits .changed del").allTextContents()).join(), "9007199254740992,9007199254740992");
  await check("digits of versions");
  await close();
});

await run();
