package apiextension

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/refused"
)

// What is refused before any handler is noted: wrong keys with the path, paths that are not there, and bodies that are not opened.
func TestRefusalsAreNoted(t *testing.T) {
	e, url := serve(t, nil)
	const wrong = "sg_abcdefghijklmnopqrstuvwxyz234567"
	call(t, "POST", url+"/v1/events?api_key="+wrong, wrong, strings.NewReader("a word of the body"))
	call(t, "POST", url+"/v1/"+wrong, wrong, nil)
	call(t, "GET", url+"/v1/me", "", nil)
	call(t, "GET", url+"/v1/me", "", nil, "Authorization", wrong) // without the word Bearer
	call(t, "GET", url+"/v1/events", "down", nil)                 // 503: the server's own
	call(t, "POST", url+"/v1/nowhere?x=secret", "good", nil)
	call(t, "DELETE", url+"/v1/me", "good", nil)
	call(t, "POST", url+"/v1/events/search", "good", strings.NewReader("x"), "Content-Encoding", "br")
	call(t, "DELETE", url+"/v1/sessions/33333333-3333-4333-8333-333333333333", "good", nil) // 404 of a session
	call(t, "DELETE", url+"/v1/sessions/33333333", "good", nil)

	show := func(list []refused.Request) (lines []string) {
		for _, r := range list {
			lines = append(lines, fmt.Sprintf("%s %s %d %q %s", r.Method, r.Path, r.Status, r.KeyPrefix, r.Message))
		}
		return lines
	}
	if diff := cmp.Diff([]string{
		`GET /v1/me 401 "sg_abcdefg" unknown API key`,
		`GET /v1/me 401 "" unknown API key`,
		`POST /v1/sg_abcdefg… 401 "sg_abcdefg" unknown API key`,
		`POST /v1/events 401 "sg_abcdefg" unknown API key`,
	}, show(e.refusals.Of("", true))); diff != "" {
		t.Errorf("of unknown callers: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		`DELETE /v1/sessions/{id} 400 "sg_good" session_id: "33333333" is not a UUID`,
		`POST /v1/events/search 400 "sg_good" Content-Encoding: must be one of gzip, zstd and identity, not "br"`,
		`DELETE /v1/me 405 "sg_good" this method is not possible here`,
		`POST /v1/nowhere 404 "sg_good" no such path`,
	}, show(e.refusals.Of("p7", false))); diff != "" {
		t.Errorf("of the project: -want +got\n%s", diff)
	}
}
