"""A program of LlamaIndex, watched by OpenInference.

OPENAI_BASE_URL and OPENAI_API_KEY say which server answers, the OTEL_EXPORTER_OTLP_*
variables where the spans go. Prints "trace" and the id of the trace.
"""

import os

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

MODEL = "gpt-4o-mini"


def get_weather(city: str) -> str:
    """The weather in a city"""
    return f"21 degrees in {city}"


def all_calls(step):
    llm = OpenAI(model=MODEL, max_tokens=50, temperature=0.2, max_retries=0, api_base=os.environ["OPENAI_BASE_URL"])
    user = lambda text: ChatMessage(role="user", content=text)
    with step("ask"):
        got = llm.chat([ChatMessage(role="system", content="You are terse."), user("What is the capital of Portugal?")])
        assert got.message.content == "Lisbon.", got
    with step("ask streaming"):
        text = "".join(chunk.delta or "" for chunk in llm.stream_chat([user("Count to three.")]))
        assert text == "One, two, three.", text
    with step("ask with tool"):
        tool = FunctionTool.from_defaults(get_weather)
        got = llm.predict_and_call([tool], user_msg="What is the weather in Oslo?")
        assert got.response == "21 degrees in Oslo", got
    with step("ask broken"):
        # LlamaIndex refuses models that it does not know before it asks.
        broken = OpenAI(model=MODEL, max_retries=0, api_base=os.environ["OPENAI_BASE_URL"], additional_kwargs={"model": "broken"})
        try:
            broken.chat([user("Hello?")])
        except Exception as e:
            assert "exceeded your current quota" in str(e), e
        else:
            raise AssertionError("a call that must fail did not")


def main():
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    LlamaIndexInstrumentor().instrument()
    tracer = trace.get_tracer("program")
    with tracer.start_as_current_span("program") as root:
        print("trace", format(root.get_span_context().trace_id, "032x"))
        all_calls(tracer.start_as_current_span)
    provider.shutdown()


if __name__ == "__main__":
    main()
