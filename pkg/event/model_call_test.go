package event

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAccounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		parent []int32
		models string // M: model call, T: one with tools, C: one with messages
		want   string // W: wrapper, I: inner
		of     []int32
	}{
		{"none", nil, "", "", nil},
		{"alone", []int32{-1}, "M", ".", []int32{-1}},
		{"through others", []int32{-1, 0, 1}, "M.M", "W..", []int32{2, -1, -1}},
		{"children first", []int32{1, 2, -1}, "M.M", "..W", []int32{-1, -1, 0}},
		{"beside", []int32{-1, 0, 0}, ".MM", "...", []int32{-1, -1, -1}},
		{"three deep", []int32{-1, 0, 1}, "MMM", "WW.", []int32{2, 2, -1}},
		{"two branches", []int32{-1, 0, 0, 1, 2}, "MMMMM", "WWW..", []int32{-1, 3, 4, -1, -1}},
		{"a gap", []int32{-1, -1}, "MM", "..", []int32{-1, -1}},
		{"its own parent", []int32{0}, "M", ".", []int32{-1}},
		{"a cycle begins at its earliest", []int32{1, 0}, "MM", "W.", []int32{1, -1}},
		{"below a cycle", []int32{1, 0, 1}, ".MM", ".W.", []int32{-1, 2, -1}},
		{"content outside", []int32{-1, 0}, "CM", ".I", []int32{-1, 0}},
		{"content inside", []int32{-1, 0}, "MC", "W.", []int32{1, -1}},
		{"content in both", []int32{-1, 0}, "CC", "W.", []int32{1, -1}},
		{"content in the middle", []int32{-1, 0, 1, 2}, "MC.M", "W..I", []int32{1, -1, -1, 1}},
		{"content around several", []int32{-1, 0, 0, 2}, "CM.M", ".I.I", []int32{-1, 0, -1, 0}},
		{"content around one with and one without", []int32{-1, 0, 0}, "CMC", "W..", []int32{-1, -1, -1}},
		{"messages before tools", []int32{-1, 0, 1}, "CTM", ".II", []int32{-1, 0, 0}},
		{"tools before nothing", []int32{-1, 0, 1}, "MTM", "W.I", []int32{1, -1, 1}},
		{"tools inside messages", []int32{-1, 0, 1}, "TCT", "W.I", []int32{1, -1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spans := make([]Span, len(tt.models))
			for i := range spans {
				spans[i] = Span{tt.parent[i], tt.models[i] != '.', map[byte]Content{'T': ToolsOnly, 'C': Messages}[tt.models[i]]}
			}
			got := ""
			var of []int32
			for _, a := range Accounts(spans, func(a, b int32) bool { return a < b }) {
				switch {
				case a.Inner && a.Wrapper:
					got += "I"
				case a.Wrapper:
					got += "W"
				default:
					got += "."
				}
				of = append(of, a.Of)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if d := cmp.Diff(tt.of, of); d != "" {
				t.Errorf("stands for the call (-want +got)\n%s", d)
			}
		})
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		e    Event
		want Content
	}{
		{Event{}, NoContent},
		{Event{Inputs: json.RawMessage(`{"chat_history":[]}`), Outputs: json.RawMessage(`{"role":"assistant","finish_reason":"stop","content":null}`),
			Config: json.RawMessage(`{"model":"m","tools":[]}`)}, NoContent},
		{Event{Config: json.RawMessage(`{"tools":[{"name":"f"}]}`)}, ToolsOnly},
		{Event{Inputs: json.RawMessage(`{"chat_history":[{"role":"user"}]}`), Config: json.RawMessage(`{"tools":[{"name":"f"}]}`)}, Messages},
		{Event{Inputs: json.RawMessage(`{"a":"","b":[ ],"c":{ },"d":null}`)}, NoContent},
		{Event{Inputs: json.RawMessage(`{"a":[ ],"b":{"x":1}}`)}, Messages},
		{Event{Inputs: json.RawMessage(`{"a\"b":[1]}`)}, Messages},
		{Event{Inputs: json.RawMessage(`{ "a" : "x" }`)}, Messages},
		{Event{Inputs: json.RawMessage(`{"a":0}`)}, Messages},
		{Event{Inputs: json.RawMessage(`{"a":"x"}`)}, Messages},
		{Event{Outputs: json.RawMessage(`{"role":"assistant","content":"Yes."}`)}, Messages},
		{Event{Outputs: json.RawMessage(`"Yes."`)}, Messages},
	} {
		if got := tt.e.Content(); got != tt.want {
			t.Errorf("inputs %s, outputs %s, config %s: got %d, want %d", tt.e.Inputs, tt.e.Outputs, tt.e.Config, got, tt.want)
		}
	}
}
