// One trace in the session page of Spangrove and in the trace page of Phoenix, in the same Chromium: prints a table for docs/ui.md.
//
//	node beside.mjs [spans] [runs]
//
// Both servers run already, and both are sent the same bytes of OTLP. The environment:
//
//	SPANGROVE_URL, SPANGROVE_API_KEY   the server of Spangrove
//	PHOENIX_URL                        the server of Phoenix (pip install arize-phoenix; phoenix serve)
//	SPANGROVE_WEB_PLAYWRIGHT           index.mjs of playwright-core
//	SPANGROVE_WEB_CHROMIUM             the browser, /usr/bin/chromium unless told otherwise
import { randomBytes } from "node:crypto";
import { cpus, loadavg } from "node:os";
import { frameWork, median } from "./measure.mjs";

const { chromium } = await import(process.env.SPANGROVE_WEB_PLAYWRIGHT);
const spans = Number(process.argv[2] ?? 10_000);
const runs = Number(process.argv[3] ?? 5);
const spangrove = process.env.SPANGROVE_URL;
const phoenix = process.env.PHOENIX_URL;
const key = process.env.SPANGROVE_API_KEY;

// ---- The trace, in the encoding of Protocol Buffers ----

function varint(n) {
  const bytes = [];
  for (let v = BigInt(n); ; v >>= 7n) {
    if (v < 128n) return Buffer.from([...bytes, Number(v)]);
    bytes.push(Number(v & 127n) | 128);
  }
}
const bytesField = (tag, value) => Buffer.concat([varint(tag * 8 + 2), varint(value.length), value]);
const textField = (tag, value) => bytesField(tag, Buffer.from(value));
const numberField = (tag, value) => Buffer.concat([varint(tag * 8), varint(value)]);
function timeField(tag, ms) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(Math.round(ms * 1000)) * 1000n);
  return Buffer.concat([varint(tag * 8 + 1), bytes]);
}
const attribute = (tag, name, value) => bytesField(tag, Buffer.concat([textField(1, name), bytesField(2, typeof value === "number" ? numberField(3, value) : textField(1, value))]));

const name = `agent of ${spans} spans, ${randomBytes(4).toString("hex")}`;

/** A trace of n spans: turns of 25 below one root, in which model calls and tools follow each other, some of them failed. */
function trace(n) {
  const traceId = randomBytes(16);
  const ids = Array.from({ length: n }, () => randomBytes(8));
  const start = Date.now() - 600_000;
  const all = ids.map((id, k) => {
    const turn = k - 1 - ((k - 1) % 25) + 1; // of those after the root
    const kind = k === 0 || k === turn ? "CHAIN" : ["CHAIN", "LLM", "TOOL", "TOOL", "LLM"][(k - turn) % 5];
    const parent = k === 0 ? null : k === turn ? ids[0] : (k - turn) % 5 === 2 ? ids[k - 1] : ids[turn];
    const duration = k === 0 ? n * 40 : k === turn ? 980 : [5, 20, 35, 80, 400][k % 5];
    const label = k === 0 ? name : k === turn ? `turn ${(k - 1) / 25}` : kind === "LLM" ? "chat" : ["search", "read", "test"][k % 3];
    const values = { "openinference.span.kind": kind, "input.value": `step ${k}: why does the build fail?`, "output.value": kind === "LLM" ? `step ${k} fails since nil is read.` : `ok ${k}` };
    if (kind === "LLM") Object.assign(values, { "llm.model_name": "gpt-4o", "llm.token_count.prompt": 900, "llm.token_count.completion": 100, "llm.token_count.total": 1000 });
    return bytesField(2, Buffer.concat([
      bytesField(1, traceId), bytesField(2, id), ...(parent ? [bytesField(4, parent)] : []), textField(5, label), numberField(6, 1), timeField(7, start + k * 40), timeField(8, start + k * 40 + duration),
      ...Object.entries(values).map(([name, value]) => attribute(9, name, value)),
      bytesField(15, k % 211 === 7 ? Buffer.concat([textField(2, "TimeoutError: no answer within 30 s"), numberField(3, 2)]) : numberField(3, 1)),
    ]));
  });
  const requests = [];
  for (let i = 0; i < n; i += 1000) {
    const scope = bytesField(2, Buffer.concat([bytesField(1, textField(1, "beside")), ...all.slice(i, i + 1000)]));
    requests.push(bytesField(1, Buffer.concat([bytesField(1, attribute(1, "service.name", "beside")), scope])));
  }
  return { traceId: traceId.toString("hex"), rootId: ids[0].toString("hex"), requests };
}

async function post(url, body, headers) {
  for (let i = 0; ; i++) {
    const response = await fetch(url, { method: "POST", body, headers });
    if (response.ok) return;
    if (i === 60 || ![429, 503].includes(response.status)) throw new Error(`${url}: ${response.status} ${(await response.text()).slice(0, 300)}`);
    await new Promise((f) => setTimeout(f, 500)); // its queue is full
  }
}

async function poll(what, ask) {
  for (let i = 0; i < 600; i++) {
    const answer = await ask();
    if (answer) return answer;
    await new Promise((f) => setTimeout(f, 500));
  }
  throw new Error(`${what} was not there within five minutes`);
}

async function json(url, options) {
  const response = await fetch(url, options);
  return response.ok ? response.json() : null;
}

