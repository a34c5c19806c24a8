package scenario_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/e2e/harness"
	"github.com/spangrove/spangrove/e2e/inprocess"
)

// What is recognisable is put wherever somebody can put it, and none of it is in a diagnosis, which people show to others.
func TestDiagnosisHasNoContent(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "planted-home")
		diagnosed(t, fmt.Sprintf("sqlite: {directory: %q}", dir))
	})
	t.Run("postgres", func(t *testing.T) {
		if os.Getenv("SPANGROVE_TEST_POSTGRES") == "" {
			t.Skip("SPANGROVE_TEST_POSTGRES is not set")
		}
		dsn, err := url.Parse(harness.PostgresDSN(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, given := dsn.User.Password(); !given {
			dsn.User = url.UserPassword(dsn.User.Username(), "planted-password") // one that the server does not ask for
		}
		password, _ := dsn.User.Password()
		diagnosed(t, fmt.Sprintf("postgres: {dsn: %q}", strings.ReplaceAll(dsn.String(), "$", "$$")), password, dsn.Path[1:])
	})
}

func diagnosed(t *testing.T, store string, secrets ...string) {
	api, _ := inprocess.Start(t, store)
	ask := func(key, method, path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, api+path, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode/100 == 5 {
			t.Fatalf("%s %s: %d %s %v", method, path, res.StatusCode, text, err)
		}
		return string(text)
	}
	var made struct {
		ID   string `json:"id"`
		Data struct {
			Key string `json:"key_value"`
			ID  string `json:"key_id"`
		} `json:"data"`
	}
	take := func(text string) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &made); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	take(ask(inprocess.Key, "POST", "/v1/projects", `{"name":"planted-project"}`))
	take(ask(inprocess.Key, "POST", "/v1/projects/"+made.ID+"/fine_grained_api_keys",
		`{"name":"planted-key","permissions":["full"],"expires_at":"2900-01-01T00:00:00Z"}`))
	key := made.Data.Key
	ask(key, "PUT", "/v1/providers/planted-provider", `{"type":"openai","base_url":"https://planted-host.example","api_key":"planted-provider-key"}`)
	ask(key, "POST", "/v1/metrics", `{"name":"planted-metric","type":"HUMAN","criteria":"planted-criteria"}`)
	ask(key, "POST", "/v1/events", `{"event":{"event_type":"tool","event_name":"planted-event","source":"planted-source",
		"inputs":{"q":"planted-input"},"outputs":{"a":"planted-output"},"metadata":{"planted-field":"planted-value"},"error":"planted-error","start_time":1790000000000,"end_time":1790000001000}}`)
	ask(key, "POST", "/v1/events?planted-parameter=1", `{"event_type":"planted-type"}`)
	ask("planted-unknown-key", "GET", "/v1/planted-path", "")
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	secrets = append(secrets, "planted", made.ID, made.Data.ID, key, key[:14], inprocess.Key, os.TempDir(), home+"/", strings.TrimPrefix(api, "http://"))
	for _, who := range []string{inprocess.Key, key} {
		for _, format := range []string{"markdown", "json"} {
			text := ask(who, "GET", "/v1/server/diagnosis?format="+format, "")
			if !strings.Contains(text, `"go_version"`) || !strings.Contains(text, `"validation_error"`) {
				t.Errorf("it does not say what it should:\n%s", text)
			}
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%q is in the diagnosis as %s:\n%s", secret, format, text)
				}
			}
		}
	}
	// The test can fail: who manages the server is told its directory by the status itself.
	if all := ask(inprocess.Key, "GET", "/v1/server/status", ""); strings.Contains(store, "planted-home") != strings.Contains(all, "planted-home") {
		t.Errorf("the status of %s: %s", store, all)
	}
}
