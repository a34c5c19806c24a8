// The Vercel AI SDK: generated and streamed text, a tool loop, an error and
// embeddings under one root span, exported as OTLP/JSON.
//
//   vercel.mjs 6|7     the SDK's version
//
// OPENAI_BASE_URL and OPENAI_API_KEY say which server answers, the
// OTEL_EXPORTER_OTLP_* variables where the spans go. Prints "trace" and the
// trace's id. The packages are looked up beside this file.
import assert from "node:assert/strict";
import { trace } from "@opentelemetry/api";
import { NodeTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { z } from "zod";

const version = process.argv[2];
const sdk = await import(version === "6" ? "ai-6" : "ai");
const { createOpenAI } = await import(`ai-${version}-openai`);
const { generateText, streamText, embedMany, tool, stepCountIs } = sdk;

const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "program" }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
const tracer = trace.getTracer("program");
if (version !== "6") {
  const { OpenTelemetry } = await import("@ai-sdk/otel");
  sdk.registerTelemetry(new OpenTelemetry());
}

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY });
const model = openai.chat("gpt-4o-mini");
const common = (functionId) => ({ model, maxRetries: 0, experimental_telemetry: { isEnabled: true, functionId } });

async function step(name, f) {
  await tracer.startActiveSpan(name, async (span) => {
    try {
      await f();
    } finally {
      span.end();
    }
  });
}

const getWeather = tool({
  description: "The weather in a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    // Spans begin at whole milliseconds here. The next one must not begin in that of this tool, or
    // nothing tells which was first.
    for (const began = Date.now(); Date.now() <= began; ) await new Promise(setImmediate);
    return `21 degrees in ${city}`;
  },
});

await step("program", async () => {
  console.log("trace " + trace.getActiveSpan().spanContext().traceId);
  await step("ask", async () => {
    const got = await generateText({
      ...common("capital"),
      temperature: 0.2,
      maxOutputTokens: 50,
      system: "You are terse.",
      prompt: "What is the capital of Portugal?",
    });
    assert.equal(got.text, "Lisbon.");
  });
  await step("ask streaming", async () => {
    const got = streamText({ ...common("count"), prompt: "Count to three." });
    assert.equal(await got.text, "One, two, three.");
  });
  await step("ask with tool", async () => {
    const got = await generateText({
      ...common("weather"),
      prompt: "What is the weather in Oslo?",
      tools: { get_weather: getWeather },
      stopWhen: stepCountIs(3),
    });
    assert.equal(got.text, "The tool says: 21 degrees in Oslo");
  });
  await step("ask broken", async () => {
    await assert.rejects(generateText({ ...common("broken"), model: openai.chat("broken"), prompt: "Hello?" }), /quota/);
  });
  await step("embed", async () => {
    const got = await embedMany({
      ...common("fruit"),
      model: openai.embedding("text-embedding-3-small"),
      values: ["red apples", "green pears"],
    });
    assert.equal(got.embeddings.length, 2);
  });
  await step("ask responses", async () => {
    const got = await generateText({
      ...common("responses"),
      model: openai.responses("gpt-4o-mini"),
      system: "You are terse.",
      prompt: "What is the capital of Portugal?",
    });
    assert.equal(got.text, "Lisbon.");
  });
});
await provider.shutdown();
