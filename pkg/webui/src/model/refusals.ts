// Requests that the server refused, as somebody who waits for the first event wants to read them: what was tried, and what helps.
import type { Refusal } from "../api/types.gen.ts";

/** Ends of paths that are asked by POST and send nothing. */
const questions = /\/(search|export|otlp|values|previews|login|logout|run|next|library)$/;

/** Returns the attempts to send among refused requests since a time, in milliseconds: what the pages ask themselves is none. */
export function attempts(refusals: Refusal[], since: number): Refusal[] {
  return refusals.filter((r) => (r.method === "POST" || r.method === "PUT") && !questions.test(r.path) && Date.parse(r.time) >= since);
}

/** Returns what helps against a refusal. address is that of the server, without a slash at the end. */
export function cure(r: Refusal, address: string): string {
  switch (r.status) {
    case 400: return r.path.endsWith("/traces") || r.path.endsWith("/logs")
      ? "The body is not what it says to be: send OTLP as protobuf with Content-Type: application/x-protobuf, or as JSON with application/json."
      : "The message names what is wrong: change it and send the event again.";
    case 401: return r.key_prefix
      ? `The server does not know the key that begins with ${r.key_prefix}, or it is revoked: use the one of the lines below.`
      : "No key came along: send the header Authorization: Bearer and the key, as in the lines below. In OTEL_EXPORTER_OTLP_HEADERS the space is written %20.";
    case 403: return "This key may not write: use one of scope ingest or full.";
    case 404:
    case 405: return `Nothing takes events here. Exporters that add /v1/traces themselves need ${address}, others ${address}/v1/traces.`;
    case 409: return "The id is taken by something else: send another one, or none.";
    case 413: return "The request is too large: send fewer events at a time.";
    case 415: return `This port takes OTLP over gRPC only. OTLP over HTTP goes to ${address}/v1/traces.`;
    case 429: return "A limit of the project or its key is used up: senders try again by themselves, and an administrator can raise it.";
    default: return "The message says what is wrong.";
  }
}
