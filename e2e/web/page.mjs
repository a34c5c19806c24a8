// What the tests of the pages share: a server to send to, a browser whose pages are watched, hostile texts, and the list of cases. A file
// of cases calls test for each, and run at its end: it prints a line for each case and for each figure, and ends with status 1 if a case has failed.
// One case is run by naming it: node pages.mjs "a case".
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";

const { chromium } = await import(process.env.SPANGROVE_WEB_PLAYWRIGHT);
const axe = readFileSync(process.env.SPANGROVE_WEB_AXE, "utf8");
export const base = process.env.SPANGROVE_URL;
export const key = process.env.SPANGROVE_API_KEY;
export const shots = process.env.SPANGROVE_WEB_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

/** Sends a request to the API, and returns what it answers. */
export async function send(method, path, body) {
  const response = await fetch(base + path, { method, headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
  return text === "" ? null : JSON.parse(text);
}

export const uuid = () => crypto.randomUUID();

/** As assert.match and assert.equal, for what a page shows only a moment later: asks read until the value is right, for 20 seconds at most. */
export const soon = {
  match: (read, expected, message) => until(read, (value) => assert.match(value, expected, message)),
  equal: (read, expected, message) => until(read, (value) => assert.equal(value, expected, message)),
};
async function until(read, check) {
  for (const end = Date.now() + 20_000; ;) {
    const value = await read();
    try {
      return check(value);
    } catch (e) {
      if (Date.now() > end) throw e;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Texts that must stay texts, wherever they stand. */
export const hostile = [
  "<script>window.__pwned=1</script>", "<img src=x onerror=window.__pwned=1>", "[click](javascript:window.__pwned=1)", "![x](https://evil.invalid/x.png)", "<svg onload=window.__pwned=1>",
  "{{constructor.constructor('window.__pwned=1')()}}", "<a href='data:text/html,<script>window.__pwned=1</script>'>x</a>", "[".repeat(5000), ">".repeat(2000) + " deep", "\u202Eright to left\u202C",
  "zero\u200Bwidth", "a" + "\u0301".repeat(3000), "👩‍👩‍👧‍👦 family", "\uFFFD", "x".repeat(100_000), "=HYPERLINK(\"https://evil.invalid\")", "line one\nline two", "| a | b |\n|---|---|\n| <b>1</b> | 2 |",
];

// Answers are compressed for those on other machines, whose bytes are counted here.
const asFromElsewhere = { "X-Forwarded-For": "192.0.2.1" };
// Of changes of the address as many are refused as people's browsers refuse.
const browser = await chromium.launch({ executablePath: process.env.SPANGROVE_WEB_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"], ignoreDefaultArgs: ["--disable-ipc-flooding-protection"] });

/** Opens a page that is watched: nothing of what must not happen may have happened when check is called. */
export async function open({ width = 1280, height = 800, scheme = "light", signIn = true, reduced = false, zone = "UTC" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: reduced ? "reduce" : "no-preference", timezoneId: zone, acceptDownloads: true, permissions: ["clipboard-read", "clipboard-write"],
    extraHTTPHeaders: asFromElsewhere });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (e) => problems.push(`error: ${e.message}`));
  page.on("console", (m) => { if (m.type() === "error" && !/the server responded with a status of (400|401|404|409)/.test(m.text())) problems.push(`console: ${m.text()}`); });
  page.on("dialog", (d) => { problems.push(`dialog: ${d.message()}`); void d.dismiss(); });
  page.on("request", (r) => { if (!r.url().startsWith(base) && !/^(data|blob):/.test(r.url())) problems.push(`request to ${r.url()}`); });
  await page.addInitScript(() => document.addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`)));
  if (signIn) {
    const response = await context.request.post(`${base}/v1/login`, { data: { key } });
    assert.equal(response.status(), 200);
  }
  const check = async (what) => {
    const found = await page.evaluate(() => ({ pwned: window.__pwned, over: document.documentElement.scrollWidth > innerWidth + 1, lost: document.activeElement === null }));
    assert.equal(found.pwned, undefined, `${what}: a script ran`);
    assert.ok(!found.over, `${what}: the document scrolls sideways`);
    assert.deepEqual(problems, [], what);
  };
  const flaws = async (what) => {
    await page.evaluate(axe);
    const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"], rules: { "color-contrast": { enabled: true }, "label-content-name-mismatch": { enabled: true } } }));
    const serious = result.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
    assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`), [], what);
  };
  const go = async (route, wait) => {
    await page.goto(`${base}/#/${route}`);
    if (wait) await page.waitForSelector(wait, { timeout: 20_000 });
  };
  return { page, context, check, flaws, go, close: () => context.close() };
}

const cases = [];
export const test = (name, fn) => cases.push({ name, fn });
export const figure = (name, value, unit, most) => {
  console.log(`figure ${name}: ${Math.round(value * 10) / 10} ${unit}${most === undefined ? "" : ` (at most ${most})`}`);
  if (most !== undefined) assert.ok(value <= most, `${name}: ${value} ${unit}, at most ${most}`);
};

/** What work of a known size takes here, in milliseconds: parsing, sorting and joining, as the pages do. */
function workload() {
  const began = performance.now();
  for (let i = 0; i < 12; i++) {
    const rows = JSON.parse(JSON.stringify(Array.from({ length: 20_000 }, (_, k) => ({ id: `row ${k * 7919 % 20_000}`, n: k, list: [k, k + 1] }))));
    rows.sort((a, b) => (a.id < b.id ? -1 : 1)).map((r) => r.id).join(" ");
  }
  return performance.now() - began;
}

// Bounds of times are held with SPANGROVE_WEB_TIMES, on a machine that has nothing else to do: neither time of the clock nor of the processor
// says much where others work on the same cores. They are of a machine that takes 600 ms for the workload, and grow with what this one
// takes: the slowest of three.
let slow = 0;
function slowness() {
  if (slow === 0) {
    slow = Math.max(1, Math.max(workload(), workload(), workload()) / 600);
    console.log(`figure this machine: ${slow.toFixed(2)} times as slow as the bounds are made for`);
  }
  return slow;
}
export const time = (name, ms, most) => figure(name, ms, "ms", process.env.SPANGROVE_WEB_TIMES ? Math.round(most * slowness()) : undefined);

/** What a page shows, in a line. */
async function shown(page) {
  const text = (s) => JSON.stringify(s.replace(/\s+/g, " ").slice(0, 500));
  const read = page.evaluate(() => ({ title: document.title, focus: document.activeElement?.outerHTML.slice(0, 200) ?? "", body: document.body.innerText }));
  const late = new Promise((done) => { setTimeout(done, 5000, null).unref(); }); // one that hangs must not hang the report
  const now = await Promise.race([read, late]).catch(() => null);
  return `${page.url()}: ${now ? `${text(now.title)}, focus on ${text(now.focus)}, text ${text(now.body)}` : "does not answer"}`;
}

/** Runs the cases, or the one that the command line names, and ends the browser. */
export async function run() {
  const only = process.argv[2];
  let failed = 0;
  const chosen = cases.filter(({ name }) => !only || name.includes(only));
  for (const { name, fn } of chosen) {
    const began = Date.now();
    try {
      await fn();
      console.log(`ok ${name} (${Date.now() - began} ms)`);
    } catch (e) {
      failed++;
      console.log(`FAILED ${name}: ${e.stack?.slice(0, 2500) ?? e}`);
      for (const page of browser.contexts().flatMap((c) => c.pages())) console.log(`  page ${await shown(page)}`);
    }
    await Promise.all(browser.contexts().map((c) => c.close())); // what a failed case has left open
  }
  await browser.close();
  console.log(`${chosen.length - failed} of ${chosen.length} passed`);
  process.exitCode = failed === 0 && chosen.length > 0 ? 0 : 1;
}
