"""One program for each instrumentation of PyPI `openai`.

    instrumented.py NAME     runs openai_calls under a root span, watched by NAME

The OTEL_EXPORTER_OTLP_* variables say where the telemetry goes, for the HoneyHive
tracer the HH_* ones. Prints "trace" and the id of the trace.
"""

import os
import sys
from contextlib import contextmanager

from opentelemetry import trace

import openai_calls


def providers():
    """Sets up OpenTelemetry as its documentation says, for traces and logs."""
    from opentelemetry._logs import set_logger_provider
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    else:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    traces, logs = TracerProvider(), LoggerProvider()
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    trace.set_tracer_provider(traces)
    set_logger_provider(logs)
    return traces, logs


def watched(instrument):
    """Runs the calls with plain OpenTelemetry and an instrumentation."""
    traces, logs = providers()
    instrument()
    run(trace.get_tracer("program"))
    logs.shutdown()
    traces.shutdown()


def run(tracer):
    @contextmanager
    def step(name):
        with tracer.start_as_current_span(name):
            yield

    def tool(name, arguments):
        with tracer.start_as_current_span("execute_tool " + name) as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", name)
            return openai_calls.get_weather(**arguments)

    with tracer.start_as_current_span("program") as root:
        print("trace", format(root.get_span_context().trace_id, "032x"))
        openai_calls.all_calls(step, tool)


def openai_v2():
    """OpenTelemetry's own, as it is by default: the contents come as log records, one a message."""
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

    watched(OpenAIInstrumentor().instrument)


def openai_v2_details():
    """The same with the newest conventions: the contents come in one log record a call."""
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "EVENT_ONLY"
    os.environ["OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"] = "true"
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

    watched(OpenAIInstrumentor().instrument)


def genai_openai():
    """Its successor: the newest conventions, the contents on the spans."""
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    watched(OpenAIInstrumentor().instrument)


def openllmetry():
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    watched(OpenAIInstrumentor().instrument)


def openinference():
    from openinference.instrumentation.openai import OpenAIInstrumentor

    watched(OpenAIInstrumentor().instrument)


def honeyhive():
    """HoneyHive's tracer with an instrumentation handed to it, as its documentation says."""
    from honeyhive import HoneyHiveTracer
    from openinference.instrumentation.openai import OpenAIInstrumentor

    tracer = HoneyHiveTracer.init(session_name="instrumented", source="e2e")
    OpenAIInstrumentor().instrument(tracer_provider=tracer.provider)

    @contextmanager
    def step(name):
        with tracer.start_span(name) as span:
            span.set_attribute("honeyhive_event_type", "chain")
            yield

    def tool(name, arguments):
        with tracer.start_span(name) as span:
            span.set_attribute("honeyhive_event_type", "tool")
            span.set_attribute("honeyhive_event_name", name)
            return openai_calls.get_weather(**arguments)

    with tracer.start_span("program") as root:
        root.set_attribute("honeyhive_event_type", "chain")
        print("trace", format(root.get_span_context().trace_id, "032x"))
        openai_calls.all_calls(step, tool)
    assert tracer.force_flush() is not False


PROGRAMS = {f.__name__: f for f in (openai_v2, openai_v2_details, genai_openai, openllmetry, openinference, honeyhive)}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(__doc__)
    PROGRAMS[sys.argv[1]]()
    sys.stdout.flush()
    os._exit(0)  # without the exit handlers of the SDKs: all is flushed
