package experiment_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/experiment"
	"github.com/spangrove/spangrove/pkg/tracer"
)

func ExampleEvaluate() {
	server := standIn() // http://127.0.0.1:7420
	defer server.Close()
	ctx := context.Background()
	c, err := client.New(server.URL, "key")
	if err != nil {
		log.Fatal(err)
	}
	t, err := tracer.New(server.URL, "key")
	if err != nil {
		log.Fatal(err)
	}
	defer t.Shutdown(ctx)

	capital := func(ctx context.Context, d experiment.Datapoint) (any, error) {
		// Here a model would be asked.
		return map[string]string{"France": "Paris", "Japan": "Kyoto"}[d.Inputs["country"].(string)], nil
	}
	exact := func(ctx context.Context, c experiment.Case) (bool, error) {
		return c.Outputs == c.GroundTruth, nil
	}
	result, err := experiment.Evaluate(ctx, c, t, experiment.Spec{
		Name:         "capitals",
		Function:     capital,
		FunctionName: "capital",
		Dataset: []experiment.Datapoint{
			{Inputs: map[string]any{"country": "France"}, GroundTruth: "Paris"},
			{Inputs: map[string]any{"country": "Japan"}, GroundTruth: "Tokyo"},
		},
		Evaluators: []experiment.Evaluator{experiment.Func("exact", exact)},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range result.Datapoints {
		fmt.Println(d.ID, d.Outputs, d.Scores["exact"].Value)
	}
	// Output:
	// EXT-aaf6eac21a5cfc4a Paris true
	// EXT-6e20d8b80b30fc91 Kyoto false
}

// standIn takes everything. The tests of this package run against real servers.
func standIn() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/traces") {
			fmt.Fprint(w, `{}`)
		}
	}))
}
