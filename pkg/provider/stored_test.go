package provider

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stored documents are read by later versions: neither names nor order nor what is left out may change.
func TestStoredDocument(t *testing.T) {
	text := "a \"quoted\" <text> & é\n"
	for _, c := range []struct {
		v    Provider
		want string
	}{
		{Provider{}, `{"type":"","base_url":"","model":"","daily_budget_usd":0,"daily_calls":0}`},
		{
			Provider{
				Name: "x", Type: Gemini, BaseURL: "https://example.com/v1?<&>", Model: text, DailyBudgetUSD: 0.25, DailyCalls: 1 << 53,
				SealedKey: []byte{0, 0xfb, 0xff, 0xfe}, Version: 2, Created: 3, Updated: 4,
			},
			`{"type":"gemini","base_url":"https://example.com/v1?<&>","model":"a \"quoted\" <text> & é\n","daily_budget_usd":0.25,` +
				`"daily_calls":9007199254740992,"sealed_key":"APv//g=="}`,
		},
		{
			Provider{DailyBudgetUSD: 1e21, DailyCalls: -1, SealedKey: []byte{}},
			`{"type":"","base_url":"","model":"","daily_budget_usd":1e+21,"daily_calls":-1,"sealed_key":""}`,
		},
	} {
		if got := string(c.v.Doc()); got != c.want {
			t.Errorf("stored\n%s, want\n%s", got, c.want)
		}
		c.v.Name, c.v.Version, c.v.Created, c.v.Updated = "", 0, 0, 0
		if diff := cmp.Diff(c.v, FromDoc(json.RawMessage(c.want))); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}
