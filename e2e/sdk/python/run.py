"""Runs the cases that drive PyPI `honeyhive` and OpenTelemetry against a server.

    run.py --list        the names of all cases for the installed version, one a line
    run.py --operations  the names of all operations of the client, one a line
    run.py NAME          runs one case; before its last line it names the operations
                         that it called: "called NAME"

Each case is run in a process of its own: a tracer that was shut down makes later
tracers of its process lose spans. SPANGROVE_URL and SPANGROVE_API_KEY say where
the server is. A case prints one line and ends with exit code 1 if it fails.
"""

import importlib
import os
import sys
import traceback
from importlib.metadata import version

import operations

# The cases of each version of the client; those of the others cannot be imported.
MODULES = {
    "1.7.0": ("cases_api", "cases_manage", "cases_resources", "cases_runs", "cases_tracer", "cases_otel"),
    "0.2.57": ("cases_older", "cases_older_runs"),
}

CASES = {f.__name__: f for name in MODULES[version("honeyhive")] for f in importlib.import_module(name).CASES}


def main(argv):
    if argv == ["--list"]:
        print("\n".join(CASES))
        return 0
    if argv == ["--operations"]:
        print("\n".join(operations.names()))
        return 0
    if len(argv) != 1 or argv[0] not in CASES:
        print(__doc__, file=sys.stderr)
        return 2
    name = argv[0]
    operations.watch()
    try:
        CASES[name]()
    except Exception:  # the report of a failed case, whatever failed
        traceback.print_exc()
        print(f"FAIL {name}")
        return 1
    for operation in sorted(operations.CALLED):
        print("called", operation)
    print(f"ok {name}")
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Without the exit handlers of the SDKs: what they would still send does not
    # belong to the case, which has flushed and read back all it sent.
    os._exit(code)
