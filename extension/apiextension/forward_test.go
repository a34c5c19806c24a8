package apiextension

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
)

// TestForwardUpdates: an update goes to the server that has the events, without its secrets, and the sender gets that one's answer.
func TestForwardUpdates(t *testing.T) {
	const id = "11111111-1111-4111-8111-111111111111"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	var status int
	var says, got string
	central := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(body)
		w.Header().Set("Location", elsewhere.URL+r.URL.Path)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, says)
	}))
	client := confighttp.NewDefaultClientConfig()
	client.Endpoint = central.URL + "/"
	client.Headers.Set("Authorization", configopaque.String("Bearer sg_central"))
	_, url := serve(t, func(c *Config) {
		c.Scrub = []string{"secrets"}
		c.ForwardUpdates = configoptional.Some(client)
	})
	secret := "ghp_" + strings.Repeat("0123456789", 3) + "abcdef"
	update := `{"event_id":"` + id + `","feedback":{"note":"` + secret + `"}}`
	for _, c := range []struct {
		status int
		says   string
		want   int
		holds  string
	}{
		{200, `{"success":true,"event_id":"` + id + `","pending":true}`, 200, `"pending":true`},
		{400, `{"message":"feedback: must be an object"}`, 400, "feedback: must be an object"},
		{404, `{"message":"no such event"}`, 404, "no such event"},
		{429, `{"message":"too many"}`, 429, "too many"},
		{401, `{"message":"unknown key"}`, 503, "refuses what this one forwards"},
		{500, `{"message":"internal error"}`, 503, "refuses what this one forwards"},
		{200, `<html>`, 503, "refuses what this one forwards"},
		{302, ``, 503, "refuses what this one forwards"}, // a read, with the key, would follow
		{307, ``, 503, "refuses what this one forwards"},
		{502, `bad gateway`, 503, "refuses what this one forwards"},
	} {
		status, says = c.status, c.says
		a := call(t, http.MethodPut, url+"/events", "good", strings.NewReader(update))
		if a.status != c.want || !strings.Contains(a.body, c.holds) {
			t.Errorf("%d %s: %d %s", c.status, c.says, a.status, a.body)
		}
		if want := `PUT /events/` + id + ` Bearer sg_central {"event_id":"` + id + `","feedback":{"note":"[scrubbed:github]"}}`; got != want {
			t.Errorf("%d: sent %s, want %s", c.status, got, want)
		}
	}
	if a := call(t, http.MethodPut, url+"/events", "good", strings.NewReader(`{"event_id":"x"}`)); a.status != http.StatusBadRequest {
		t.Errorf("an update that is wrong: %d %s", a.status, a.body)
	}
	central.Close()
	if a := call(t, http.MethodPut, url+"/events", "good", strings.NewReader(update)); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "cannot be reached") {
		t.Errorf("a server that is down: %d %s", a.status, a.body)
	}
}
