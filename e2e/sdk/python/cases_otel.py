"""The plain OpenTelemetry SDK, told where to send by its own environment variables."""

import os
import subprocess
import sys
import urllib.parse

from readback import KEY, URL, call, check, session

HERE = os.path.dirname(os.path.abspath(__file__))


def first_trace(protocol, endpoint):
    """Runs first_trace.py, which knows nothing of us, with the variables set."""
    env = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=" + urllib.parse.quote("Bearer " + KEY),
        "OTEL_SERVICE_NAME": "first-trace",
    }
    out = subprocess.run([sys.executable, os.path.join(HERE, "first_trace.py")], env=env, check=True, capture_output=True, text=True)
    conversation = out.stdout.strip()
    assert conversation and "rror" not in out.stderr, out.stderr
    found = call(
        "POST",
        "/v1/events/search",
        {"filters": [{"field": "metadata.conversation_id", "operator": "is", "value": conversation, "type": "string"}]},
    )
    assert found["count"] >= 1, found
    got = session(found["events"][0]["session_id"])
    top, chat = got["invoke_agent helper"], got["chat m-small"]
    check(top, event_type="chain", parent_id=top["session_id"])
    check(chat, event_type="model", parent_id=top["event_id"], config__model="m-small", metadata__total_tokens=16)
    check(chat, inputs__chat_history=[{"role": "user", "content": "hi"}], outputs__content="hello")


def otel_env_http_api_port():
    first_trace("http/protobuf", URL)


def otel_env_http():
    first_trace("http/protobuf", os.environ["SPANGROVE_OTLP_HTTP_URL"])


def otel_env_grpc():
    first_trace("grpc", "http://" + os.environ["SPANGROVE_OTLP_GRPC"])


CASES = [otel_env_http_api_port, otel_env_http, otel_env_grpc]
