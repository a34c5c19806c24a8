package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	const got = `{"a": 1.0, "b": [1, {"c": "text"}], "id": "22222222-2222-4222-8222-222222222222", "n": null, "o": {}}`
	for _, tt := range []struct {
		want     string
		problems []string
	}{
		{`{}`, nil},
		{`{"a": 1.0, "b": [1, {"c": "text"}], "n": null}`, nil},
		{`{"a": "<number>", "b": "<any>", "id": "<uuid>", "o": "<object>", "z": "<absent>"}`, nil},
		{`{"b": [1, {"c": "<contains ex>"}]}`, nil},
		{`{"b": ["<any>", "<any>"]}`, nil},
		{`"<any>"`, nil},
		{`{"a": 1}`, []string{`a: 1.0, want 1`}},
		{`{"b": [1]}`, []string{`b: [1,{"c":"text"}], want an array of 1`}},
		{`{"b": [2, {"c": "other"}]}`, []string{`b[0]: 1, want 2`, `b[1].c: "text", want "other"`}},
		{`{"a": "<absent>"}`, []string{`a: 1.0, want nothing`}},
		{`{"z": 1}`, []string{`z: nothing, want 1`}},
		{`{"a": "<uuid>"}`, []string{`a: 1.0, want <uuid>`}},
		{`{"id": "<contains zz>"}`, []string{`id: "22222222-2222-4222-8222-222222222222", want <contains zz>`}},
		{`{"n": {}}`, []string{`n: null, want an object`}},
		{`[]`, []string{`the answer: {"a":1.0,"b":[1,{"c":"text"}],"id":"22222222-2222-4222-8222-222222222222","n":null,"o":{}}, want an array of 0`}},
	} {
		want, err := decode([]byte(tt.want))
		if err != nil {
			t.Fatal(err)
		}
		value, err := decode([]byte(got))
		if err != nil {
			t.Fatal(err)
		}
		m := matcher{vars: map[string]string{}}
		m.match("", want, value)
		if diff := cmp.Diff(tt.problems, m.problems); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.want, diff)
		}
	}
}

func TestMatchSets(t *testing.T) {
	t.Parallel()
	m := matcher{vars: map[string]string{}}
	m.match("", map[string]any{"a": "<set x>"}, map[string]any{"a": "value"})
	if diff := cmp.Diff(map[string]string{"x": "value"}, m.vars); diff != "" || m.problems != nil {
		t.Errorf("%v (-want +got)\n%s", m.problems, diff)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	steps, err := parse([]byte("What it shows.\n-- one --\nPOST /a?b=c d\nX-A: b\n\n{\"x\":\n1}\n-- 200 --\nRetry-After: 1\n\n{\"y\": 2}\n-- without --\nnull\nmore\n-- two --\nGET /\n-- 404 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []step{
		{name: "one", method: "POST", target: "/a?b=c d", header: map[string][]string{"X-A": {"b"}}, body: "{\"x\":\n1}", status: 200,
			expect: map[string][]string{"Retry-After": {"1"}}, answer: `{"y": 2}`, without: []string{"null", "more"}},
		{name: "two", method: "GET", target: "/", header: map[string][]string{}, status: 404},
	}
	if diff := cmp.Diff(want, steps, cmp.AllowUnexported(step{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, bad := range []string{"", "-- a --\nGET /\n", "-- 200 --\n", "-- a --\nGET /\n-- b --\nGET /\n-- 200 --\n", "-- a --\nGET\n-- 200 --\n", "-- without --\nx\n"} {
		if _, err := parse([]byte(bad)); err == nil {
			t.Errorf("%q was parsed", strings.ReplaceAll(bad, "\n", " "))
		}
	}
}
