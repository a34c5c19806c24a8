// The only place that calls the server. Addresses are relative to the document, so that the pages work under any path prefix.
import { signal } from "@preact/signals";

/** What went wrong with a request, in the server's words. status is 0 if no answer came. */
export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** Is set when the server says that the browser is signed out. */
export const signedOut = signal(false);

/** Is set when the server says that the project was deleted in which the browser acts; its sign-in is good. */
export const projectGone = signal(false);

/** Returns the URL of a path of the API, such as "v1/me". */
export function url(path: string): string {
  return new URL(path, document.baseURI.replace(/#.*$/, "")).href;
}

/** The address of the server as programs need it, without a slash at the end. */
export function serverAddress(): string {
  return url(".").replace(/\/$/, "");
}

/** What answers in a page that has no server but data of its own; null on a server's pages. */
export const offline: { answer: ((path: string, body: unknown) => string | null) | null } = { answer: null };

interface Options {
  method?: string;
  body?: unknown;
  json?: string; // a body that is JSON already, digit for digit
  signal?: AbortSignal;
}

/** Sends a request and returns the answer, which the server says is of success. */
export async function send(path: string, options: Options = {}): Promise<Response> {
  if (offline.answer) {
    const answer = offline.answer(path, options.body);
    if (answer === null) throw new ApiError(404, "This file does not have it.");
    return new Response(answer);
  }
  const init: RequestInit = { method: options.method ?? "GET", credentials: "same-origin", signal: options.signal ?? null };
  if (options.body !== undefined || options.json !== undefined) {
    init.body = options.json ?? JSON.stringify(options.body);
    init.headers = { "Content-Type": "application/json" };
  }
  let response: Response;
  try {
    response = await fetch(url(path), init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, "The server cannot be reached. Is it running?");
  }
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null && "message" in body) message = String(body.message);
  } catch {
    // The status says it, then.
  }
  if (response.status === 401 && path !== "v1/login") (message.startsWith("project: ") ? projectGone : signedOut).value = true;
  throw new ApiError(response.status, message);
}

/** Sends a request and returns the JSON of the answer. */
export async function call<T>(path: string, options: Options = {}): Promise<T> {
  return (await (await send(path, options)).json()) as T;
}

/** Sends a request and returns the text of the answer, digit for digit. */
export async function text(path: string, options: Options = {}): Promise<string> {
  return (await send(path, options)).text();
}

/** Reports whether an error only says that the caller has stopped waiting. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
