// Package provider holds model providers that a project has set up itself: endpoints of models, and
// the keys to them, which are sealed (Box) wherever they are stored. It does no I/O.
package provider

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The APIs that a provider may speak.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
	Gemini    = "gemini"
)

// Types returns all APIs.
func Types() []string { return []string{OpenAI, Anthropic, Gemini} }

// Bounds.
const (
	// MaxPerProject is how many providers a project may have.
	MaxPerProject = 100
	maxText       = 2000 // bytes of an address, a key or a model's name
)

// Provider is an endpoint of models. Created and Updated are the store's to set. The tagged fields are its document.
type Provider struct {
	Name           string  // unique in its project, lower case
	Type           string  `doc:"type"`
	BaseURL        string  `doc:"base_url"` // empty: the service of the type
	Model          string  `doc:"model"`    // asked where a metric names none; empty: none
	DailyBudgetUSD float64 `doc:"daily_budget_usd"`
	DailyCalls     int64   `doc:"daily_calls"`
	SealedKey      []byte  `doc:"sealed_key,omitzero"` // nil: there is none
	Version        int64   // from 1, one more with each change
	Created        int64   // Unix milliseconds
	Updated        int64   // of the last change, Unix milliseconds; 0: there was none
	TodayUSD       float64 // what its calls of this UTC day have cost, for whoever lists providers
	TodayCalls     int64   // how many they are
}

var fields = rawjson.FieldsOf[Provider]()

// Update sets what is not nil. A key is as the caller has it.
type Update struct {
	Name           string
	Type           *string
	BaseURL        *string
	Model          *string
	DailyBudgetUSD *float64
	DailyCalls     *int64
	APIKey         *string // empty: takes it away
}

// Apply changes a provider, all but its key; but a key is for one address: where that changes, it
// is taken away, so that nobody has it sent elsewhere who was never told it.
func (p *Provider) Apply(u *Update) {
	typ, address := p.Type, p.BaseURL
	p.Name = u.Name
	set(&p.Type, u.Type)
	set(&p.BaseURL, u.BaseURL)
	set(&p.Model, u.Model)
	set(&p.DailyBudgetUSD, u.DailyBudgetUSD)
	set(&p.DailyCalls, u.DailyCalls)
	if p.Type == "" {
		p.Type = OpenAI
		if slices.Contains(Types(), p.Name) {
			p.Type = p.Name
		}
	}
	if p.Type != typ || p.BaseURL != address {
		p.SealedKey = nil
	}
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

var name = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (p *Provider) Validate() error {
	switch {
	case !name.MatchString(p.Name):
		return fault.InvalidField("name", "must be 1 to 64 of a-z, 0-9, dot, dash and underscore, and begin with a letter or digit")
	case !slices.Contains(Types(), p.Type):
		return fault.InvalidField("type", "must be one of openai, anthropic, gemini, not %.40q", p.Type)
	case len(p.Model) > maxText || !utf8.ValidString(p.Model):
		return fault.InvalidField("model", "must be at most %d bytes", maxText)
	case !(p.DailyBudgetUSD >= 0):
		return fault.InvalidField("daily_budget_usd", "must be 0, for no limit, or more")
	case p.DailyCalls < 0:
		return fault.InvalidField("daily_calls", "must be 0, for no limit, or more")
	case len(p.BaseURL) > maxText:
		return fault.InvalidField("base_url", "must be at most %d bytes", maxText)
	}
	if err := CheckURL(p.BaseURL); err != nil {
		return fault.In("base_url", err)
	}
	return nil
}

// CheckURL checks the address of a provider; empty is right.
func CheckURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fault.New(fault.Invalid, "must be a URL such as https://example.com/v1, without a user, a query and a fragment")
	}
	return nil
}

// CheckKey checks a key, which goes into a header.
func CheckKey(key string) error {
	if len(key) > maxText || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fault.InvalidField("api_key", "must be at most %d printable ASCII characters without spaces", maxText)
	}
	return nil
}

// Doc returns what is stored of a provider: its tagged fields.
func (p *Provider) Doc() json.RawMessage { return fields.Object(p) }

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) (p Provider) {
	fields.Read(doc, &p)
	return p
}
