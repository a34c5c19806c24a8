// A person's path through all of it, on a new server: a file becomes a dataset, the command line evaluates two versions of a program over it, the
// comparison is read, doubtful rows go to two annotators, a judge is written and scores new events, and a chart and an alert watch it. Each case
// goes on where the one before has ended. What the pages say is held against what the answers of the program are known to be.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac, timingSafeEqual } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { base, key, open, run, send, shots, soon, test, uuid } from "../page.mjs";

const dir = mkdtempSync(join(tmpdir(), "spangrove-path-"));
const shot = async (page, name) => { if (shots) await page.screenshot({ path: `${shots}/path-${name}.png` }); };

// ---- What is known ----

const size = 24;
const questions = Array.from({ length: size }, (_, i) => `How many days does a return of order ${i} take?`);
const expected = (i) => `${3 + (i % 5)} days`;

/** The two versions of the program, and which questions each answers rightly. */
const versions = {
  careful: (i) => i % 8 !== 3, // 21 of 24
  hasty: (i) => i % 2 === 1, // 12 of 24, and the three among them that careful gets wrong
};

/** The interval of Wilson for k of n, at 95 %. */
function wilson(k, n) {
  const z = 1.959963984540054;
  const [p, c] = [k / n, z * z / n];
  const half = z * Math.sqrt(p * (1 - p) / n + c / (4 * n));
  return [(p + c / 2 - half) / (1 + c), (p + c / 2 + half) / (1 + c)];
}

/** Newcombe's interval (1998, method 10) for the difference of two rates over the same rows: [low, difference, high]. */
function newcombe(before, after) {
  const n = before.length;
  const count = (b, a) => before.filter((v, i) => v === b && after[i] === a).length;
  const [both, loss, gain, neither] = [count(true, true), count(true, false), count(false, true), count(false, false)];
  const [p, q] = [(both + gain) / n, (both + loss) / n];
  const [[l1, u1], [l2, u2]] = [wilson(both + gain, n), wilson(both + loss, n)];
  const product = (both + gain) * (both + loss) * (neither + gain) * (neither + loss);
  const top = both * neither - gain * loss;
  const phi = product === 0 ? 0 : (top > 0 ? Math.max(0, top - n / 2) : top) / Math.sqrt(product);
  const away = (x, y) => Math.sqrt(Math.max(0, x * x - 2 * phi * x * y + y * y));
  return [p - q - away(p - l1, u2 - q), p - q, p - q + away(u1 - p, q - l2)];
}

/** Student's interval for the mean of the differences of 24 pairs: [low, mean, high]. */
function student(before, after) {
  const t = 2.0686576104190406; // 97.5 % of 23 degrees of freedom
  const d = after.map((v, i) => v - before[i]);
  const mean = d.reduce((a, b) => a + b, 0) / size;
  const half = t * Math.sqrt(d.reduce((a, b) => a + (b - mean) ** 2, 0) / (size - 1) / size);
  return [mean - half, mean, mean + half];
}

/**
 * Holds "0.38, between 0.1 and 0.7" against an interval above 0: its ends are rounded outwards, by less than one of their last digit, which is the
 * second of the interval's width, before the point too, or the one that keeps the lower end from being 0.
 */
function holds(text, [low, middle, high]) {
  const written = /^(\S+?)(?: ms| pp)?(?: more| less)?, between (\S+?)(?: ms| pp)? and (\S+?)(?: ms| pp)?$/.exec(text);
  assert.ok(written, text);
  assert.ok(low > 0 && high > low, `${text}, where it is between ${low} and ${high}`);
  const [m, l, h] = written.slice(1).map(Number);
  let digits = 1 - Math.floor(Math.log10(high - low));
  while (Math.floor(low * 10 ** digits) <= 0) digits++;
  const last = 10 ** -digits;
  const hair = last * 1e-6;
  assert.ok(Math.abs(m - middle) <= last / 2 + hair && l <= low + hair && l > low - last - hair && h >= high - hair && h < high + last + hair, `${text}, where it is ${middle} between ${low} and ${high}`);
}

// ---- The path ----

let dataset;
const runs = {};

