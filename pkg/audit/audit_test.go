package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestNotes(t *testing.T) {
	t.Parallel()
	n := Notes{Max: 2}
	add := func(ms int64, address, outcome, target string) {
		n.Add(Entry{At: time.UnixMilli(ms), Action: SignIn, Address: address, Outcome: outcome, Target: target})
	}
	is := func(want ...string) {
		t.Helper()
		var got []string
		for _, e := range n.Take() {
			got = append(got, fmt.Sprintf("%d %s %s %s %d", e.At.UnixMilli(), e.Address, e.Outcome, e.Target, e.Count))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	is()
	add(1, "a", UnknownKey, "x")
	add(2, "a", UnknownKey, "y")
	add(3, "a", NoKey, "")
	for i := range int64(10_000) {
		add(10+i, fmt.Sprint(i), UnknownKey, "z")
	}
	add(4, "a", NoKey, "")
	add(5, "b", NoKey, "")
	is("1 a UNKNOWN_KEY x 2", "3 a NO_KEY  2", "10  UNKNOWN_KEY  10000", "5  NO_KEY  1")
	add(6, "a", NoKey, "")
	is("6  NO_KEY  1")
	n.Renew()
	add(7, "a", NoKey, "")
	is("7 a NO_KEY  1")
	is()
}

func TestNotesOfSuccess(t *testing.T) {
	t.Parallel()
	n := Notes{Max: 10}
	for _, model := range []string{"own/a", "own/b", "own/a"} {
		n.Add(Entry{Action: PlaygroundRun, KeyID: "k", Target: model, Outcome: Success})
	}
	n.Add(Entry{Action: PlaygroundRun, KeyID: "k", Target: "own/b", Outcome: "RATE_LIMITED"})
	n.Add(Entry{Action: PlaygroundRun, KeyID: "k", Target: "own/a", Outcome: "RATE_LIMITED"})
	var got []string
	for _, e := range n.Take() {
		got = append(got, fmt.Sprintf("%s %s %d", e.Target, e.Outcome, e.Count))
	}
	if want := []string{"own/a SUCCESS 2", "own/b SUCCESS 1", "own/b RATE_LIMITED 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"id":                                "id",
		"a\x00b\xffc":                       "a\uFFFDb\uFFFDc",
		strings.Repeat("x", 300):            strings.Repeat("x", 200),
		strings.Repeat("x", 199) + "\u2603": strings.Repeat("x", 199),
		strings.Repeat("x", 197) + "\u2603": strings.Repeat("x", 197) + "\u2603",
	} {
		e := Entry{Target: text}.Bounded()
		if e.Target != want || e.Count != 1 || !utf8.ValidString(e.Target) {
			t.Errorf("%q: %q", text, e.Target)
		}
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted(Actions()) || IsAction("") || !IsAction(SignIn) {
		t.Error(Actions())
	}
}
