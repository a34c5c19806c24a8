package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spangrove/spangrove/e2e/harness"
)

// The questions of the benchmark at scale (loadgen scale) are answered as its generator expects, before and while more events come
// in, and in the same way by both databases.
func TestScaleAnswers(t *testing.T) {
	harness.Require(t)
	dir := t.TempDir()
	loadgen := filepath.Join(dir, "loadgen")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join(harness.Root(t), "e2e", "loadgen"), "-o", loadgen, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build loadgen: %v\n%s", err, out)
	}
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		const key = "sg_bench_0123456789abcdef0123456789abcdef"
		api, otlp := harness.FreeAddr(t), harness.FreeAddr(t)
		env := st.Env(t)
		if env == nil {
			env = map[string]string{}
		}
		for name, value := range map[string]string{"SPANGROVE_ADDR": api, "SPANGROVE_OTLP_GRPC_ADDR": otlp, "SPANGROVE_OTLP_HTTP_ADDR": "",
			"SPANGROVE_DATA_DIR": "${DIR}", "SPANGROVE_API_KEY": key} {
			env[name] = value
		}
		spec, err := json.Marshal(map[string]any{
			"name": st.Name, "env": env, "data": []string{"${DIR}"}, "mode": "otlp-grpc",
			"endpoint": otlp, "token": key, "query": "http://" + api,
			"start": []map[string]any{{"argv": []string{harness.Binary(t)}, "ready": "http://" + api + "/healthcheck"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		run := t.TempDir()
		specFile, outFile := filepath.Join(run, "spec.json"), filepath.Join(run, "out.json")
		if err := os.WriteFile(specFile, spec, 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), loadgen, "scale", "-n", "6000", "-reps", "1", "-limit", "1m", "-incoming", "300",
			"-settle", "0s", "-spec", specFile, "-dir", filepath.Join(run, "data"), "-out", outFile)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("loadgen scale: %v\n%s", err, out)
		}
		var res struct {
			Servers []struct {
				Questions []struct {
					Name string
					Over float64 `json:"over_ms"`
				}
				Load struct{ Events int }
			}
		}
		b, err := os.ReadFile(outFile)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &res); err != nil {
			t.Fatal(err)
		}
		s := res.Servers[0]
		if s.Load.Events != 6000 || len(s.Questions) < 25 {
			t.Fatalf("%d events and %d questions: %s", s.Load.Events, len(s.Questions), b)
		}
		for _, q := range s.Questions {
			if q.Over > 0 {
				t.Errorf("%s was not answered in time", q.Name)
			}
		}
	})
}
