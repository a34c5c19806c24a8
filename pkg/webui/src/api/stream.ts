// Answers that come piece by piece: server-sent events of a request with a body.
import { ApiError, send } from "./client.ts";

/** Sends a request and gives each message of the answer, its kind and its data, as they come. */
export async function* stream(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<[string, Record<string, unknown>]> {
  const response = await send(path, { method: "POST", body, signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch((e) => {
      throw signal.aborted ? e : new ApiError(0, "The connection to the server broke off.");
    });
    if (done) return;
    const messages = (rest + value).split("\n\n");
    rest = messages.pop()!;
    for (const message of messages) {
      const [, kind, data] = /^event: (.*)\ndata: (.*)$/.exec(message) ?? [];
      if (kind && data) yield [kind, JSON.parse(data)];
    }
  }
}
