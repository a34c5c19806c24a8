package query_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
)

func TestFindSnippets(t *testing.T) {
	t.Parallel()
	failed := "no refund: timeout"
	e := event.Event{Name: "refund order", Error: &failed,
		Inputs:   json.RawMessage(`{"chat_history":[{"role":"user","content":"Please REFUND my order, the refund is due"}],"n":5}`),
		Outputs:  json.RawMessage(`{"a.b":"Geld zur\u00fcck für die Bestellung"}`),
		Metadata: json.RawMessage(`{"note":"refund"}`)}
	for _, tt := range []struct {
		name, filters string
		want          []query.Snippet
	}{
		{"all texts, at most three", `[{"field":"text","operator":"contains","value":"refund"}]`, []query.Snippet{
			{"event_name", "", "refund", " order"}, {"error", "no ", "refund", ": timeout"},
			{"inputs.chat_history.0.content", "Please REFUND my order, the ", "refund", " is due"}}},
		{"words, whatever their case", `[{"field":"text","operator":"matches words","value":"bestellung zurück"}]`, []query.Snippet{
			{"outputs.a.b", "Geld ", "zurück", " für die Bestellung"}, {"outputs.a.b", "Geld zurück für die ", "Bestellung", ""}}},
		{"one field", `[{"field":"metadata.note","operator":"contains","value":"fun"}]`, []query.Snippet{{"metadata.note", "re", "fun", "d"}}},
		{"one place once", `[{"field":"event_name","operator":"contains","value":"ref"},{"field":"text","operator":"contains","value":"refund o"}]`,
			[]query.Snippet{{"event_name", "", "ref", "und order"}}},
		{"alternatives", `[{"any":[[{"field":"text","operator":"contains","value":"nothing"}],[{"field":"event_name","operator":"contains","value":"order"}]]}]`,
			[]query.Snippet{{"event_name", "refund ", "order", ""}}},
		{"what excludes", `[{"field":"text","operator":"not contains","value":"luck"},{"field":"event_name","operator":"is","value":"refund order"}]`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fs, err := query.ParseFilters(json.RawMessage(tt.filters), "filters")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, query.FindSnippets(fs, &e)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Around a hit stand whole characters, at most 80 on each side.
func TestSnippetBounds(t *testing.T) {
	t.Parallel()
	e := event.Event{Name: strings.Repeat("語", 300) + "needle" + strings.Repeat("é", 300)}
	fs, err := query.ParseFilters(json.RawMessage(`[{"field":"event_name","operator":"contains","value":"needle"}]`), "filters")
	if err != nil {
		t.Fatal(err)
	}
	got := query.FindSnippets(fs, &e)
	if len(got) != 1 || utf8.RuneCountInString(got[0].Before) != 80 || utf8.RuneCountInString(got[0].After) != 80 || !utf8.ValidString(got[0].Before+got[0].After) {
		t.Errorf("snippets %q", got)
	}
}
