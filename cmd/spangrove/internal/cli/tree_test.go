package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTreeMarksDuplicates: a call that two spans tell has its tokens and cost once.
func TestTreeMarksDuplicates(t *testing.T) {
	t.Parallel()
	session := json.RawMessage(`{"event_type":"session","event_name":"s","duration":2,"metadata":{"total_tokens":7},"children":[
		{"event_type":"model","event_name":"chat","duration":1,"metadata":{"total_tokens":7,"cost":0.5}},
		{"event_type":"model","event_name":"create","duration":1,"metadata":{"total_tokens":7,"cost":0.5,"duplicate_of":"a"}}]}`)
	var got table
	drawTree(&got, session, "", "", -1)
	for i, want := range []string{"session s|2ms|7|-|-", "├─ model chat|1ms|7|$0.5|-", "└─ model create (duplicate)|1ms|-|-|-"} {
		if row := strings.Join(got.rows[i], "|"); row != want {
			t.Errorf("row %d is %q, want %q", i, row, want)
		}
	}
}
