"""The shortest program with the HoneyHive SDK; its variables say where to send."""

from honeyhive import HoneyHiveTracer, trace

tracer = HoneyHiveTracer.init(session_name="first session")


@trace(event_type="tool", event_name="greet")
def greet(name):
    return "hello " + name


greet("world")
tracer.force_flush()
print(tracer.session_id)
