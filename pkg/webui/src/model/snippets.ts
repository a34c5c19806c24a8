// What a person copies to send the first trace: the address of the server and a key stand in each of them.

export interface Snippet {
  id: string;
  label: string;
  text: string;
}

/** An address at which the server listens, as a program needs it. */
export interface Listener {
  name: string;
  url: string;
  /** Only programs on the server's own machine reach it, and the browser is on another one. */
  local: boolean;
}

const names: Record<string, string> = { otlp_http: "OTLP over HTTP", otlp_grpc: "OTLP over gRPC" };

/**
 * Where OTLP is taken, besides the address that the browser has. The server knows what it has bound: an address that stands for any
 * one of the machine's is replaced by the host that the browser knows, and one of loopback is of use to the machine itself only.
 */
export function listeners(addresses: { serves: string; url: string }[], page: string): Listener[] {
  const own = addresses.find((a) => a.serves === "api")?.url;
  const host = new URL(page).hostname;
  const list: Listener[] = [];
  for (const { serves, url } of addresses) {
    const name = names[serves];
    if (!name || url === own) continue;
    const bound = /^(https?:\/\/)(.*)(:\d+)$/.exec(url);
    if (!bound) {
      list.push({ name, url, local: !isLoopback(host) });
    } else if (bound[2] === "0.0.0.0" || bound[2] === "[::]") {
      list.push({ name, url: bound[1]! + host + bound[3]!, local: false });
    } else {
      list.push({ name, url, local: isLoopback(bound[2]!) && !isLoopback(host) });
    }
  }
  return list;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\./.test(host);
}

/** All snippets for a server at an address (no slash at the end), with a key; grpc is the URL of OTLP over gRPC, if there is one. */
export function snippets(address: string, key: string, grpc?: string): Snippet[] {
  return [
    { id: "agent", label: "Agent prompt", text: `Send traces of this application to Spangrove, a self-hosted observability server that speaks OpenTelemetry.

1. Find the AI libraries that this project uses (OpenAI, Anthropic, LangChain, LlamaIndex, Vercel AI SDK, …) and its language.
2. Put these into the environment that the application starts with, such as .env (never commit the key):
   OTEL_EXPORTER_OTLP_ENDPOINT=${address}
   OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20${key}
   OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
   OTEL_SERVICE_NAME=<the name of this application>
3. If the project is instrumented with OpenTelemetry already, change nothing else. If not, add the instrumentation of its libraries:
   Python: pip install opentelemetry-distro opentelemetry-exporter-otlp-proto-http and openinference-instrumentation-<library>, and start with opentelemetry-instrument.
   TypeScript: @opentelemetry/sdk-node with @opentelemetry/exporter-trace-otlp-proto; the Vercel AI SDK needs experimental_telemetry: { isEnabled: true }.
   Programs of the HoneyHive SDKs need only HH_API_URL=${address} and HH_API_KEY=${key}.
4. Run the application once so that it calls a model.
5. Check: curl -s "${address}/v1/events?limit=1" -H "Authorization: Bearer <a key that may read>" lists the event, and it shows in the browser at ${address}.` },
    { id: "python", label: "Python", text: `# pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(
    endpoint="${address}/v1/traces",
    headers={"Authorization": "Bearer ${key}"},
)))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("first-trace")

with tracer.start_as_current_span("answer a question"):
    with tracer.start_as_current_span("chat gpt-4o-mini", attributes={
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Hello?"}]}]',
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Hello!"}]}]',
    }):
        pass

provider.shutdown()
` },
    { id: "typescript", label: "TypeScript", text: `// npm install @opentelemetry/sdk-node @opentelemetry/exporter-trace-otlp-proto @opentelemetry/api
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { NodeSDK } from "@opentelemetry/sdk-node";

const sdk = new NodeSDK({
  serviceName: "first-trace",
  traceExporter: new OTLPTraceExporter({
    url: "${address}/v1/traces",
    headers: { Authorization: "Bearer ${key}" },
  }),
});
sdk.start();

trace.getTracer("first-trace").startActiveSpan("chat gpt-4o-mini", (span) => {
  span.setAttributes({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.input.messages": JSON.stringify([{ role: "user", parts: [{ type: "text", content: "Hello?" }] }]),
    "gen_ai.output.messages": JSON.stringify([{ role: "assistant", parts: [{ type: "text", content: "Hello!" }] }]),
  });
  span.end();
});
await sdk.shutdown();
` },
    { id: "go", label: "Go", text: `package main

import (
	"context"
	"log"

	"github.com/spangrove/spangrove/pkg/client"
)

func main() {
	ctx := context.Background()
	c, err := client.New("${address}", "${key}")
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Events.Create(ctx, client.EventInput{
		EventType: client.EventModel,
		EventName: "chat",
		Config:    client.Object{"model": "gpt-4o-mini", "provider": "openai"},
		Inputs:    client.Object{"chat_history": []any{client.Object{"role": "user", "content": "Hello?"}}},
		Outputs:   client.Object{"role": "assistant", "content": "Hello!"},
	})
	if err != nil {
		log.Fatal(err)
	}
}
` },
    { id: "curl", label: "curl", text: `curl ${address}/v1/events/batch \\
  -H "Authorization: Bearer ${key}" \\
  -d '{
  "session_properties": {"session_name": "first session"},
  "events": [{
    "event_type": "model",
    "event_name": "chat",
    "config": {"model": "gpt-4o-mini", "provider": "openai"},
    "inputs": {"chat_history": [{"role": "user", "content": "Hello?"}]},
    "outputs": {"role": "assistant", "content": "Hello!"},
    "metadata": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
    "duration": 420
  }]
}'
` },
    { id: "env", label: "OTLP variables", text: `export OTEL_EXPORTER_OTLP_ENDPOINT="${address}"
export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20${key}"
export OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf"
` },
    ...(grpc === undefined ? [] : [{ id: "grpc", label: "gRPC variables", text: `export OTEL_EXPORTER_OTLP_ENDPOINT="${grpc}"
export OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20${key}"
export OTEL_EXPORTER_OTLP_PROTOCOL="grpc"
` }]),
    { id: "collector", label: "Collector", text: `exporters:
  otlphttp/spangrove:
    endpoint: ${address}
    headers:
      Authorization: "Bearer ${key}"

service:
  pipelines:
    traces:
      exporters: [otlphttp/spangrove]
` },
  ];
}
