package mount

// writePatterns are the paths that the receiver serves on the API port.
var writePatterns = []string{
	"POST /session/start", "POST /v1/session/start",
	"POST /sessions", "POST /v1/sessions",
	"POST /session/{id}/traces", "POST /v1/session/{id}/traces",
	"POST /sessions/{id}/events/batch", "POST /v1/sessions/{id}/events/batch",
	"POST /events", "POST /v1/events",
	"POST /events/model", "POST /v1/events/model",
	"POST /events/batch", "POST /v1/events/batch",
	"POST /events/model/batch", "POST /v1/events/model/batch",
	"POST /samples", "POST /v1/samples",
	"POST /opentelemetry/v1/traces", "POST /v1/traces",
	"POST /opentelemetry/v1/logs", "POST /v1/logs",
	"POST /opentelemetry/v1/metrics", // /v1/metrics is the resource of evaluator metrics
}

// WritePatterns returns the patterns of every write path: those the receiver mounts, and for
// which the API extension answers 503 while nobody has.
func WritePatterns() []string { return append([]string(nil), writePatterns...) }
