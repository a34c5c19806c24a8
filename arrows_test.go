// Package spangrove holds only the test of who may import whom.
package spangrove

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/spangrove/spangrove/"

// allowed lists, for each room, the rooms it may import; docs/ARCHITECTURE.md draws them.
var allowed = map[string][]string{
	"cmd/spangrove":                   {"cmd/spangrove/internal/cli", "cmd/spangrove/internal/rehearse", "pkg/ingress", "pkg/embedprovider", "pkg/mount", "receiver/spangrovereceiver", "exporter/spangroveexporter", "processor/evaluateprocessor", "processor/sampleprocessor", "processor/scrubprocessor", "extension/storeextension", "extension/authextension", "extension/evaluateextension", "extension/apiextension", "pkg/evaluate/python", "pkg/store", "pkg/diagnosis"},
	"cmd/spangrove/internal/cli":      {"pkg/client", "pkg/mcpserver", "pkg/experiment", "pkg/tracer", "pkg/webui", "pkg/durable", "nouns"},
	"cmd/spangrove/internal/rehearse": {},
	"receiver/spangrovereceiver":      {"pkg/ingress", "pkg/limit", "pkg/wire", "pkg/otlpmap", "pkg/spancodec", "pkg/mount", "pkg/fault/verdict", "nouns"},
	"exporter/spangroveexporter":      {"pkg/otlpmap", "pkg/fault/verdict", "pkg/spancodec", "pkg/mount", "nouns"},
	"processor/evaluateprocessor":     {"pkg/evaluate", "pkg/otlpmap", "pkg/spancodec", "pkg/wire", "pkg/query", "pkg/mount", "nouns"},
	"processor/sampleprocessor":       {},
	"processor/scrubprocessor":        {"pkg/scrub", "pkg/otlpmap", "pkg/spancodec", "nouns"},
	"extension/storeextension":        {"pkg/store", "pkg/mount", "nouns"},
	"extension/authextension":         {"pkg/durable", "pkg/limit", "pkg/mount", "pkg/fault/verdict", "nouns"},
	"extension/apiextension":          {"pkg/scrub", "pkg/ingress", "pkg/limit", "pkg/httpapi", "pkg/mcpserver", "pkg/wire", "pkg/mount", "pkg/webui", "nouns"},
	"extension/evaluateextension":     {"pkg/alerting", "pkg/durable", "pkg/egress", "pkg/evaluate", "pkg/evaluate/expression", "pkg/evaluate/llm", "pkg/evaluate/online", "pkg/evaluate/python", "pkg/mount", "nouns"},
	"pkg/httpapi":                     {"pkg/limit", "pkg/wire", "pkg/otlpexport", "pkg/query", "pkg/evaluate", "pkg/evaluate/library", "pkg/mount", "nouns"},

	"pkg/alerting":            {"pkg/egress", "pkg/query", "pkg/wire", "nouns"},
	"pkg/evaluate":            {"nouns"},
	"pkg/evaluate/online":     {"pkg/evaluate", "pkg/query", "pkg/wire", "nouns"},
	"pkg/evaluate/expression": {"pkg/evaluate", "nouns"},
	"pkg/evaluate/llm":        {"pkg/egress", "pkg/evaluate", "nouns"},
	"pkg/evaluate/library":    {"nouns"},
	"pkg/evaluate/python":     {"pkg/durable", "pkg/evaluate", "nouns"},

	"pkg/store":                       {"pkg/store/internal/backup", "pkg/store/internal/move", "pkg/store/internal/evalqueue", "pkg/store/internal/resource", "pkg/store/internal/events", "pkg/store/internal/sqldb", "pkg/query", "nouns"},
	"pkg/store/internal/evalqueue":    {"pkg/store/internal/resource", "pkg/store/internal/events", "pkg/store/internal/sqldb", "pkg/query", "nouns"},
	"pkg/store/internal/resource":     {"pkg/store/internal/events", "pkg/store/internal/writer", "pkg/store/internal/sqldb", "pkg/query", "nouns"},
	"pkg/store/internal/events":       {"pkg/store/internal/segment", "pkg/column", "pkg/words", "pkg/store/internal/writer", "pkg/store/internal/sqldb", "pkg/store/internal/live", "pkg/store/internal/sessiontree", "pkg/store/internal/record", "pkg/store/internal/bloom", "pkg/query", "nouns"},
	"pkg/store/internal/segment":      {"pkg/column", "pkg/words", "pkg/event", "pkg/query", "pkg/rawjson"},
	"pkg/store/internal/live":         {"pkg/event", "pkg/fault"},
	"pkg/store/internal/writer":       {"pkg/store/internal/sqldb", "pkg/fault"},
	"pkg/store/internal/sqldb":        {"pkg/durable", "pkg/diagnosis", "pkg/fault"},
	"pkg/store/internal/backup":       {"pkg/durable", "pkg/store/internal/sqldb", "pkg/diagnosis"},
	"pkg/store/internal/move":         {"pkg/store/internal/sqldb", "pkg/diagnosis"},
	"pkg/durable":                     {},
	"pkg/store/internal/sessiontree":  {"pkg/event", "pkg/rawjson"},
	"pkg/store/internal/record":       {"pkg/store/lzh", "pkg/event", "pkg/query"},
	"pkg/store/internal/bloom":        {},
	"pkg/store/lzh":                   {},
	"pkg/otlpmap":                     {"pkg/otlpmap/internal/jsonrepair", "pkg/otlpmap/internal/jsonscan", "pkg/pyliteral", "nouns"},
	"pkg/otlpmap/internal/jsonrepair": {"pkg/rawjson"},
	"pkg/otlpmap/internal/jsonscan":   {},
	"pkg/spancodec":                   {"nouns"},
	"pkg/otlpexport":                  {"pkg/spancodec", "nouns"},
	"pkg/wire":                        {"pkg/pyliteral", "pkg/query", "nouns"},
	"pkg/pyliteral":                   {"pkg/rawjson"},
	"pkg/query":                       {"pkg/column", "pkg/words", "nouns"},
	"pkg/words":                       {"pkg/column"},
	"pkg/column":                      {},
	"pkg/limit":                       {"nouns"},
	"pkg/mount":                       {"nouns"},
	"pkg/ingress":                     {"nouns"},
	"pkg/egress":                      {"pkg/fault"},
	"pkg/scrub":                       {"pkg/rawjson"},
	"pkg/seal":                        {},
	"pkg/embedprovider":               {},
	"pkg/webui":                       {},
	"pkg/webui/internal/bundle":       {},
	"pkg/webui/internal/apitypes":     {},
	"pkg/client":                      {},
	"pkg/mcpserver":                   {"pkg/client", "pkg/rawjson"},
	"pkg/tracer":                      {"pkg/client", "nouns"},
	"pkg/experiment":                  {"pkg/client", "pkg/tracer"},
	"pkg/event":                       {"pkg/fault", "pkg/rawjson"},
	"pkg/project":                     {"pkg/fault"},
	"pkg/audit":                       {},
	"pkg/diagnosis":                   {},
	"pkg/refused":                     {"pkg/fault"},
	"pkg/status":                      {},
	"pkg/sample":                      {"pkg/rawjson"},
	"pkg/price":                       {"pkg/fault"},
	"pkg/price/internal/gen":          {"pkg/price"},
	"pkg/chart":                       {"pkg/fault", "pkg/rawjson"},
	"pkg/view":                        {"pkg/fault", "pkg/rawjson"},
	"pkg/comment":                     {"pkg/fault", "pkg/rawjson"},
	"pkg/dashboard":                   {"pkg/fault", "pkg/rawjson"},
	"pkg/deletion":                    {"pkg/fault"},
	"pkg/alert":                       {"pkg/fault", "pkg/rawjson", "pkg/seal"},
	"pkg/configuration":               {"pkg/fault", "pkg/rawjson"},
	"pkg/dataset":                     {"pkg/fault", "pkg/rawjson"},
	"pkg/playground":                  {"pkg/fault", "pkg/rawjson"},
	"pkg/provider":                    {"pkg/fault", "pkg/rawjson", "pkg/seal"},
	"pkg/metric":                      {"pkg/fault", "pkg/rawjson"},
	"pkg/evaluation":                  {"pkg/fault", "pkg/rawjson"},
	"pkg/queue":                       {"pkg/fault", "pkg/rawjson"},
	"pkg/tool":                        {"pkg/fault", "pkg/rawjson"},
	"pkg/run":                         {"pkg/fault", "pkg/rawjson"},
	"pkg/rawjson":                     {},
	"pkg/fault":                       {},
	"pkg/fault/verdict":               {"pkg/fault"},
}

