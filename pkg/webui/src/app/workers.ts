// The addresses of the workers, which stand beside the program. Browsers with Trusted Types take an address of a script from a policy
// only: this one lets nothing else pass.

interface Policy {
  createScriptURL(url: string): unknown;
}

const factory = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy } }).trustedTypes;

const names = ["markdown.worker.js", "diff.worker.js"];

const policy = factory?.createPolicy("workers", {
  createScriptURL(url) {
    if (!names.some((name) => url === new URL(name, import.meta.url).href)) throw new TypeError(`${url} is no worker of these pages`);
    return url;
  },
});

/** Returns the address of a worker. */
export function workerUrl(name: string): URL {
  const url = new URL(name, import.meta.url).href;
  return (policy ? policy.createScriptURL(url) : url) as URL;
}
