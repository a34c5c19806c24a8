"""Runs the cases that drive PyPI `honeyhive` and OpenTelemetry against a server.

    run.py --list        the names of all cases, one a line
    run.py NAME          runs one case

Each case is run in a process of its own: a tracer that was shut down makes later
tracers of its process lose spans. SPANGROVE_URL and SPANGROVE_API_KEY say where
the server is. A case prints one line and ends with exit code 1 if it fails.
"""

import os
import sys
import traceback

import cases_api
import cases_manage
import cases_otel
import cases_resources
import cases_tracer

CASES = {
    f.__name__: f
    for module in (cases_api, cases_manage, cases_resources, cases_tracer, cases_otel)
    for f in module.CASES
}


def main(argv):
    if argv == ["--list"]:
        print("\n".join(CASES))
        return 0
    if len(argv) != 1 or argv[0] not in CASES:
        print(__doc__, file=sys.stderr)
        return 2
    name = argv[0]
    try:
        CASES[name]()
    except Exception:  # the report of a failed case, whatever failed
        traceback.print_exc()
        print(f"FAIL {name}")
        return 1
    print(f"ok {name}")
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Without the exit handlers of the SDKs: what they would still send does not
    # belong to the case, which has flushed and read back all it sent.
    os._exit(code)
