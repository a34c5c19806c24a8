// Changes of sessions as they are stored: the server tells of them, and the page reads again. Where the stream cannot be had or has
// broken, the page asks from time to time instead.
import { offline, url } from "./client.ts";

export interface Follow {
  /** The least time between two readings, in milliseconds. */
  gap: number;
  /** How often to ask while there is no stream, in milliseconds. */
  every: number;
  /** Whether a change is likely; if not, only the stream leads to a reading. Default true. */
  likely?: boolean;
  /** Reads again, and resolves to whether a change is likely now. Must not throw. */
  read: () => Promise<boolean>;
}

/** How often to ask while the stream stands, in case it is silent for a reason that nobody sees, in milliseconds. */
const backstop = 30_000;

/** When a stream that the server has refused is tried again, in milliseconds. */
const retryRefused = 30_000;

/**
 * Has a session read again when it changes, or for "*" whenever any session does, until the function that is returned is called. The
 * first reading is the caller's. A page that is hidden has no stream and reads nothing: browsers allow few connections to a server, and
 * all their pages share them.
 */
export function follow(session: string, { gap, every, read, likely = true }: Follow): () => void {
  if (offline.answer) return () => {};
  let source: EventSource | null = null;
  let streaming = false;
  let busy = false;
  let again = false;
  let ended = false;
  let last = Date.now();
  let timer = 0;
  let retry = 0;

  const later = () => {
    clearTimeout(timer);
    if (!ended && likely && !document.hidden) timer = setTimeout(() => void run(), streaming ? backstop : every);
  };
  const run = async () => {
    busy = true;
    again = false;
    likely = await read();
    busy = false;
    last = Date.now();
    if (again) soon();
    else later();
  };
  const soon = () => {
    if (busy) again = true;
    if (busy || ended || document.hidden) return;
    clearTimeout(timer);
    timer = setTimeout(() => void run(), Math.max(0, last + gap - Date.now()));
  };
  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
    streaming = false;
  };
  const connect = () => {
    close();
    if (ended || document.hidden) return;
    const mine = new EventSource(url(`v1/live?session=${encodeURIComponent(session)}`));
    source = mine;
    mine.onopen = () => {
      streaming = true;
      if (likely) soon(); // for what came before the stream
    };
    mine.onerror = () => {
      if (streaming) likely = true; // for what comes until it is back
      streaming = false;
      if (!busy) later();
      if (mine.readyState === EventSource.CLOSED) retry = setTimeout(connect, retryRefused);
    };
    mine.addEventListener("change", (e: MessageEvent<string>) => { if (!e.data.includes('"kind":"refusal"')) soon(); });
    mine.addEventListener("reset", soon);
  };
  const seen = () => {
    clearTimeout(timer);
    connect();
    soon();
  };
  document.addEventListener("visibilitychange", seen);
  connect();
  return () => {
    ended = true;
    document.removeEventListener("visibilitychange", seen);
    clearTimeout(timer);
    close();
  };
}
