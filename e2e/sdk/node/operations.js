// The operations that the installed `honeyhive` offers, and which of them are called.
// They are taken from the package itself: an operation that a newer version brings is
// one that no case calls, until there is one.
"use strict";
const { HoneyHive } = require("honeyhive");

const called = new Set();

// Every part of the client that holds operations, with the names of these.
function* places() {
  const client = new HoneyHive({ bearerAuth: "none", serverURL: "http://127.0.0.1:1" });
  for (const [part, { get }] of Object.entries(Object.getOwnPropertyDescriptors(HoneyHive.prototype))) {
    if (!get) continue;
    const prototype = Object.getPrototypeOf(client[part]);
    for (const name of Object.getOwnPropertyNames(prototype)) {
      if (name !== "constructor") yield { part, prototype, name };
    }
  }
}

const names = () => [...places()].map(({ part, name }) => `${part}.${name}`).sort();

// From now on an operation that returns, and so took our answer, is in called.
function watch() {
  for (const { part, prototype, name } of places()) {
    const operation = prototype[name];
    prototype[name] = async function (...args) {
      const answer = await operation.apply(this, args);
      called.add(`${part}.${name}`);
      return answer;
    };
  }
}

module.exports = { names, watch, called };
