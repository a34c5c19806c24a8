package client

import (
	"context"
	"net/http"
	"time"
)

// Ready asks whether the server takes and answers requests; nil means it does. It needs no key.
func (c *Client) Ready(ctx context.Context) error {
	return c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/healthcheck", Repeatable: true}, nil)
}

// OpenAPI reads the description of the API, in YAML.
func (c *Client) OpenAPI(ctx context.Context) (text []byte, err error) {
	err = c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/openapi.yaml", Accept: "application/yaml", Repeatable: true}, &text)
	return text, err
}

// Refusal is a request that the server refused, or several alike.
type Refusal struct {
	Time      time.Time `json:"time"` // of the last one
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Status    int       `json:"status"` // that of HTTP, also for gRPC
	Message   string    `json:"message"`
	KeyPrefix string    `json:"key_prefix"` // the first characters of the key; empty if there was none
	Count     int64     `json:"count"`
}

// Refusals reads the latest requests of the project that were refused, the last one first; those of unknown callers are among
// them if the key is of scope admin, or the server has a single project.
func (c *Client) Refusals(ctx context.Context) ([]Refusal, error) {
	var answer struct {
		Refusals []Refusal `json:"refusals"`
	}
	err := c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/server/refusals", Repeatable: true}, &answer)
	return answer.Refusals, err
}

// ServerStatus is how a server is. What the key may not see is nil.
type ServerStatus struct {
	Time     time.Time       `json:"time"`
	Covers   string          `json:"covers"` // server, or project where other projects are not the key's to see
	Problems []ServerProblem `json:"problems"`

	Server struct {
		Version     string    `json:"version"`
		GoVersion   string    `json:"go_version"`
		OS          string    `json:"os"`
		Arch        string    `json:"arch"`
		StartedAt   time.Time `json:"started_at"`
		UptimeS     float64   `json:"uptime_s"`
		MemoryBytes int64     `json:"memory_bytes"`
		HeapBytes   int64     `json:"heap_bytes"`
		MemoryLimit int64     `json:"memory_limit"` // 0: none
		Goroutines  int64     `json:"goroutines"`
		GOMAXPROCS  int       `json:"gomaxprocs"`
		CPUs        int       `json:"cpus"`
	} `json:"server"`
	Store *struct {
		Kind      string `json:"kind"` // sqlite or postgresql
		Version   string `json:"version"`
		Directory string `json:"directory,omitempty"`
		Disk      *struct {
			FreeBytes  int64 `json:"free_bytes"`
			TotalBytes int64 `json:"total_bytes"`
		} `json:"disk,omitempty"` // nil if the store has no directory
		DatabaseBytes *int64 `json:"database_bytes,omitempty"`
		WriteCheck    *struct {
			Time   time.Time `json:"time"`
			OK     bool      `json:"ok"`
			TookMS float64   `json:"took_ms"`
			Reason string    `json:"reason,omitempty"`
		} `json:"write_check,omitempty"`
	} `json:"store,omitempty"`
	Ingest *struct {
		Events ServerRate `json:"events"` // stored, with repeats
		Spans  ServerRate `json:"spans"`
		Native ServerRate `json:"native"`
	} `json:"ingest,omitempty"`
	Commits *struct { // of the last five minutes, but for totals
		P50MS        *float64   `json:"p50_ms"`
		P99MS        *float64   `json:"p99_ms"`
		Count        *int64     `json:"count,omitempty"`
		MeanEvents   *float64   `json:"mean_events,omitempty"`
		Total        *int64     `json:"total,omitempty"`
		Failed       *int64     `json:"failed,omitempty"`
		LastFailedAt *time.Time `json:"last_failed_at,omitempty"`
	} `json:"commits,omitempty"`
	Queue *struct { // of writes
		Requests    int64 `json:"requests"`
		MaxRequests int64 `json:"max_requests"`
		Events      int64 `json:"events"`
		Bytes       int64 `json:"bytes"`
		MaxBytes    int64 `json:"max_bytes"`
		Refused     int64 `json:"refused"`
	} `json:"queue,omitempty"`
	Waiting *struct { // for their event
		Updates    int64 `json:"updates"`
		MaxUpdates int64 `json:"max_updates"`
		LogParts   int64 `json:"log_parts"`
	} `json:"waiting,omitempty"`
	Evaluations *struct {
		Waiting   int64 `json:"waiting"`
		Due       int64 `json:"due"`
		Delayed   int64 `json:"delayed"`
		NewEvents int64 `json:"new_events"`
		Failed    int64 `json:"failed"`
		Dead      int64 `json:"dead"`
	} `json:"evaluations,omitempty"`
	Index *struct {
		Segments          int64   `json:"segments"`
		WaitingSegments   int64   `json:"waiting_segments"`
		WaitingWords      int64   `json:"waiting_words"`
		WaitingTextEvents int64   `json:"waiting_text_events"`
		UnsealedEvents    int64   `json:"unsealed_events"`
		ChangedEvents     int64   `json:"changed_events"`
		IdleS             float64 `json:"idle_s"`
	} `json:"index,omitempty"`
	Packer *struct {
		Sessions int64 `json:"sessions"`
		Due      int64 `json:"due"`
	} `json:"packer,omitempty"`
	Contents *struct {
		Projects    int64 `json:"projects"`
		Sessions    int64 `json:"sessions"`
		Events      int64 `json:"events"`
		StoredBytes int64 `json:"stored_bytes"`
	} `json:"contents,omitempty"`
	Refusals []struct { // since the server started
		Reason string    `json:"reason"`
		Status int       `json:"status"`
		Count  int64     `json:"count"`
		LastAt time.Time `json:"last_at"`
	} `json:"refusals"`
	Retention *struct {
		Rule    Retention `json:"rule"`
		Default Retention `json:"default"`
	} `json:"retention,omitempty"`
	Configuration Object `json:"configuration,omitempty"`
}

// ServerProblem is something that is wrong with a server.
type ServerProblem struct {
	Code     string `json:"code"`     // such as store_not_writable or disk_low
	Severity string `json:"severity"` // error or warning
	Message  string `json:"message"`
}

// ServerRate is how many of something came.
type ServerRate struct {
	PerSecond1m float64 `json:"per_second_1m"`
	PerSecond5m float64 `json:"per_second_5m"`
	Total       int64   `json:"total"` // since the server started
}

// Status reads how the server is.
func (c *Client) Status(ctx context.Context) (*ServerStatus, error) {
	return one[ServerStatus](ctx, c, Request{Method: http.MethodGet, Path: "/v1/server/status", Repeatable: true})
}

// Diagnosis reads the status as Markdown for a report of a fault: without names, secrets and content.
func (c *Client) Diagnosis(ctx context.Context) (text string, err error) {
	var raw []byte
	err = c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/server/diagnosis", Accept: "text/markdown", Repeatable: true}, &raw)
	return string(raw), err
}

// ServerSpace is what takes the space of the database.
type ServerSpace struct {
	CountedAt time.Time `json:"counted_at"`
	TookMS    float64   `json:"took_ms"`
	Bytes     int64     `json:"bytes"`
	Kinds     []struct {
		Kind  string `json:"kind"` // such as heads, payload or indexes
		Bytes int64  `json:"bytes"`
	} `json:"kinds"` // the largest first
}

// Space counts what takes the space of the database, by kind. Of SQLite the server reads the whole file for that.
func (c *Client) Space(ctx context.Context) (*ServerSpace, error) {
	return one[ServerSpace](ctx, c, Request{Method: http.MethodGet, Path: "/v1/server/space", Repeatable: true})
}
