package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/harness"
	"github.com/spangrove/spangrove/pkg/client"
)

// metricsAtOnce is how many comparisons share two runs, each as a metric of its own: as many metrics as a comparison of runs has.
const metricsAtOnce = 100

// statisticsCase is a comparison that e2e/statistics/reference.py has generated.
type statisticsCase struct {
	Name      string
	Base, New [][]float64 // values of each datapoint
}

// TestStatistics stores 200 generated comparisons as runs, and has scipy check what the server says of them, and how often such intervals hold the
// true difference.
func TestStatistics(t *testing.T) {
	harness.Require(t)
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(harness.Root(t), "pkg", "run", "testdata", "intervals.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []statisticsCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	harness.OneStore(t, "sqlite", func(t *testing.T, store harness.Store) {
		srv := harness.Start(t, harness.Options{Store: store})
		c, err := client.New(srv.URL, srv.Key)
		if err != nil {
			t.Fatal(err)
		}
		answers := map[string]client.ComparedMetric{}
		for from := 0; from < len(cases); from += metricsAtOnce {
			some := cases[from:min(from+metricsAtOnce, len(cases))]
			base := storeRun(t, c, some, func(x *statisticsCase) [][]float64 { return x.Base })
			now := storeRun(t, c, some, func(x *statisticsCase) [][]float64 { return x.New })
			compared, err := c.Runs.CompareMany(t.Context(), client.RunCompareQuery{RunIDs: []string{now, base}, Baseline: base, Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range compared.Metrics {
				answers[m.Key] = m.Runs[0]
			}
		}
		input, err := json.Marshal(answers)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(sdkDir(t), "venv-statistics", "bin", "python"),
			filepath.Join(harness.Root(t), "e2e", "statistics", "reference.py"), "--check")
		cmd.Stdin = bytes.NewReader(input)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// storeRun stores a run that has each comparison's values as a metric: a session for each repetition of a datapoint.
func storeRun(t *testing.T, c *client.Client, cases []statisticsCase, values func(*statisticsCase) [][]float64) string {
	t.Helper()
	id := uuid.NewString()
	metrics := map[[2]int]map[string]float64{} // by datapoint and repetition
	for i := range cases {
		for datapoint, list := range values(&cases[i]) {
			for repetition, v := range list {
				at := [2]int{datapoint, repetition}
				if metrics[at] == nil {
					metrics[at] = map[string]float64{}
				}
				metrics[at][cases[i].Name] = v
			}
		}
	}
	var events []map[string]any
	for at, scores := range metrics {
		events = append(events, map[string]any{
			"session_id": uuid.NewString(), "event_type": "session", "event_name": "generated", "inputs": map[string]any{},
			"metadata": map[string]any{"run_id": id, "datapoint_id": fmt.Sprint("EXT-", at[0])}, "metrics": scores,
		})
	}
	var answer any
	if err := c.Call(t.Context(), client.Request{Method: "POST", Path: "/v1/events/batch", Body: map[string]any{"events": events}}, &answer); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Runs.Create(t.Context(), client.RunInput{RunID: id, Name: "generated", Status: client.RunCompleted}); err != nil {
		t.Fatal(err)
	}
	return id
}
