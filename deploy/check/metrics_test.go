package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const key = "0123456789abcdef-check"

// server is a running server of this repository.
type server struct{ api, otlp, metrics string }

func startServer(t *testing.T) server {
	t.Helper()
	binary := os.Getenv("SPANGROVE_E2E_BINARY")
	if binary == "" {
		binary = filepath.Join(t.TempDir(), "spangrove")
		build := exec.Command("go", "build", "-o", binary, "./cmd/spangrove")
		build.Dir = "../.."
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
	}
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
	s := server{free(), free(), free()}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(os.Environ(), "SPANGROVE_ADDR="+s.api, "SPANGROVE_OTLP_HTTP_ADDR="+s.otlp, "SPANGROVE_OTLP_GRPC_ADDR=", "SPANGROVE_METRICS_ADDR="+s.metrics,
		"SPANGROVE_DATA_DIR="+filepath.Join(dir, "data"), "SPANGROVE_API_KEY="+key, "SPANGROVE_POSTGRES_DSN=")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		log.Close()
	})
	for range 600 {
		if code, _ := s.call(t, http.MethodGet, s.api, "/readyz", "", ""); code == http.StatusOK {
			return s
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, _ := os.ReadFile(log.Name())
	t.Fatalf("not ready:\n%s", text)
	return s
}

func (s server) call(t *testing.T, method, addr, path, key, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(all)
}

// exercise does what makes most of the metrics appear.
func (s server) exercise(t *testing.T) {
	t.Helper()
	must := func(want int, method, addr, path, body string) {
		t.Helper()
		if status, text := s.call(t, method, addr, path, key, body); status != want {
			t.Fatalf("%s %s: %d %s", method, path, status, text)
		}
	}
	must(200, "POST", s.api, "/v1/samples", "")
	must(200, "POST", s.api, "/v1/events/search", `{"filters":[{"field":"metadata.x","operator":"is","value":"y"}]}`)
	must(200, "POST", s.otlp, "/v1/traces", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"","spanId":"","name":"a","startTimeUnixNano":"1795213764357000000"},
		{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"chat","startTimeUnixNano":"1795213764357000000","endTimeUnixNano":"1795213765357000000"}]}]}]}`)
	must(400, "POST", s.otlp, "/v1/traces", `{"resourceSpans":7}`)
	must(200, "POST", s.otlp, "/v1/metrics", `{"resourceMetrics":[]}`)
	if status, _ := s.call(t, "GET", s.api, "/v1/events", "wrong-key-wrong-key", ""); status != 401 {
		t.Fatalf("a wrong key: %d", status)
	}
}

var sample = regexp.MustCompile(`(?m)^([a-z_A-Z0-9]+)(?:\{(.*)\})? [^ ]+$`)

// scrape returns the metrics of the server with the names of their labels.
func (s server) scrape(t *testing.T) map[string]map[string]bool {
	t.Helper()
	status, text := s.call(t, http.MethodGet, s.metrics, "/metrics", "", "")
	if status != http.StatusOK {
		t.Fatalf("metrics: %d", status)
	}
	all := map[string]map[string]bool{}
	for _, m := range sample.FindAllStringSubmatch(text, -1) {
		if all[m[1]] == nil {
			all[m[1]] = map[string]bool{}
		}
		for _, l := range regexp.MustCompile(`([a-zA-Z_]+)="`).FindAllStringSubmatch(m[2], -1) {
			all[m[1]][l[1]] = true
		}
	}
	return all
}

var tableRow = regexp.MustCompile("(?m)^\\| `(spangrove_\\w+)` \\| (\\w+) \\|([^|]*)\\|")

// documented returns the metrics of docs/operations.md with the names of their labels, histograms by the names of their series.
func documented(t *testing.T) map[string]map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]bool{}
	for _, m := range tableRow.FindAllStringSubmatch(string(text), -1) {
		with := map[string]bool{}
		for _, l := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(m[3], -1) {
			with[l[1]] = true
		}
		if m[2] != "histogram" {
			all[m[1]] = with
			continue
		}
		bucket := maps.Clone(with)
		bucket["le"] = true
		all[m[1]+"_bucket"], all[m[1]+"_sum"], all[m[1]+"_count"] = bucket, with, with
	}
	return all
}

