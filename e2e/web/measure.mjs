// What the tests of the pages and the comparison with another program measure in Chromium, in one way.

export const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

const share = (numbers, part) => [...numbers].sort((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(numbers.length * part))];

/**
 * Scrolls an element by 400 pixels a frame, to its end and back again, for two seconds: what a frame costs on the main thread, scripts,
 * style, layout and paint together. mean and p95 are the thread's own time on the processor, clock is the p95 by the clock, with whatever
 * else the machine did between.
 */
export async function frameWork(page, client, selector) {
  const events = [];
  const collect = (e) => events.push(...e.value);
  client.on("Tracing.dataCollected", collect);
  await client.send("Tracing.start", { categories: "cc,disabled-by-default-devtools.timeline", transferMode: "ReportEvents" });
  const clock = await page.evaluate((selector) => new Promise((resolve) => {
    const box = document.querySelector(selector);
    const work = [];
    const channel = new MessageChannel(); // its message is delivered after the frame's style, layout and paint
    let began = 0, by = 400;
    channel.port1.onmessage = () => work.push(performance.now() - began);
    const until = performance.now() + 2000;
    const frame = () => {
      began = performance.now();
      const top = box.scrollTop;
      box.scrollTop += by;
      if (box.scrollTop === top) box.scrollTop += by = -by;
      channel.port2.postMessage(0);
      if (began < until) requestAnimationFrame(frame);
      else setTimeout(() => resolve(work), 100);
    };
    requestAnimationFrame(frame);
  }), selector);
  const complete = new Promise((done) => client.once("Tracing.tracingComplete", done));
  await client.send("Tracing.end");
  await complete;
  client.off("Tracing.dataCollected", collect);
  const frames = perFrame(events);
  return { frames: frames.length, mean: frames.reduce((sum, t) => sum + t, 0) / frames.length, p95: share(frames, 0.95), clock: share(clock, 0.95) };
}

/** The milliseconds of the processor that each frame took of the thread that drew the most: its tasks from one frame to the next. */
function perFrame(events) {
  const begins = events.filter((e) => e.ph === "X" && e.name === "ProxyMain::BeginMainFrame");
  const thread = (e) => `${e.pid} ${e.tid}`;
  const drawn = new Map();
  for (const e of begins) drawn.set(thread(e), (drawn.get(thread(e)) ?? 0) + 1);
  const most = [...drawn].sort((a, b) => b[1] - a[1])[0]?.[0];
  const starts = begins.filter((e) => thread(e) === most).map((e) => e.ts).sort((a, b) => a - b);
  const frames = starts.map(() => 0);
  for (const e of events) {
    if (e.name !== "RunTask" || e.tdur === undefined || thread(e) !== most) continue;
    const at = starts.findLastIndex((ts) => ts <= e.ts + e.dur); // a frame begins inside its task
    if (at >= 0) frames[at] += e.tdur / 1000;
  }
  return frames.slice(1, -1); // the first and the last are not whole
}

/** What a page holds once what nothing reaches has been collected: megabytes of its scripts' memory, nodes and listeners. */
export async function held(client) {
  await client.send("Performance.enable");
  for (let i = 0; i < 3; i++) await client.send("HeapProfiler.collectGarbage");
  const { metrics } = await client.send("Performance.getMetrics");
  const of = (name) => metrics.find((m) => m.name === name).value;
  return { heap: of("JSHeapUsedSize") / 1e6, nodes: of("Nodes"), listeners: of("JSEventListeners"), documents: of("Documents") };
}
