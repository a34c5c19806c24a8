package spangrove

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What stands in deploy and in docs/operations.md is held against the product here, with nothing but Go; deploy/check, a module of its
// own, renders the chart and parses the expressions.

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// deployed returns the files of deploy by path, those of its check left out.
func deployed(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir("deploy", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "check" || d.Name() == "secrets"):
			return filepath.SkipDir
		case !d.IsDir():
			all[filepath.ToSlash(path)] = readFile(t, path)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// sources returns the text of the Go files and of the embedded configuration, tests left out.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, root := range []string{"cmd", "pkg", "receiver", "exporter", "extension", "processor"} {
		if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasSuffix(path, "_test.go") && (strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "embedprovider/default.yaml")) {
				all.WriteString(readFile(t, path))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

func TestDeployFilesParse(t *testing.T) {
	t.Parallel()
	n := 0
	for path, text := range deployed(t) {
		var err error
		switch {
		case strings.Contains(path, "/templates/"):
			continue // no YAML before they are rendered
		case strings.HasSuffix(path, ".yaml"):
			err = yaml.Unmarshal([]byte(text), new(any))
		case strings.HasSuffix(path, ".json"):
			err = json.Unmarshal([]byte(text), new(any))
		default:
			continue
		}
		n++
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n < 8 {
		t.Errorf("only %d files were looked at", n)
	}
}

var variable = regexp.MustCompile(`\b(SPANGROVE|OPENAI|ANTHROPIC|GEMINI)_[A-Z0-9_]+[A-Z0-9]\b`)

// variablesOfCompose are those that compose.yaml itself reads.
var variablesOfCompose = map[string]bool{"SPANGROVE_IMAGE": true}

// TestDeployVariables checks that every variable in deploy is one that the server reads, and that the README has it.
func TestDeployVariables(t *testing.T) {
	t.Parallel()
	product, readme := sources(t), readFile(t, "README.md")
	n := 0
	for path, text := range deployed(t) {
		for _, name := range variable.FindAllString(text, -1) {
			if variablesOfCompose[name] {
				continue
			}
			n++
			// Of a secret the sources have the name without _FILE.
			base := name
			if !strings.HasPrefix(name, "SPANGROVE_TLS_") {
				base = strings.TrimSuffix(name, "_FILE")
			}
			if base != name && !strings.Contains(product, `"`+base+`":`) {
				t.Errorf("%s: %s: %s is no secret that may come from a file", path, name, base)
			}
			if !regexp.MustCompile(`\b` + base + `\b`).MatchString(product) {
				t.Errorf("%s: the server reads no %s", path, name)
			}
			if !strings.Contains(readme, "`"+name+"`") {
				t.Errorf("%s: the README does not have %s", path, name)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d variables were found", n)
	}
}

var (
	addressVariable = regexp.MustCompile(`SPANGROVE_(?:OTLP_GRPC_|OTLP_HTTP_|METRICS_)?ADDR(?:, value)?: "?0\.0\.0\.0:(\d+)`)
	containerPort   = regexp.MustCompile(`containerPort: (\d+)`)
	probePath       = regexp.MustCompile(`httpGet: \{ path: (/\w+), port: api`)
)

// TestDeployPorts checks that what listens, what is opened and what is asked are the same ports and paths.
func TestDeployPorts(t *testing.T) {
	t.Parallel()
	files := deployed(t)
	found := func(re *regexp.Regexp, text string) (all []string) {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return all
	}
	ports := []string{"4317", "4318", "7420", "8888"}
	chart, compose := files["deploy/helm/spangrove/templates/deployment.yaml"], files["deploy/compose/compose.yaml"]
	for what, got := range map[string][]string{
		"the chart listens":   found(addressVariable, chart),
		"the chart opens":     found(containerPort, chart),
		"the service serves":  found(regexp.MustCompile(`, port: (\d+), targetPort`), files["deploy/helm/spangrove/templates/service.yaml"]),
		"compose listens":     found(addressVariable, compose),
		"compose and scrapes": append(found(regexp.MustCompile(`127\.0\.0\.1:\d+:(\d+)`), compose), found(regexp.MustCompile(`spangrove:(\d+)`), files["deploy/compose/prometheus.yaml"])...),
	} {
		slices.Sort(got)
		if !slices.Equal(got, ports) {
			t.Errorf("%s at %q, want %q", what, got, ports)
		}
	}
	served := readFile(t, "extension/apiextension/middleware.go")
	paths := found(probePath, chart)
	if !slices.Equal(paths, []string{"/healthcheck", "/livez", "/readyz"}) {
		t.Errorf("probes ask %q", paths)
	}
	for _, path := range paths {
		if !strings.Contains(served, `"`+path+`"`) {
			t.Errorf("the API serves no %s", path)
		}
	}
	for _, path := range []string{"/data"} {
		for name, text := range map[string]string{"chart": chart, "compose": compose} {
			if !strings.Contains(text, "SPANGROVE_DATA_DIR, value: "+path) && !strings.Contains(text, "SPANGROVE_DATA_DIR: "+path) {
				t.Errorf("the %s does not keep data in %s", name, path)
			}
		}
	}
}

var (
	instrument = regexp.MustCompile(`(?:Int64|Float64)(Observable)?(Counter|UpDownCounter|Gauge|Histogram)\(\s*"(spangrove_\w+)"`)
	listed     = regexp.MustCompile(`\{"(spangrove_\w+)", "\{`) // in a table of gauges
	documented = regexp.MustCompile("(?m)^\\| `(spangrove_\\w+)` \\| (\\w+) \\|")
)

// TestOperationsMetrics holds the table of docs/operations.md against the instruments of the product, in both directions.
func TestOperationsMetrics(t *testing.T) {
	t.Parallel()
	source := sources(t)
	made := map[string]string{}
	for _, m := range instrument.FindAllStringSubmatch(source, -1) {
		made[m[3]] = map[string]string{"Counter": "counter", "UpDownCounter": "gauge", "Gauge": "gauge", "Histogram": "histogram"}[m[2]]
	}
	for _, m := range listed.FindAllStringSubmatch(source, -1) {
		made[m[1]] = "gauge"
	}
	table := map[string]string{}
	for _, m := range documented.FindAllStringSubmatch(readFile(t, "docs/operations.md"), -1) {
		table[m[1]] = m[2]
	}
	if len(made) < 40 {
		t.Errorf("only %d instruments were found", len(made))
	}
	if !maps.Equal(made, table) {
		for _, name := range slices.Sorted(maps.Keys(made)) {
			if table[name] != made[name] {
				t.Errorf("%s is a %s; docs/operations.md has %q", name, made[name], table[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if made[name] == "" {
				t.Errorf("docs/operations.md has %s, which the product has not", name)
			}
		}
	}
}

// TestOperationsAlerts checks that every rule leads to what to do about it, and that nothing else is told.
func TestOperationsAlerts(t *testing.T) {
	t.Parallel()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Expr        string
				Annotations map[string]string
				Labels      map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "deploy/prometheus/alerts.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	docs := readFile(t, "docs/operations.md")
	headings := regexp.MustCompile(`(?m)^### (Spangrove\w+)$`).FindAllStringSubmatch(docs, -1)
	var told, ruled []string
	for _, m := range headings {
		told = append(told, m[1])
	}
	for _, r := range rules.Groups[0].Rules {
		ruled = append(ruled, r.Alert)
		want := fmt.Sprintf("https://github.com/spangrove/spangrove/blob/main/docs/operations.md#%s", strings.ToLower(r.Alert))
		if r.Annotations["runbook_url"] != want {
			t.Errorf("%s leads to %s, want %s", r.Alert, r.Annotations["runbook_url"], want)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) {
			t.Errorf("%s: no summary, description or severity", r.Alert)
		}
	}
	if !slices.Equal(told, ruled) {
		t.Errorf("docs/operations.md tells what to do about\n%q\nrules are\n%q", told, ruled)
	}
}
