package e2e

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/fakeopenai"
	"github.com/spangrove/spangrove/e2e/harness"
)

// webTool returns the path of a program or module that e2e/sdk/install.sh has installed for the tests of the pages.
func webTool(t *testing.T, parts ...string) string {
	t.Helper()
	return filepath.Join(append([]string{sdkDir(t), "web", "node_modules"}, parts...)...)
}

// run runs a program to its end, and shows what it printed.
func run(t *testing.T, env []string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = harness.Root(t), append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(argv[0]), err)
	}
}

// The sources of the pages have no error of types.
func TestWebTypes(t *testing.T) {
	harness.Require(t)
	run(t, nil, webTool(t, ".bin", "tsc"), "--project", filepath.Join(harness.Root(t), "pkg", "webui", "tsconfig.json"))
}

// What computes without a page is right, on the events of all samples too.
func TestWebModels(t *testing.T) {
	harness.Require(t)
	srv := harness.Start(t, harness.Options{})
	sendSamples(t, srv)
	events, err := srv.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	list, models := filepath.Join(dir, "events.json"), filepath.Join(dir, "models.mjs")
	if err := os.WriteFile(list, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "go", "-C", filepath.Join("pkg", "webui"), "run", "./internal/bundle", "-models", models)
	run(t, []string{"SPANGROVE_WEB_MODELS=" + models, "SPANGROVE_WEB_SAMPLES=" + list}, "node", "--test", filepath.Join("e2e", "web", "models.mjs"))
}

// The pages in a real browser: sign-in, lists, filters, all readings of a session, ten thousand events, ten megabytes, and hostile
// text, without an error, without a request to anybody else, and without a serious flaw of accessibility.
func TestWebPages(t *testing.T) {
	besideOthers(t)
	harness.OneStore(t, "sqlite", func(t *testing.T, st harness.Store) {
		srv := harness.Start(t, harness.Options{Store: st})
		sendSamples(t, srv)
		runPages(t, srv, "pages")
	})
}

// The pages of each area in a real browser, a file of e2e/web/flows and a server for each: each page's work done by keyboard and pointer, with
// hostile text, at all widths, without an error, a request to anybody else or a serious flaw of accessibility.
func TestWebFlows(t *testing.T) {
	models := httptest.NewServer(fakeopenai.Handler()) // that pages may set up as a provider
	t.Cleanup(models.Close)
	besideOthers(t)
	harness.OneStore(t, "sqlite", func(t *testing.T, st harness.Store) {
		flows, err := filepath.Glob(filepath.Join(harness.Root(t), "e2e", "web", "flows", "*.mjs"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range flows {
			name := strings.TrimSuffix(filepath.Base(path), ".mjs")
			t.Run(name, func(t *testing.T) {
				besideOthers(t)
				env := map[string]string{"SPANGROVE_ALLOW_MODEL_ADDRESSES": "127.0.0.1"} // these, and those that the cases play themselves
				if name == "path" {
					env["SPANGROVE_ALLOW_NOTICE_ADDRESSES"] = "127.0.0.1" // its receiver; other cases see that one there is refused
				}
				runPages(t, harness.Start(t, harness.Options{Store: st, Env: env}), "flows/"+name, "SPANGROVE_FAKE_MODELS="+models.URL+"/v1")
			})
		}
	})
}

// besideOthers lets other tests of pages run at the same time, unless bounds of times are held.
func besideOthers(t *testing.T) {
	if os.Getenv("SPANGROVE_WEB_TIMES") == "" {
		t.Parallel()
	}
}

// runPages runs the cases of one file of e2e/web.
func runPages(t *testing.T, srv *harness.Server, name string, extra ...string) {
	t.Helper()
	env := slices.Concat(
		extra,
		[]string{
			"SPANGROVE_WEB_PLAYWRIGHT=" + webTool(t, "playwright-core", "index.mjs"),
			"SPANGROVE_WEB_AXE=" + webTool(t, "axe-core", "axe.min.js"),
			"SPANGROVE_WEB_SHOTS=" + os.Getenv("SPANGROVE_WEB_SHOTS"),
			"SPANGROVE_E2E_BINARY=" + harness.Binary(t),
			"SPANGROVE_BINARY=" + harness.Binary(t), // the command line, for flows that use it
		},
		serverEnv(srv),
	)
	run(t, env, "node", "e2e/web/"+name+".mjs")
}

// signInLink is what a server prints on a terminal when it starts.
var signInLink = regexp.MustCompile(`http://\S+/#/in/[\w-]+`)

// A person's path from nothing: a new server's link is opened, and its page leads to the first own trace.
func TestWebFirstOpen(t *testing.T) {
	harness.Require(t)
	srv := harness.Start(t, harness.Options{Env: map[string]string{"SPANGROVE_API_KEY": ""}, Terminal: true})
	var link string
	for end := time.Now().Add(time.Minute); link == "" && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		link = string(signInLink.Find(srv.Tail()))
	}
	if link == "" {
		t.Fatalf("no link on the terminal:\n%s", srv.Tail())
	}
	run(t, []string{
		"SPANGROVE_WEB_PLAYWRIGHT=" + webTool(t, "playwright-core", "index.mjs"),
		"SPANGROVE_WEB_LINK=" + link,
		"SPANGROVE_WEB_GRPC=" + srv.GRPC,
		"SPANGROVE_WEB_PROGRAM=" + python(t) + " " + filepath.Join(harness.Root(t), "e2e", "sdk", "python", "first_trace.py"),
	}, "node", filepath.Join("e2e", "web", "first.mjs"))
}

// sendSamples stores what all real programs have sent.
func sendSamples(t *testing.T, srv *harness.Server) {
	t.Helper()
	for _, s := range samples(t) {
		srv.Must(t, "POST", "/v1/traces", json.RawMessage(s.traces), nil)
		if s.logs != nil {
			srv.Must(t, "POST", "/v1/logs", json.RawMessage(s.logs), nil)
		}
	}
}