test("a CSV file becomes a dataset in the browser", async () => {
  const csv = `question,answer\n${questions.map((q, i) => `"${q}",${expected(i)}`).join("\n")}\n`;
  const { page, go, check, close } = await open();
  await go("datasets", ".empty");
  await page.keyboard.press("i");
  await page.waitForSelector(".import");
  await page.setInputFiles("input[type=file]", { name: "returns.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
  await page.waitForSelector(`text=${size} rows`);
  await page.getByLabel("question becomes").selectOption("inputs");
  await page.getByLabel("answer becomes").selectOption("ground_truth");
  await page.getByRole("button", { name: `Import ${size} rows` }).click();
  await page.locator(".table .row .data-cell", { hasText: questions[0] }).first().waitFor();
  await page.waitForSelector(`.foot:has-text('${size} datapoints')`);
  dataset = page.url().split("/").at(-1);
  await check("the dataset");
  await close();
});

test("the command line evaluates two versions of a program over it", async () => {
  const program = join(dir, "answer.mjs");
  writeFileSync(program, `import { readFileSync } from "node:fs";
const { question } = JSON.parse(readFileSync(0, "utf8"));
const i = Number(/order (\\d+)/.exec(question)[1]);
const right = { careful: ${versions.careful}, hasty: ${versions.hasty} }[process.argv[2]](i);
console.log(JSON.stringify({ answer: right ? (3 + (i % 5)) + " days" : "It depends." }));
`);
  for (const version of Object.keys(versions)) {
    const argv = ["eval", "--dataset", dataset, "--command", `"${process.execPath}" "${program}" ${version}`, "--metric", "exact_match", "--name", version, "--min", "exact_match=0.8"];
    const env = { ...process.env, SPANGROVE_SERVER: base, SPANGROVE_API_KEY: key };
    const { code = 0, stdout, stderr } = await promisify(execFile)(process.env.SPANGROVE_E2E_BINARY, argv, { env, cwd: dir }).catch((e) => e);
    const rate = questions.filter((_, i) => versions[version](i)).length / size;
    assert.equal(code, rate >= 0.8 ? 0 : 1, stdout + stderr);
    assert.ok(stderr.includes(`: ${size} datapoints in `), stderr);
    runs[version] = /\(([0-9a-f-]{36})\)/.exec(stderr)[1];
  }
});

test("the comparison says what is true, and no more", async () => {
  const [before, after] = Object.values(versions).map((right) => questions.map((_, i) => right(i)));
  const count = (b, a) => before.filter((v, i) => v === b && after[i] === a).length;
  const [improved, degraded, same] = [count(false, true), count(true, false), count(true, true) + count(false, false)];
  // The durations are those of real processes, so they are read, not known.
  const durations = [];
  for (const id of Object.values(runs)) {
    const { events } = await send("POST", "/v1/events/export", { filters: [{ field: "metadata.run_id", operator: "is", value: id }, { field: "event_type", operator: "is", value: "session" }], limit: 1000 });
    assert.equal(events.length, size);
    durations.push(new Map(events.map((e) => [e.metadata.datapoint_id, e.duration])));
  }
  const latency = student([...durations[0].values()], [...durations[0].keys()].map((point) => durations[1].get(point)));

  const p = await open();
  await p.go("experiments", ".table .row");
  await p.page.waitForFunction(() => document.querySelectorAll(".table .row").length === 2);
  await p.page.locator("h1").click();
  for (const k of ["j", "x", "j", "x", "Enter"]) await p.page.keyboard.press(k);
  await p.page.waitForSelector(".compared");
  await p.page.selectOption("[aria-label=Baseline]", runs.careful);
  await p.page.waitForSelector(".run-sentences p:has-text('hasty')");
  const [told, ...rest] = (await p.page.locator(".run-sentences p").evaluate((e) => { e.querySelector("button").remove(); return e.textContent.trim(); })).replace(/^hasty: /, "").split("; ");
  assert.match(told, /^worse on exact_match by /);
  const [low, middle, high] = newcombe(before, after);
  holds(told.replace("worse on exact_match by ", ""), [-high, -middle, -low].map((v) => v * 100));
  assert.equal(rest[0], `${improved} of ${size} became better`);
  assert.equal(rest.length, 2, rest.join("; ")); // a program that asked no model has no cost and no tokens
  const [shortest, mean, longest] = latency;
  if (shortest <= 0 && longest >= 0) assert.equal(rest[1], "latency: cannot tell");
  else {
    assert.equal(/(more|less)/.exec(rest[1])?.[1], mean > 0 ? "more" : "less", rest[1]);
    holds(rest[1].replace("latency: ", ""), mean > 0 ? latency : [-longest, -mean, -shortest]);
  }

  const card = p.page.locator(".run-card[aria-label=exact_match]");
  await soon.match(() => card.innerText(), /baseline 87\.5 % over 24 values/);
  await soon.equal(() => card.locator(".whisker").getAttribute("class"), "whisker bad");
  await soon.equal(() => card.locator(".delta.bad").first().innerText(), "−37.5 pp\nworse");
  assert.deepEqual(await card.locator("button").evaluateAll((all) => all.map((b) => b.getAttribute("aria-label"))), [`${improved} improved`, `${degraded} degraded`, `${same} same`]);
  const verdict = await p.page.locator(".run-card[aria-label=duration] .whisker").getAttribute("aria-label");
  assert.match(verdict, shortest <= 0 && longest >= 0 ? /^cannot tell: / : mean > 0 ? /^worse: / : /^better: /);
  await shot(p.page, "comparison");
  await p.flaws("the comparison");

  // The counters of rows, and what each leads to.
  await p.page.selectOption("[aria-label=Metric]", "exact_match");
  const counted = (kind) => p.page.locator(".row-counters button", { hasText: kind }).locator("b").innerText();
  assert.deepEqual([await counted("All"), await counted("Improved"), await counted("Degraded"), await counted("Same"), await counted("With errors")].map(Number), [size, improved, degraded, same, 0]);
  await p.page.locator(".row-counters button", { hasText: "Degraded" }).click();
  await p.page.waitForSelector(`.foot:has-text('${degraded} rows of ${size}')`);
  const shown = await p.page.locator(".compared .said:not(.faint)").allInnerTexts();
  for (const text of shown.filter((t) => t.startsWith("How many"))) assert.ok(before[Number(/order (\d+)/.exec(text)[1])] && !after[Number(/order (\d+)/.exec(text)[1])], text);

  // Three doubtful ones go into a queue.
  await p.page.locator("h1").click();
  for (const k of ["j", "x", "j", "x", "j", "x"]) await p.page.keyboard.press(k);
  await p.page.waitForSelector(".foot b:has-text('3 marked')");
  await p.page.keyboard.press("a");
  await p.page.locator("dialog select").first().selectOption({ label: "Sessions of hasty" });
  await p.page.fill("dialog input", "doubtful returns");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("dialog [role=status]:has-text('3 sessions added')");
  await p.page.click("dialog a:has-text('Open it')");
  await p.page.waitForSelector("h1:has-text('doubtful returns')");
  await p.check("the comparison");
  await p.close();
});

let queue;

/** Opens a browser of a person who says a name. */
async function annotator(name) {
  const p = await open();
  await p.go(`queues/${queue}`, ".ask");
  await p.page.fill(".ask input", name);
  await p.page.keyboard.press("Enter");
  return p;
}

const press = async (page, ...keys) => {
  for (const k of keys) {
    await page.keyboard.press(k);
    await page.waitForFunction(() => !document.querySelector(".work .progress"));
  }
};

test("two people annotate the doubtful rows, and one settles a difference", async () => {
  queue = (await send("GET", "/v1/queues")).queues.find((q) => q.name === "doubtful returns").id;
  const ann = await annotator("Ann");
  await ann.page.click("a:text-is('Edit the queue')"); // there is no score yet
  await ann.page.getByLabel("Its name").fill("acceptable");
  await ann.page.getByLabel("The question").fill("Could this be said to a customer?");
  await ann.page.getByRole("button", { name: "Make this score" }).click();
  await ann.page.waitForFunction(() => document.querySelector("dialog .picks input")?.checked);
  await ann.page.getByRole("button", { name: "Save" }).click();
  await ann.page.waitForSelector("dialog", { state: "detached" });
  await ann.page.click("a:has-text('doubtful returns')");
  await ann.page.waitForSelector(".scoring");
  await soon.match(() => ann.page.locator(".asked").innerText(), /How many days[\s\S]*It depends\./);
  await shot(ann.page, "annotating");
  await press(ann.page, "2", "Enter");
  await ann.page.waitForSelector(".where b:has-text('2 of 3')");
  await press(ann.page, "2", "Enter");
  await ann.page.waitForSelector(".where b:has-text('3 of 3')");
  await press(ann.page, "1", "Enter");
  await ann.page.waitForSelector(".empty:has-text('You have annotated 3 items')");

  const bob = await annotator("Bob");
  await bob.page.waitForSelector(".scoring");
  for (const next of ["2 of 3", "3 of 3"]) {
    await press(bob.page, "2", "Enter");
    await bob.page.waitForSelector(`.where b:has-text('${next}')`);
  }
  await press(bob.page, "2", "Enter");
  await bob.page.waitForSelector(".empty:has-text('You have annotated 3 items')");
  await bob.page.click(".tabs a:has-text('People')");
  await bob.page.waitForSelector(".people table");
  await soon.match(() => bob.page.locator(".people").innerText(), /acceptable\s+Ann and Bob\s+3\s+67 %/);
  await bob.page.click(".tabs a:has-text('Differences')");
  await bob.page.waitForSelector(".differences li");
  await soon.match(() => bob.page.locator(".differences li").innerText(), /Ann\s+yes\s+Bob\s+no/i);
  await bob.page.locator(".differences li a").click();
  await bob.page.waitForSelector(".panel .scoring");
  const settled = /differences\/([0-9a-f-]{36})/.exec(bob.page.url())[1];
  await press(bob.page, "2", "Enter");
  await bob.page.waitForSelector(".differences .empty");
  assert.equal((await send("GET", `/v1/events/${settled}`)).event.metrics.acceptable, false);
  await ann.check("Ann");
  await bob.check("Bob");
  await ann.close();
  await bob.close();
});

/** Stores what a program has said just now, and returns the ids. */
async function traffic(...answers) {
  const session = uuid();
  const events = answers.map((content, i) => ({ event_id: uuid(), session_id: session, event_type: "model", event_name: "chat", source: "shop", start_time: Date.now() - 1000 + i, duration: 300, inputs: { question: "Where is my order?" }, outputs: { content } }));
  await send("POST", "/v1/events/batch", { events });
  return events.map((e) => e.event_id);
}

let judge;

test("a judge is written, tried, deployed, and scores what comes", async () => {
  const early = await traffic("How should I know?", "It is in the mail.");
  const p = await open();
  await p.go("settings/providers", ".settings-head");
  await p.page.click("button:has-text('New provider')");
  await p.page.getByLabel("Name", { exact: true }).fill("local");
  await p.page.fill("dialog input[type=url]", process.env.SPANGROVE_FAKE_MODELS);
  await p.page.getByLabel("Model that is asked").fill("gpt-4o-mini");
  await p.page.getByLabel("Key", { exact: true }).fill("sk-local");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("tr:has-text('local')");

  await p.go("metrics/new?type=LLM", ".metric-form");
  await p.page.getByLabel("Name", { exact: true }).fill("impolite");
  await p.page.fill(".metric-code", "Is this answer impolite?\n\nQuestion: {{ inputs.question }}\nAnswer: {{ outputs.content }}\n");
  await p.page.fill("#filter-bar", "source:shop");
  await p.page.keyboard.press("Enter");
  await p.page.getByLabel("Provider").fill("local");
  await p.page.getByLabel("Passes").selectOption("false");
  await p.page.getByLabel("Score new events as they come").check();
  await p.page.getByLabel("Sample, in %").fill("100");
  await p.page.click("text=Ask the model");
  await p.page.waitForSelector("text=2 of 2 scored · 0 pass"); // the model finds everything to be true
  await p.page.locator(".metric-events li", { hasText: "chat" }).first().locator("summary").click();
  await soon.match(() => p.page.textContent(".metric-events"), /Question: <data-\w+>Where is my order\?</);
  assert.equal((await send("GET", `/v1/events/${early[0]}`)).event.metrics?.impolite, undefined, "a test stores nothing");
  await shot(p.page, "judge");
  await p.page.click("button:text-is('Create')");
  await p.page.waitForSelector("text=As deployed, v1.");
  judge = /metrics\/([0-9a-f]{24})/.exec(p.page.url())[1];

  const later = await traffic("What do you want?", "It comes tomorrow.", "Again?");
  for (const id of later) for (let i = 0; (await send("GET", `/v1/events/${id}`)).event.metrics?.impolite !== true; i++) { assert.ok(i < 300, "no score"); await new Promise((done) => setTimeout(done, 100)); }
  assert.equal((await send("GET", `/v1/events/${early[0]}`)).event.metrics?.impolite, undefined, "past events are left alone");
  await p.page.keyboard.press("4");
  await p.page.waitForFunction(() => document.querySelectorAll("[aria-label=Evaluations] li").length === 3);
  await soon.match(() => p.page.textContent(".metric-figures"), /Scored3/);
  await p.check("the judge");
  await p.close();
});

test("a chart and an alert watch the scores, and a signed notice comes", async () => {
  const notices = [];
  const receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => { body += part; });
    request.on("end", () => { notices.push({ headers: request.headers, body }); response.end(); });
  });
  await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
  receiver.unref();

  const p = await open();
  await p.go("dashboards", ".boards a");
  await p.page.getByLabel("Name of a new dashboard").fill("Manners");
  await p.page.keyboard.press("Enter");
  await p.page.getByRole("link", { name: "Build a chart" }).click();
  await p.page.waitForSelector(".builder .uplot");
  await p.page.getByLabel("Name", { exact: true }).fill("Impolite answers");
  await p.page.getByLabel("Summed up as").selectOption("average");
  await p.page.getByLabel("Of", { exact: true }).fill("metrics.impolite");
  await p.page.getByLabel("Of", { exact: true }).press("Tab");
  await p.page.waitForFunction(() => /100\s?%/.test(document.querySelector(".builder .legend")?.textContent ?? ""));
  await p.page.getByRole("button", { name: "Save to the dashboard" }).click();
  await p.page.waitForSelector(".board .tile .uplot canvas");
  await p.page.waitForFunction(() => /100\s?%/.test(document.querySelector(".board .tile")?.textContent ?? ""));
  await shot(p.page, "dashboard");
  const tile = p.page.locator(".tile", { hasText: "Impolite answers" });
  await tile.getByRole("button", { name: /^Menu/ }).click();
  await tile.getByRole("link", { name: /^Alert on this/ }).click();
  await p.page.waitForSelector("dialog form");
  await soon.match(() => p.page.locator("dialog label:has-text('What is measured') select option:checked").innerText(), /chart: Impolite answers/);
  await p.page.fill("dialog input[placeholder='slow answers']", "impolite");
  await p.page.fill("dialog label:has-text('the value') input", "0.2");
  await p.page.click("dialog button:has-text('Add a channel')");
  await p.page.selectOption("dialog select[aria-label=Channel]", "webhook");
  await p.page.fill("dialog input[type=url]", `http://127.0.0.1:${receiver.address().port}/hook`);
  const secret = await p.page.inputValue("dialog input[spellcheck=false]");
  await p.page.click("dialog button:text-is('Save')");
  await p.page.waitForSelector(".alert-detail h2:text-is('impolite')");
  // What it measures ends at a full minute, so that these scores are measured after the next one.
  for (let i = 0; notices.length === 0; i++) { assert.ok(i < 600, "no notice"); await new Promise((done) => setTimeout(done, 200)); }

  const [{ headers, body }] = notices;
  const signature = createHmac("sha256", Buffer.from(secret.replace("whsec_", ""), "base64")).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`).digest();
  const [scheme, given] = headers["webhook-signature"].split(",");
  assert.equal(scheme, "v1");
  assert.ok(timingSafeEqual(Buffer.from(given, "base64"), signature), "the signature is not that of the secret");
  const notice = JSON.parse(body);
  assert.deepEqual([notice.type, notice.alert.name, notice.reading.value, notice.reading.events], ["alert.firing", "impolite", 1, 3]);
  await p.page.click("button[aria-label='Load again']");
  await p.page.waitForSelector("td .alert-state.bad:text('Firing')");
  await p.page.waitForSelector(".alert-detail:has-text('127.0.0.1')");
  await shot(p.page, "alert");
  await p.flaws("the alert");
  await p.check("the alert");
  assert.equal(notices.length, 1, "one incident, one notice");
  await p.close();
  receiver.close();
});

await run();
rmSync(dir, { recursive: true });
