// Runs the cases that drive npm `honeyhive` against a server.
//
//   run.js --list        the names of all cases, one a line
//   run.js --operations  the names of all operations of the client, one a line
//   run.js NAME          runs one case; before its last line it names the operations
//                        that it called: "called NAME"
//
// Each case is run in a process of its own, as tracers are global to a process.
// NODE_PATH says where the SDK is installed, SPANGROVE_URL and SPANGROVE_API_KEY
// where the server is. A case prints one line and ends with exit code 1 if it fails.
"use strict";
const operations = require("./operations.js");
const cases = { ...require("./cases.js"), ...require("./cases_resources.js"), ...require("./cases_runs.js") };

async function main([name, ...more]) {
  if (name === "--list") {
    console.log(Object.keys(cases).join("\n"));
    return 0;
  }
  if (name === "--operations") {
    console.log(operations.names().join("\n"));
    return 0;
  }
  if (more.length || !(name in cases)) {
    console.error("usage: run.js --list | NAME");
    return 2;
  }
  operations.watch();
  try {
    await cases[name]();
  } catch (err) {
    console.error(err);
    console.log("FAIL " + name);
    return 1;
  }
  for (const operation of [...operations.called].sort()) console.log("called " + operation);
  console.log("ok " + name);
  return 0;
}

// The SDK leaves timers behind; the case has flushed and read back all it sent.
main(process.argv.slice(2)).then((code) => process.exit(code));
