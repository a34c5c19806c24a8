# What python3 says of evaluators and events: reference.py DIRECTORY EVENTS, JSON on standard output.
# How a file's value is had is told by its line "# call: EXPRESSION".
import contextlib
import copy
import io
import json
import pathlib
import sys

directory, events = pathlib.Path(sys.argv[1]), [json.loads(line) for line in open(sys.argv[2])]
results = {}
for file in sorted(directory.glob("*.py")):
    source = file.read_text()
    call = next(line[len("# call: "):] for line in source.splitlines() if line.startswith("# call: "))
    results[file.stem] = answers = []
    for event in copy.deepcopy(events):
        space = {"__name__": "evaluator", "event": event}
        for name in ("inputs", "outputs", "feedback", "metadata", "metrics", "config"):
            space[name] = event.setdefault(name, {})
        space.update(event_type=event.get("event_type"), event_name=event.get("event_name"), ground_truth=event["feedback"].get("ground_truth"))
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, str(file), "exec"), space)
                value = eval(call, space)
            answers.append({"value": value})
        except Exception as e:
            answers.append({"exception": type(e).__name__})
json.dump(results, sys.stdout)
