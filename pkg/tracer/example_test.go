package tracer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/tracer"
)

// A session with two steps, one in the other.
func Example() {
	server := standIn() // http://127.0.0.1:7420
	defer server.Close()
	ctx := context.Background()

	t, err := tracer.New(server.URL, "key", tracer.WithSource("production"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		// So long at most for what still waits.
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := t.Shutdown(ctx); err != nil {
			log.Print(err)
		}
	}()

	ask := tracer.Wrap(t, "ask", func(ctx context.Context, question string) (string, error) {
		// Here a model would be called.
		tracer.Enrich(ctx, tracer.Fields{Config: map[string]any{"model": "m-large"}, Metadata: map[string]any{"prompt_tokens": 23, "completion_tokens": 8}})
		return "Within 30 days.", nil
	}, tracer.Model)

	ctx, session := t.StartSession(ctx, "support chat", tracer.Fields{UserProperties: map[string]any{"user_id": "u-17"}})
	err = t.Trace(ctx, "answer", func(ctx context.Context) error {
		answer, err := ask(ctx, "Can I return this?")
		fmt.Println(answer)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	tracer.EnrichSession(ctx, tracer.Fields{Feedback: map[string]any{"rating": 5}})
	fmt.Println(session == tracer.SessionID(ctx))
	// Output:
	// Within 30 days.
	// true
}

// Feedback comes long after the step that it is about: keep the step's id.
func ExampleTracer_Update() {
	server := standIn()
	defer server.Close()
	t, err := tracer.New(server.URL, "key")
	if err != nil {
		log.Fatal(err)
	}
	defer t.Shutdown(context.Background())

	var id string
	_ = t.Trace(context.Background(), "answer", func(ctx context.Context) error {
		id = tracer.EventID(ctx)
		return nil
	})
	// … a day later
	t.Update(id, tracer.Fields{Feedback: map[string]any{"helpful": true}})
	if err := t.Flush(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Counts().Sent, "sent")
	// Output: 2 sent
}

// Spans of any OpenTelemetry instrumentation belong to the session of their context.
func ExampleTracer_Provider() {
	server := standIn()
	defer server.Close()
	t, err := tracer.New(server.URL, "key")
	if err != nil {
		log.Fatal(err)
	}
	defer t.Shutdown(context.Background())

	ctx, _ := t.StartSession(context.Background(), "support chat")
	ctx, span := t.Provider().Tracer("any.instrumentation").Start(ctx, "chat m-large")
	tracer.Enrich(ctx, tracer.Fields{Metrics: map[string]any{"polite": true}})
	span.End()
	if err := t.Flush(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Counts().Lost, "lost")
	// Output: 0 lost
}

// The configuration that an experiment hands to a tracer.
func ExampleExperiment() {
	var x tracer.Experiment
	err := json.Unmarshal([]byte(`{"project": "shop", "is_evaluation": true, "run_id": "0192f0a4-7c1e-7aaa-8bbb-1234567890ab",
		"dataset_id": "EXT-5b0c1d2e3f405162", "datapoint_id": "EXT-1", "source": "evaluation"}`), &x)
	if err != nil {
		log.Fatal(err)
	}
	server := standIn()
	defer server.Close()
	t, err := tracer.New(server.URL, "key")
	if err != nil {
		log.Fatal(err)
	}
	defer t.Shutdown(context.Background())
	ctx, _ := t.StartSession(context.Background(), "trial", x)
	err = t.Trace(ctx, "answer", func(context.Context) error { return nil })
	fmt.Println(x.DatapointID, err)
	// Output: EXT-1 <nil>
}

// standIn takes everything. The tests of this package run against real servers.
func standIn() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/traces") {
			fmt.Fprint(w, `{"success":true}`)
		}
	}))
}
