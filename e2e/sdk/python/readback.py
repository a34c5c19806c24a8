"""Reads events back over plain HTTP, so that no SDK judges itself."""

import json
import os
import time
import urllib.request

URL = os.environ["SPANGROVE_URL"]
KEY = os.environ["SPANGROVE_API_KEY"]


def call(method, path, body=None):
    """The decoded answer of one request; any status but 200 raises."""
    req = urllib.request.Request(
        URL + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + KEY, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(req, timeout=30) as resp:
        assert resp.status == 200, resp.status
        return json.load(resp)


def event(event_id):
    """One event by its id."""
    return call("GET", "/v1/events/" + event_id)["event"]


def session(session_id):
    """All events of a session by name, the session event under "session"."""
    body = {
        "filters": [{"field": "session_id", "operator": "is", "value": session_id, "type": "string"}],
        "limit": 1000,
    }
    got = call("POST", "/v1/events/export", body)
    assert got["totalEvents"] == len(got["events"]), got
    named = {}
    for e in got["events"]:
        name = "session" if e["event_type"] == "session" else e["event_name"]
        assert name not in named, f"two events named {name}"
        named[name] = e
    return named


def check(got, **want):
    """Every keyword holds. A key a__b stands for got["a"]["b"]."""
    for path, value in want.items():
        at = got
        for key in path.split("__"):
            assert isinstance(at, dict) and key in at, f"{path} is missing: {json.dumps(got)[:2000]}"
            at = at[key]
        assert at == value, f"{path} is {at!r}, want {value!r}"


def refused(action):
    """The error that an action of a client raises; it is one that it does not raise any."""
    try:
        got = action()
    except Exception as err:  # each client has errors of its own
        return err
    raise AssertionError(f"not refused: {got}")


def eventually(look, seconds=60):
    """What look gives as soon as it is something."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"nothing after {seconds} s"
        time.sleep(0.2)
    return found
