#!/usr/bin/env node
// Starts the program, which is in the optional dependency for this machine.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `@spangrove/${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "spangrove.exe" : "spangrove";

let program;
try {
  program = require.resolve(`${name}/bin/${file}`);
} catch {
  console.error(
    `spangrove: the package ${name} is not installed. Either there is no program for this machine, or optional dependencies ` +
      "were left out: install spangrove again without --omit=optional or --no-optional.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => {
  console.error(`spangrove: ${err.message}`);
  process.exit(1);
});
// A terminal sends Ctrl-C to both; what is sent to this process alone is passed on. It ends when the program has.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
