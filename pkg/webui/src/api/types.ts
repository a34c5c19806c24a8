// What the API answers, as far as the pages read it; pkg/httpapi/openapi.yaml is the authority.

export interface Me {
  project: { id: string; name: string };
  scope: "ingest" | "read" | "full" | "admin";
  key_id?: string;
  version: string;
}

export type EventType = "session" | "chain" | "model" | "tool" | "generic";

export interface SessionRow {
  session_id: string;
  session_name: string;
  source: string;
  start_time: number;
  end_time: number;
  duration: number;
  num_events: number;
  num_model_events: number;
  num_errors: number;
  tokens: { prompt: number; completion: number; total: number };
  cost?: number;
  has_feedback: boolean;
  error?: string;
  user_id?: string;
  run_id?: string;
  metrics?: Record<string, unknown>;
  feedback?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  input?: string;
  output?: string;
}

export interface SessionPage {
  sessions: SessionRow[];
  next_cursor: string | null;
  total: number | null;
}

export interface TreeAnswer {
  session_id: string;
  touched: string;
  total: number;
  truncated: boolean;
  since?: string;
  columns: string[];
  rows: unknown[][];
  removed?: string[];
}

export interface EventRow {
  event_id: string;
  session_id: string;
  parent_id?: string;
  event_type: EventType;
  event_name: string;
  source: string;
  error?: string;
  start_time: number;
  end_time: number;
  duration: number;
  inputs?: unknown;
  outputs?: unknown;
  config?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  metrics?: Record<string, unknown>;
  feedback?: Record<string, unknown>;
  user_properties?: Record<string, unknown>;
}

export interface EventPage {
  events: EventRow[];
  totalEvents: number;
  next_cursor?: string | null; // of a search in an order
}

/** An event of a search that asked where it found its words. */
export interface FoundEvent extends EventRow {
  snippets: { field: string; before: string; hit: string; after: string }[];
}

export interface Preview {
  input?: string;
  output?: string;
  model?: string;
}

export interface SavedView {
  id: string;
  name: string;
  page: string;
  state: Record<string, unknown>;
}

export interface ApiCondition {
  field: string;
  operator: string;
  value?: unknown;
  type?: string;
}

export type ApiFilter = ApiCondition | { any: ApiCondition[][] };
