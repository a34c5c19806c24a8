package scenario_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store"
)

// secret stands in all data of the project that must not be seen.
const secret = "the-secret-of-the-first-project"

// keyring is one key of each sort, in a data directory that no server has opened yet.
type keyring struct {
	refused map[string]string        // why it is refused, to the key
	scoped  map[project.Scope]string // of the first project
	other   map[project.Scope]string // of another project
}

func makeKeys(t *testing.T, dir string) keyring {
	t.Helper()
	s, err := store.OpenSQLite(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	first, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.EnsureProject(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	add := func(p project.Project, scope project.Scope, change func(*project.Key)) string {
		text := project.NewSecret()
		k := project.Key{ID: uuid.NewString(), ProjectID: p.ID, Name: "key", Prefix: project.Prefix(text), Hash: project.HashSecret(text), Scope: scope,
			Origin: project.OriginAPI, CreatedAt: time.UnixMilli(1)}
		if change != nil {
			change(&k)
		}
		if err := s.InsertKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		return text
	}
	r := keyring{refused: map[string]string{
		"no key":         "",
		"a wrong key":    project.NewSecret(),
		"an expired key": add(first, project.ScopeAdmin, func(k *project.Key) { k.ExpiresAt = time.UnixMilli(2) }),
		"a revoked key":  add(first, project.ScopeAdmin, func(k *project.Key) { k.RevokedAt = time.UnixMilli(2) }),
	}, scoped: map[project.Scope]string{}, other: map[project.Scope]string{}}
	for _, scope := range project.Scopes() {
		r.scoped[scope] = add(first, scope, nil)
		r.other[scope] = add(second, scope, nil)
	}
	return r
}

// door is a path of the server and what a key must allow to go through.
type door struct {
	method, url, path string
	operation         string // empty for those of the receiver
	scope             project.Scope
}

// doors are all paths of a server but the health check, with ids that belong to the first project.
func doors(api, otlp string, ids map[string]string) []door {
	var all []door
	add := func(base, method, path, operation string, scope project.Scope) {
		noun := strings.Split(strings.TrimPrefix(path, "/v1"), "/")[1]
		filled := strings.ReplaceAll(path, "{id}", ids[noun])
		filled = strings.ReplaceAll(filled, "{key}", ids["key"])
		filled = strings.ReplaceAll(filled, "{chart}", ids["charts"])
		filled = strings.ReplaceAll(filled, "{view}", ids["views"])
		filled = strings.ReplaceAll(filled, "{comment}", ids["comments"])
		filled = strings.ReplaceAll(filled, "{dashboard}", ids["dashboards"])
		filled = strings.ReplaceAll(filled, "{alert}", ids["alerts"])
		filled = strings.ReplaceAll(filled, "{event}", ids["events"])
		filled = strings.ReplaceAll(filled, "{field}", "inputs")
		filled = strings.ReplaceAll(filled, "{old}", ids[noun])
		filled = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(filled, "v1")
		if operation == "withdrawAnnotation" {
			filled += "?annotator=ann"
		}
		all = append(all, door{method, base + filled, path, operation, scope})
	}
	for _, r := range httpapi.New(httpapi.Deps{}).Routes() {
		add(api, r.Method, r.Path, r.Operation, r.Scope)
	}
	for _, pattern := range mount.WritePatterns() {
		method, path, _ := strings.Cut(pattern, " ")
		add(api, method, path, "", project.ScopeIngest)
	}
	for _, path := range []string{"/v1/traces", "/v1/logs", "/v1/metrics"} {
		add(otlp, "POST", path, "", project.ScopeIngest)
	}
	return all
}

// knock sends a request through a door with a key.
func (d door) knock(t *testing.T, key string, ids map[string]string) (status int, body string) {
	t.Helper()
	text := fmt.Sprintf(`{"event_id": %q, "id": %q, "metric_id": %q, "dataset_id": %q, "project_id": %q, "event_type": "tool", "inputs": {}, "name": "probe", "metric": "duration", "annotator": "probe", "scores": {"m": 1}, "events": [], "logs": [],
		"model_events": [], "resourceSpans": [], "resourceLogs": [], "resourceMetrics": []}`, ids["events"], ids["tools"], ids["metrics"], ids["datasets"], ids["projects"])
	switch path := strings.TrimPrefix(d.path, "/v1"); {
	case d.method == http.MethodGet:
		text = ""
	case path == "/events/search" || path == "/events/export" || path == "/events/otlp":
		text = "{}" // everything; these refuse what they do not know
	}
	url := d.url
	if d.method == http.MethodDelete && !strings.Contains(d.path, "{") { // the older form, with the id in the query
		switch path := strings.TrimPrefix(d.path, "/v1"); path {
		case "/metrics":
			url += "?metric_id=" + ids["metrics"]
		case "/tools":
			url += "?function_id=" + ids["tools"]
		case "/datasets":
			url += "?dataset_id=" + ids["datasets"]
		case "/projects":
			url += "?name=default"
		case "/samples": // takes no id
		default:
			t.Fatalf("DELETE %s takes no id", d.path)
		}
	}
	return send(t, d.method, url, key, text)
}

func send(t *testing.T, method, url, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// furnish fills the first project with one of everything, each with the secret in it, and gives
// their ids by the first part of their paths.
func furnish(t *testing.T, api, key string) map[string]string {
	t.Helper()
	ids := map[string]string{"sessions": uuid.NewString(), "events": uuid.NewString()}
	ids["session"] = ids["sessions"]
	for _, thing := range []struct {
		noun, method, path, body string
		id                       []string // where the answer has the id
	}{
		{"", "POST", "/session/start", `{"session": {"session_id": "` + ids["sessions"] + `", "session_name": "` + secret + `"}}`, nil},
		{"", "POST", "/events", `{"event": {"event_id": "` + ids["events"] + `", "session_id": "` + ids["sessions"] + `", "event_type": "tool", "event_name": "` + secret + `", "inputs": {}}}`, nil},
		{"tools", "POST", "/v1/tools", `{"name": "` + secret + `", "parameters": {}}`, []string{"result", "insertedId"}},
		{"metrics", "POST", "/v1/metrics", `{"name": "` + secret + `", "type": "HUMAN", "criteria": ""}`, []string{"metric_id"}},
		{"", "PUT", "/v1/providers/v1", `{"model": "` + secret + `"}`, nil},
		{"charts", "POST", "/v1/charts", `{"name": "` + secret + `", "metric": "duration"}`, []string{"data", "id"}},
		{"dashboards", "POST", "/v1/dashboards", `{"name": "` + secret + `"}`, []string{"data", "id"}},
		{"alerts", "POST", "/v1/alerts", `{"name": "` + secret + `", "metric": "duration", "enabled": false}`, []string{"data", "id"}},
		{"views", "POST", "/v1/views", `{"name": "` + secret + `", "page": "sessions"}`, []string{"data", "id"}},
		{"comments", "POST", "/v1/events/{id}/comments", `{"author": "a", "text": "` + secret + `"}`, []string{"data", "id"}},
		{"queues", "POST", "/v1/queues", `{"name": "` + secret + `", "event_ids": ["` + ids["events"] + `"]}`, []string{"queue", "id"}},
		{"configurations", "POST", "/v1/configurations", `{"name": "` + secret + `", "provider": "p", "parameters": {"call_type": "chat", "model": "m"}}`, []string{"insertedId"}},
		{"datapoints", "POST", "/v1/datapoints", `{"inputs": {"q": "` + secret + `"}}`, []string{"result", "insertedId"}},
		{"datasets", "POST", "/v1/datasets", `{"name": "` + secret + `"}`, []string{"result", "insertedId"}},
		{"runs", "POST", "/v1/runs", `{"name": "` + secret + `", "event_ids": ["` + ids["sessions"] + `"]}`, []string{"run_id"}},
		{"projects", "GET", "/v1/projects?name=default", "", []string{"0", "id"}},
	} {
		if !served(thing.method, thing.path) {
			continue
		}
		status, body := send(t, thing.method, api+strings.ReplaceAll(thing.path, "{id}", ids["events"]), key, thing.body)
		if status != 200 && status != 201 {
			t.Fatalf("%s %s: %d %s", thing.method, thing.path, status, body)
		}
		if thing.id != nil {
			ids[thing.noun] = at(t, body, thing.id)
		}
	}
	_, body := send(t, "GET", api+"/v1/projects/"+ids["projects"]+"/api_keys", key, "")
	ids["key"] = at(t, body, []string{"data", "0", "key_id"})
	return ids
}

// served reports whether a server has a path.
func served(method, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return slices.Contains(mount.WritePatterns(), method+" "+path) ||
		slices.ContainsFunc(httpapi.New(httpapi.Deps{}).Routes(), func(r httpapi.Route) bool { return r.Method == method && r.Path == path })
}

// at returns the text at a place in a JSON text.
func at(t *testing.T, body string, path []string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for _, step := range path {
		switch now := v.(type) {
		case map[string]any:
			v = now[step]
		case []any:
			v = now[int(step[0]-'0')]
		}
	}
	text, ok := v.(string)
	if !ok {
		t.Fatalf("nothing at %v in %s", path, body)
	}
	return text
}

// everything is all that the first project has, as its own key reads it.
func everything(t *testing.T, api, key string, ids map[string]string) (all []string) {
	t.Helper()
	for _, path := range []string{"/v1/sessions/" + ids["sessions"], "/v1/events/" + ids["events"], "/v1/events/" + ids["events"] + "/comments", "/v1/tools", "/v1/providers", "/v1/charts", "/v1/views", "/v1/alerts", "/v1/alerts/" + ids["alerts"] + "/notices", "/v1/dashboards", "/v1/dashboards/" + ids["dashboards"], "/v1/queues", "/v1/queues/" + ids["queues"] + "/items", "/v1/metrics", "/v1/configurations", "/v1/datapoints",
		"/v1/datasets", "/v1/runs", "/v1/runs/" + ids["runs"] + "/result", "/v1/projects?name=default", "/v1/projects/" + ids["projects"] + "/api_keys", "/v1/metrics/" + ids["metrics"] + "/versions", "/v1/evaluations"} {
		if strings.Count(path, "/") == 2 && !served("GET", path) {
			continue
		}
		status, body := send(t, "GET", api+path, key, "")
		if status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
		all = append(all, path+" "+keyUse.ReplaceAllString(body, ""))
	}
	return all
}

// keyUse is when and whence a key was last used, which every request changes.
var keyUse = regexp.MustCompile(`,"last_used_at":"[^"]*","last_used_from":"[^"]*"`)

// TestEveryDoorIsLocked knocks at every path of a server with every sort of key that must not
// go through.
func TestEveryDoorIsLocked(t *testing.T) {
	dir := t.TempDir()
	keys := makeKeys(t, dir)
	api, otlp := inprocess.Start(t, fmt.Sprintf("sqlite: {directory: %q}", dir))
	ids := furnish(t, api, inprocess.Key)
	before := everything(t, api, inprocess.Key, ids)
	all := doors(api, otlp, ids)
	if len(all) < 100 {
		t.Fatalf("%d doors", len(all))
	}
	check := func(d door, why, key string, status ...int) {
		t.Helper()
		got, body := d.knock(t, key, ids)
		if !slices.Contains(status, got) {
			t.Errorf("%s %s with %s: %d %s, want %d", d.method, d.path, why, got, body, status)
		}
		if strings.Contains(body, secret) || strings.Contains(body, ids["key"]) {
			t.Errorf("%s %s with %s shows what it must not: %s", d.method, d.path, why, body)
		}
	}
	for _, d := range all {
		for why, key := range keys.refused {
			check(d, why, key, 401)
		}
		for _, scope := range project.Scopes() {
			if !scope.Allows(d.scope) {
				check(d, "a key of scope "+string(scope), keys.scoped[scope], 403)
				check(d, "another project's key of scope "+string(scope), keys.other[scope], 403)
			}
		}
		if d.scope == project.ScopeAdmin {
			continue // a key of scope admin manages all projects of the server
		}
		// The same ids mean nothing in another project: what is named by its id is not there,
		// what is made is made there, and lists are that project's.
		status := []int{200, 201, 400, 404}
		if strings.Contains(d.path, "{") && d.method != http.MethodPost && d.operation != "updateEventById" {
			status = []int{404, 400}
		}
		if strings.Contains(d.path, "{") && (d.method == http.MethodGet || d.method == http.MethodDelete) {
			status = []int{404}
		}
		if d.operation == "setProvider" || d.operation == "deleteProvider" {
			status = []int{200, 404} // a provider is named by its project, which makes one of its own and deletes that
		}
		if d.operation == "deleteEvent" {
			status = []int{200, 404} // the first deletes the update of that id that waits in the other project
		}
		check(d, "another project's key", keys.other[project.ScopeFull], status...)
	}
	after := everything(t, api, inprocess.Key, ids)
	for i := range before {
		if before[i] != after[i] {
			t.Errorf("something changed:\n%s\n%s", before[i], after[i])
		}
	}
}

// TestIngestKeyReadsNothing asks everything that a key of scope ingest may ask about what is stored:
// no answer tells what that is, nor whether it is there.
func TestIngestKeyReadsNothing(t *testing.T) {
	dir := t.TempDir()
	keys := makeKeys(t, dir)
	api, otlp := inprocess.Start(t, fmt.Sprintf("sqlite: {directory: %q}", dir))
	ids := furnish(t, api, inprocess.Key)
	// Spans of a session of their own, to be asked for by their trace.
	trace := strings.Repeat("ab", 16)
	spans := func(name string) string {
		return `{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "` + trace + `", "spanId": "` + strings.Repeat("cd", 8) + `", "name": "` + name + `",
			"startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000001000000000"}]}]}]}`
	}
	if status, body := send(t, "POST", api+"/v1/traces", inprocess.Key, spans(secret)); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	stored := []string{ids["sessions"], ids["events"], uuid.MustParse(trace).String()}
	asked := 0
	for _, d := range doors(api, otlp, ids) {
		if d.scope != project.ScopeIngest {
			continue
		}
		answers := map[string]string{} // to what, with its ids taken out, to the id
		for _, id := range append(slices.Clone(stored), uuid.NewString()) {
			url := d.url
			for _, known := range stored {
				url = strings.ReplaceAll(url, known, id)
			}
			for form, body := range map[string]string{
				"bare":      `{"session_id": %[1]q, "event_id": %[1]q, "event_type": "tool", "inputs": {}, "metadata": {"probe": 1}}`,
				"session":   `{"session": {"session_id": %[1]q}}`,
				"event":     `{"event": {"event_id": %[1]q, "session_id": %[1]q, "event_type": "tool", "inputs": {}}}`,
				"batch":     `{"events": [{"event_id": %[1]q, "session_id": %[1]q, "event_type": "tool", "inputs": {}}]}`,
				"update":    `{"event_id": %[1]q, "metadata": {"probe": 1}}`,
				"telemetry": spans("probe"),
				"nothing":   `{}`,
			} {
				if strings.Contains(body, "%[1]q") {
					body = fmt.Sprintf(body, id)
				}
				status, answer := send(t, d.method, url, keys.scoped[project.ScopeIngest], body)
				asked++
				if strings.Contains(answer, secret) {
					t.Errorf("%s %s, %s: %d shows what is stored: %s", d.method, d.path, form, status, answer)
				}
				if form == "nothing" || form == "telemetry" {
					continue
				}
				// Ids and times are those of the request; all else must be the same whether the id is known.
				same := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|"(start|end)_time":[0-9.]+|"duration":[0-9.]+`).ReplaceAllString(answer, "")
				same = fmt.Sprint(status, same)
				if first, ok := answers[form]; ok && first != same {
					t.Errorf("%s %s, %s: the answer tells whether an id is stored:\n%s\n%s", d.method, d.path, form, first, same)
				}
				answers[form] = same
			}
		}
	}
	if asked < 500 {
		t.Errorf("only %d requests were tried", asked)
	}
}
