"""What the programs of PyPI `anthropic` do: the same calls, whoever watches.

    anthropic_calls.py openinference | openllmetry

The client makes spans of its own, too, without messages. ANTHROPIC_BASE_URL and
ANTHROPIC_API_KEY say which server answers, the OTEL_EXPORTER_OTLP_* variables where the
spans go. Prints "trace" and the id of the trace.
"""

import os
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

MODEL = "claude-opus-4-8"
WEATHER = {
    "name": "get_weather",
    "description": "The weather in a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def all_calls(step):
    import anthropic

    client = anthropic.Anthropic(max_retries=0)
    with step("ask"):
        got = client.messages.create(
            model=MODEL,
            max_tokens=50,
            system="You are terse.",
            messages=[{"role": "user", "content": "What is the capital of Portugal?"}],
        )
        assert got.content[0].text == "Lisbon.", got
    with step("ask streaming"):
        text = ""
        stream = client.messages.create(
            model=MODEL, max_tokens=50, stream=True, messages=[{"role": "user", "content": "Count to three."}]
        )
        for event in stream:
            if event.type == "content_block_delta":
                text += event.delta.text
        assert text == "One, two, three.", text
    with step("ask with tool"):
        messages = [{"role": "user", "content": "What is the weather in Oslo?"}]
        call = client.messages.create(model=MODEL, max_tokens=50, messages=messages, tools=[WEATHER]).content[0]
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "21 degrees in Oslo"}
        messages += [
            {"role": "assistant", "content": [call.model_dump(include={"type", "id", "name", "input"})]},
            {"role": "user", "content": [result]},
        ]
        got = client.messages.create(model=MODEL, max_tokens=50, messages=messages, tools=[WEATHER])
        assert got.content[0].text == "The tool says: 21 degrees in Oslo", got
    with step("ask broken"):
        try:
            client.messages.create(model="broken", max_tokens=50, messages=[{"role": "user", "content": "Hello?"}])
        except anthropic.RateLimitError:
            pass
        else:
            raise AssertionError("a call that must fail did not")
    with step("ask by stream helper"):
        with client.messages.stream(
            model=MODEL, max_tokens=50, messages=[{"role": "user", "content": "Count to three."}]
        ) as stream:
            text = "".join(stream.text_stream)
        assert text == "One, two, three.", text


def main(name):
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    if name == "openinference":
        from openinference.instrumentation.anthropic import AnthropicInstrumentor
    else:
        from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor
    AnthropicInstrumentor().instrument()
    tracer = trace.get_tracer("program")
    with tracer.start_as_current_span("program") as root:
        print("trace", format(root.get_span_context().trace_id, "032x"))
        all_calls(tracer.start_as_current_span)
    provider.shutdown()


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("openinference", "openllmetry"):
        sys.exit(__doc__)
    main(sys.argv[1])
