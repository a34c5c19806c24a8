package provider

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestBox(t *testing.T) {
	t.Parallel()
	secret := bytes.Repeat([]byte("s"), MinSecret)
	box, err := NewBox(secret)
	if err != nil {
		t.Fatal(err)
	}
	p := Provider{Name: "n", Type: OpenAI, BaseURL: "https://a"}
	box.Seal(1, &p, "the-key")
	if bytes.Contains(p.SealedKey, []byte("the-key")) {
		t.Error("sealed in the open")
	}
	same := p
	if key, err := box.Open(1, &same); key != "the-key" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	other, err := NewBox(append([]byte("x"), secret...))
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(Provider) (string, error){
		"another secret":  func(p Provider) (string, error) { return other.Open(1, &p) },
		"another project": func(p Provider) (string, error) { return box.Open(2, &p) },
		"another name":    func(p Provider) (string, error) { p.Name = "m"; return box.Open(1, &p) },
		"another type":    func(p Provider) (string, error) { p.Type = Gemini; return box.Open(1, &p) },
		"another address": func(p Provider) (string, error) { p.BaseURL = "https://b"; return box.Open(1, &p) },
		"cut":             func(p Provider) (string, error) { p.SealedKey = p.SealedKey[:5]; return box.Open(1, &p) },
		"changed": func(p Provider) (string, error) {
			p.SealedKey = append([]byte{p.SealedKey[0] ^ 1}, p.SealedKey[1:]...)
			return box.Open(1, &p)
		},
	} {
		if key, err := open(p); key != "" || fault.Of(err) != fault.Conflict {
			t.Errorf("%s: %q, %v", name, key, err)
		}
	}
	if key, err := box.Open(1, &Provider{}); key != "" || err != nil {
		t.Errorf("no key: %q, %v", key, err)
	}
	if _, err := NewBox(secret[1:]); err == nil {
		t.Error("a short secret")
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for _, tt := range []struct {
		u    Update
		kept bool
	}{
		{Update{Name: "n"}, true},
		{Update{Name: "n", Model: text("m")}, true},
		{Update{Name: "n", BaseURL: text("https://a")}, true},
		{Update{Name: "n", BaseURL: text("https://b")}, false},
		{Update{Name: "n", BaseURL: text("")}, false},
		{Update{Name: "n", Type: text(Anthropic)}, false},
	} {
		p := Provider{Name: "n", Type: OpenAI, BaseURL: "https://a", SealedKey: []byte("k")}
		p.Apply(&tt.u)
		if (p.SealedKey != nil) != tt.kept {
			t.Errorf("%+v: key %q", tt.u, p.SealedKey)
		}
	}
	var fresh Provider
	fresh.Apply(&Update{Name: "gemini"})
	if fresh.Type != Gemini {
		t.Errorf("type %s", fresh.Type)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		change func(*Provider)
		want   string
	}{
		{func(*Provider) {}, ""},
		{func(p *Provider) { p.Name = "Upper" }, "name: "},
		{func(p *Provider) { p.Type = "other" }, "type: "},
		{func(p *Provider) { p.BaseURL = "http://127.0.0.1:11434/v1" }, ""},
		{func(p *Provider) { p.BaseURL = "file:///etc" }, "base_url: "},
		{func(p *Provider) { p.BaseURL = "https://a?b" }, "base_url: "},
		{func(p *Provider) { p.BaseURL = "https://" + strings.Repeat("a", 2000) }, "base_url: "},
		{func(p *Provider) { p.Model = strings.Repeat("a", 2001) }, "model: "},
		{func(p *Provider) { p.DailyBudgetUSD = -1 }, "daily_budget_usd: "},
		{func(p *Provider) { p.DailyCalls = -1 }, "daily_calls: "},
	} {
		p := Provider{Name: "n", Type: OpenAI}
		tt.change(&p)
		if err := p.Validate(); (err == nil) != (tt.want == "") || err != nil && (!strings.HasPrefix(err.Error(), tt.want) || fault.Of(err) != fault.Invalid) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	for key, good := range map[string]bool{"sk-1_2.3": true, "": true, "a b": false, "a\nb": false, "ä": false, strings.Repeat("x", 2001): false} {
		if err := CheckKey(key); (err == nil) != good {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestDocComesBack(t *testing.T) {
	t.Parallel()
	for _, p := range []Provider{{}, {Type: Gemini, BaseURL: "https://a/\"", Model: "m", DailyBudgetUSD: 0.5, DailyCalls: 7, SealedKey: []byte{0, 255}}} {
		if diff := cmp.Diff(p, FromDoc(p.Doc())); diff != "" {
			t.Errorf("(-written +read)\n%s", diff)
		}
	}
}
