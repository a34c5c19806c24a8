"""Reads `go test -json` and prints what a person wants to see of it.

usage: go test -json ... | gotest.py OUT SUITE [--skips-allowed]

A line a package, the whole output of everything that failed, and at the end, in short, why it
did, the slowest tests and the number of all. Fails if a test failed, if one was skipped (unless that is
allowed), if none ran, or if a test that required-tests lists for SUITE did not pass. Writes the packages'
lines to OUT.ok, the number of passed tests to OUT.count, and what failed and why to OUT.failed.
"""

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

# A line of a test's output that says why it failed.
REASON = re.compile(r"FAILED|AssertionError|_test\.go:\d+: |^panic: |DATA RACE|^--- FAIL")


def required_tests(suite):
    """Returns the tests that must pass in a suite; a suite without a section is an error."""
    sections = {}
    for line in Path(__file__).with_name("required-tests").read_text().splitlines():
        if line.startswith("["):
            tests = sections.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            tests.add(line)
    if suite not in sections:
        sys.exit(f"gotest.py: required-tests has no section [{suite}]")
    return sections[suite]


def main(out, suite, *options):
    required = required_tests(suite)
    skips_allowed = "--skips-allowed" in options
    output = defaultdict(list)  # of a test, or of a package under the test name ""
    passed, failed, skipped, lines, times = set(), [], [], [], []
    reasons = []  # in short, why tests failed: repeated at the end, where the output of many tests ends
    for raw in sys.stdin:
        try:
            e = json.loads(raw)
        except ValueError:
            print(raw, end="")  # the compiler speaks plainly
            continue
        action, package = e["Action"], e.get("Package", e.get("ImportPath", ""))
        key = (package, e.get("Test", ""))
        if action in ("output", "build-output"):
            output[key].append(e["Output"])
        elif action == "build-fail":
            failed.append(key)
            print("".join(output.pop(key, [])), end="", flush=True)
        elif action == "fail":
            failed.append(key)
            text = "".join(output.pop(key, []))
            reasons += [f"{key[1]}: {line.strip()}"[:300] for line in text.splitlines() if REASON.search(line)][:10]
            print(text, end="", flush=True)
        elif action == "skip" and key[1]:
            skipped.append(key)
            output.pop(key, None)
        elif action == "pass" and key[1]:
            passed.add(key)
            output.pop(key, None)
            times.append((e.get("Elapsed", 0), key[1]))
        elif action == "pass":
            line = "ok  \t%s\t%.1fs" % (package, e.get("Elapsed", 0))
            lines.append(line)
            print(line, flush=True)
            output.pop(key, None)
    for name in sorted(required - {test for _, test in passed}):
        failed.append(("", name))
        print(f"FAIL: {name} should have run and passed")
    if not skips_allowed:
        for package, test in skipped:
            failed.append((package, test))
            print(f"FAIL: {package} {test} was skipped")
    for line in reasons:
        print(line)
    for seconds, test in sorted(times, reverse=True)[:12]:
        print("%6.1fs  %s" % (seconds, test))
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    if failed:
        with open(out + ".failed", "w") as f:
            f.writelines(f"  {' '.join(filter(None, key))}\n" for key in failed)
            f.writelines(f"    {line}\n" for line in reasons)
    with open(out + ".ok", "w") as f:
        f.writelines(line + "\n" for line in lines)
    with open(out + ".count", "w") as f:
        f.write(f"{len(passed)}\n")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
