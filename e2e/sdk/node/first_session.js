// The shortest program with the HoneyHive SDK; its variables say where to send.
"use strict";
const { HoneyHiveTracer } = require("honeyhive");

async function main() {
  const tracer = await HoneyHiveTracer.init({ sessionName: "first session" });
  const greet = tracer.traceTool((name) => "hello " + name, { eventName: "greet" });
  greet("world");
  await tracer.flush();
  console.log(tracer.sessionId);
}

main().then(() => process.exit(0));