// nouns are open to all.
var nouns = []string{"pkg/event", "pkg/project", "pkg/audit", "pkg/diagnosis", "pkg/refused", "pkg/status", "pkg/sample", "pkg/price", "pkg/alert", "pkg/chart", "pkg/view", "pkg/comment", "pkg/dashboard", "pkg/deletion", "pkg/configuration", "pkg/dataset", "pkg/metric", "pkg/playground", "pkg/provider", "pkg/evaluation", "pkg/queue", "pkg/tool", "pkg/run", "pkg/fault", "pkg/rawjson"}

// TestArrows reads the imports of every room, tests left out.
func TestArrows(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := map[string]bool{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		room, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || strings.HasPrefix(room, "e2e") || strings.HasSuffix(room, "test") {
			continue // tests may stand anywhere
		}
		may, known := allowed[room]
		if !known {
			t.Errorf("%s is in no plan: name it in ARCHITECTURE.md and here", room)
			continue
		}
		seen[room] = true
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, module)
			if ours && !permits(may, to) {
				t.Errorf("%s must not import %s", room, to)
			}
		}
	}
	for room := range allowed {
		if !seen[room] {
			t.Errorf("%s is planned but not there", room)
		}
	}
}

func permits(may []string, to string) bool {
	for _, m := range may {
		if m == to {
			return true
		}
		if m == "nouns" {
			for _, n := range nouns {
				if n == to {
					return true
				}
			}
		}
	}
	return false
}