const sent = trace(spans);
for (const body of sent.requests) {
  const headers = { "Content-Type": "application/x-protobuf" };
  await post(`${spangrove}/v1/traces`, body, { ...headers, Authorization: `Bearer ${key}` });
  await post(`${phoenix}/v1/traces`, body, headers);
}
const session = await poll("the session", async () => {
  const found = await json(`${spangrove}/v1/sessions/search`, {
    method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ sort: "start", limit: 50, total: "none" }),
  });
  return found?.sessions?.find((s) => s.session_name === name && s.num_events >= spans)?.session_id;
});
const ask = (query) => json(`${phoenix}/graphql`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query }) });
const project = await poll("the trace", async () => {
  const found = await ask(`{ getTraceByOtelId(traceId: "${sent.traceId}") { numSpans project { id } } }`);
  return found?.data?.getTraceByOtelId?.numSpans >= spans ? found.data.getTraceByOtelId.project.id : null;
});

// ---- Both pages, in turns ----

const programs = {
  Spangrove: {
    url: `${spangrove}/#/session/${session}`, row: ".tree-row", box: ".tree", picked: "[?&]e=", more: null,
    signIn: (context) => context.request.post(`${spangrove}/v1/login`, { data: { key } }),
  },
  Phoenix: {
    url: `${phoenix}/projects/${project}/traces/${sent.traceId}`, row: "[data-testid=trace-tree] [role=button]", box: "[data-testid=trace-tree]", picked: "selectedSpanNodeId=",
    more: "button:has-text('Load More')", signIn: async () => {},
  },
};

const browser = await chromium.launch({ executablePath: process.env.SPANGROVE_WEB_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const patient = { timeout: 300_000 };

/** Opens the page of a program with an empty cache, and returns its figures by name. */
async function measure(program) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 },
    extraHTTPHeaders: { "X-Forwarded-For": "192.0.2.1" } }); // as from another machine, for which answers are compressed
  await program.signIn(context);
  const page = await context.newPage();
  const client = await context.newCDPSession(page);
  await client.send("Network.enable");
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const kinds = new Map();
  const bytes = { data: 0, all: 0 };
  client.on("Network.responseReceived", (e) => kinds.set(e.requestId, e.type));
  client.on("Network.loadingFinished", (e) => {
    bytes.all += e.encodedDataLength;
    if (["XHR", "Fetch"].includes(kinds.get(e.requestId))) bytes.data += e.encodedDataLength;
  });
  const spent = async () => (await client.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
  const there = (row) => page.waitForFunction((row) => document.querySelectorAll(row).length > 4, row, patient);
  const figures = {};

  const began = Date.now();
  await page.goto(program.url, { waitUntil: "commit" });
  await there(program.row);
  figures["first rows, ms"] = Date.now() - began;
  figures["the page's main thread until then, ms of the processor"] = await spent();
  await page.locator(program.row).nth(4).click(patient);
  await page.waitForFunction((picked) => new RegExp(picked).test(location.href), program.picked, patient);
  figures["an event is selected, ms"] = Date.now() - began;
  await page.waitForTimeout(3000); // what comes after: previews, counts
  figures["bytes, KB"] = bytes.all / 1000;
  figures["of them data, KB"] = bytes.data / 1000;
  await page.locator(program.row).first().waitFor(patient);
  figures["spans in the tree"] = await page.evaluate(([row, box]) => {
    const aria = Number(document.querySelector(box).getAttribute("aria-rowcount")); // of a tree that keeps the rows on screen only
    return aria || document.querySelectorAll(row).length;
  }, [program.row, program.box]);
  figures["DOM nodes"] = (await client.send("Memory.getDOMCounters")).nodes;
  const work = await frameWork(page, client, program.box);
  figures["a frame of scrolling, mean, ms of the processor"] = work.mean;
  figures["a frame of scrolling, p95, ms of the processor"] = work.p95;
  if (program.more && (await page.locator(program.more).count()) > 0) {
    const before = await page.locator(program.row).count();
    const pressed = Date.now();
    await page.click(program.more, patient);
    await page.waitForFunction(([row, n]) => document.querySelectorAll(row).length > n, [program.row, before], patient);
    figures[`the next ${(await page.locator(program.row).count()) - before} spans at a click, ms`] = Date.now() - pressed;
  }
  await context.close();
  return figures;
}

const results = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
for (let run = 0; run < runs; run++) {
  for (const [name, program] of Object.entries(programs)) {
    results[name].push(await measure(program));
    console.error(`run ${run + 1}, ${name}: ${JSON.stringify(results[name].at(-1))}`);
  }
}

const asText = (n) => (n >= 100 ? Math.round(n).toLocaleString("en-US") : n.toFixed(1));
const cell = (list, figure) => {
  const values = list.map((f) => f[figure]).filter((v) => v !== undefined);
  if (values.length === 0) return "–";
  const [least, most] = [Math.min(...values), Math.max(...values)].map(asText);
  return least === most ? asText(median(values)) : `${asText(median(values))} (${least}–${most})`;
};
const rows = [...new Set(Object.values(results).flat().flatMap((f) => Object.keys(f)))];
console.log(`${spans} spans, ${runs} runs in turns, median (least–most); Chromium ${browser.version()}, ${cpus().length} cores of ${cpus()[0].model}, load ${loadavg()[0].toFixed(1)} at the end\n`);
console.log(`| | ${Object.keys(results).join(" | ")} |\n|---|${"---:|".repeat(Object.keys(results).length)}`);
for (const row of rows) console.log(`| ${row} | ${Object.values(results).map((list) => cell(list, row)).join(" | ")} |`);
await browser.close();