// expressions returns those of the rules and of the dashboard, by where they stand.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, r := range rules(t) {
		all["alert "+r.Alert] = r.Expr
	}
	text, err := os.ReadFile("../grafana/spangrove.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$instance", ".*", "$__rate_interval", "5m")
	for _, p := range dashboard.Panels {
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 {
			t.Errorf("the panel %s shows nothing", p.Title)
		}
		for i, target := range p.Targets {
			all[fmt.Sprintf("panel %s %d", p.Title, i)] = variables.Replace(target.Expr)
		}
	}
	if len(all) < 50 {
		t.Errorf("only %d expressions were found", len(all))
	}
	return all
}

// ofPrometheus are labels that Prometheus gives to what it scrapes.
var ofPrometheus = []string{"instance", "job", "__name__"}

// TestMetrics starts the server, has it do something, and holds what it exports against the documentation, and the rules and the dashboard against both.
// What appears only in trouble, or long after a start, is taken from the documentation, which a test of the product holds against its sources.
func TestMetrics(t *testing.T) {
	s := startServer(t)
	s.exercise(t)
	served, table := s.scrape(t), documented(t)
	seen := 0
	for name, with := range served {
		if !strings.HasPrefix(name, "spangrove_") {
			continue
		}
		seen++
		if table[name] == nil {
			t.Errorf("%s is not in docs/operations.md", name)
			continue
		}
		if !maps.Equal(with, table[name]) && !(name == "spangrove_store_segment_reads" && with["by"]) { // without a reason if segments answered
			t.Errorf("%s has the labels %v, docs/operations.md says %v", name, slices.Sorted(maps.Keys(with)), slices.Sorted(maps.Keys(table[name])))
		}
	}
	if seen < 30 {
		t.Errorf("only %d series of ours were scraped", seen)
	}
	known := maps.Clone(table)
	maps.Copy(known, served)
	maps.Copy(known, table)
	known["up"] = map[string]bool{}
	for _, name := range []string{"sent_spans", "send_failed_spans", "queue_size", "queue_capacity"} { // of the Collector; not in the default configuration
		known["otelcol_exporter_"+name] = map[string]bool{"exporter": true}
	}
	known["otelcol_processor_memory_limiter_refused_spans"] = map[string]bool{}
	shown := slices.Collect(maps.Values(expressions(t)))
	for name := range table {
		name = strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count") // of a histogram, whose buckets are shown
		if !slices.ContainsFunc(shown, func(expr string) bool { return strings.Contains(expr, name) }) {
			t.Errorf("%s is in no panel of the dashboard and in no rule", name)
		}
	}
	for _, name := range []string{"spangrove_store_segments_damaged", "spangrove_alert_notices"} {
		if served[name] == nil {
			t.Errorf("%s is not there from the start, so that its first count raises no alert", name)
		}
	}
	for where, text := range expressions(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		checkExpr(t, where, expr, known)
	}
}

// checkExpr checks each selector of an expression, and each label by which it groups.
func checkExpr(t *testing.T, where string, expr parser.Expr, known map[string]map[string]bool) {
	t.Helper()
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			with := known[n.Name]
			if with == nil {
				t.Errorf("%s: there is no metric %s", where, n.Name)
				return nil
			}
			for _, m := range n.LabelMatchers {
				if !with[m.Name] && !slices.Contains(ofPrometheus, m.Name) {
					t.Errorf("%s: %s has no label %s", where, n.Name, m.Name)
				}
				if m.Type == labels.MatchEqual && m.Value == "" {
					t.Errorf("%s: %s matches an empty %s", where, n.Name, m.Name)
				}
			}
		case *parser.AggregateExpr:
			parser.Inspect(n.Expr, func(inner parser.Node, _ []parser.Node) error {
				if v, is := inner.(*parser.VectorSelector); is {
					for _, by := range n.Grouping {
						if with := known[v.Name]; with != nil && !with[by] && !slices.Contains(ofPrometheus, by) {
							t.Errorf("%s: %s has no label %s to group by", where, v.Name, by)
						}
					}
				}
				return nil
			})
		}
		return nil
	})
}
