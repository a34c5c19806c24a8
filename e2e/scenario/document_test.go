package scenario_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/e2e/scenario"
)

func TestDocumentRefuses(t *testing.T) {
	t.Parallel()
	doc, err := scenario.LoadDocument("../../pkg/httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const id = "33333333-3333-4333-8333-333333333333"
	failure := `{"statusCode": 404, "message": "m", "success": false, "errorCode": "NOT_FOUND"}`
	for _, tt := range []struct {
		name, method, path string
		status             int
		body               string
		want               string // in the error, "" for none
	}{
		{"an answer as it should be", "GET", "/v1/tools", 200, `[]`, ""},
		{"an alias", "DELETE", "/v1/session/" + id, 200, `{"success": true, "deleted": "` + id + `"}`, ""},
		{"a member that is missing", "DELETE", "/sessions/" + id, 200, `{"success": true}`, "missing property 'deleted'"},
		{"a value of another type", "DELETE", "/sessions/" + id, 200, `{"success": 1, "deleted": "x"}`, "/success"},
		{"another format", "DELETE", "/sessions/" + id, 200, `{"success": true, "deleted": "x"}`, "'x' is not valid uuid"},
		{"an error", "GET", "/sessions/" + id, 404, failure, ""},
		{"an error that lacks something", "GET", "/sessions/" + id, 404, `{"message": "m"}`, "missing properties 'statusCode'"},
		{"a status that is not there", "GET", "/sessions/" + id, 418, failure, "no answer 418 for GET /sessions/{id}"},
		{"a fixed path before one with an id", "GET", "/v1/events/chart", 404, failure, "no answer 404 for GET /events/chart"},
		{"a path that is not there", "GET", "/else", 404, `{}`, ""},
		{"a method that is not there", "PATCH", "/sessions/" + id, 405, `{}`, ""},
		{"no JSON", "GET", "/sessions/" + id, 404, `{`, "EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := &http.Response{StatusCode: tt.status, Header: http.Header{"Content-Type": {"application/json"}}}
			err := doc.Check(tt.method, tt.path, answer, []byte(tt.body))
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	answer := &http.Response{StatusCode: 404, Header: http.Header{"Content-Type": {"text/plain"}}}
	if err := doc.Check("GET", "/sessions/"+id, answer, nil); err == nil || !strings.Contains(err.Error(), "no text/plain") {
		t.Errorf("a content type that is not there: %v", err)
	}
}
