package price

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Call is one model call whose cost is asked.
type Call struct {
	// Model is the model that answered, RequestModel the one that was asked for, if it is
	// another. Provider helps where several sell a model of that name. All may be empty.
	Model, RequestModel, Provider string

	Usage
}

// Book looks prices up: the user's own first, then the built-in ones. It may be used by many
// goroutines at once.
type Book struct {
	own map[string]*Rates // by name in lower case; nil hides the built-in price

	mu    sync.RWMutex
	found map[wanted]*Rates // what was looked up lately; nil: not found
}

type wanted struct{ model, request, provider string }

// keepFound bounds how many answers a Book remembers: far more than an application has models,
// and little memory if somebody sends ever new names.
const keepFound = 1024

// New returns a Book of the built-in prices.
func New() *Book { return &Book{found: map[wanted]*Rates{}} }

// MaxFileBytes bounds a file of prices; the whole of LiteLLM's list is a fifth of it.
const MaxFileBytes = 16 << 20

// Parse returns a Book in which the prices of file go before the built-in ones. file is one JSON
// object of models by name: their rates in dollars per million tokens (see rateNames), or null
// for a model whose price shall be unknown. LiteLLM's own list is understood as well. Errors
// are fault.Invalid and name the model.
func Parse(file []byte) (*Book, error) {
	if len(file) > MaxFileBytes {
		return nil, fault.New(fault.Invalid, "the file is larger than %d bytes", MaxFileBytes)
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(file, &entries); err != nil || entries == nil {
		return nil, fault.New(fault.Invalid, "must be a JSON object of models and their prices%s", at(err))
	}
	_, litellm := entries["sample_spec"]
	b := New()
	b.own = make(map[string]*Rates, len(entries))
	for name, raw := range entries {
		key := strings.ToLower(strings.TrimSpace(name))
		switch {
		case litellm:
			if _, r, priced := litellmEntry(raw); priced {
				b.own[key] = &r
			}
		case key == "" || len(key) > maxName:
			return nil, fault.New(fault.Invalid, "model %q: a name has 1 to %d bytes", name, maxName)
		case string(raw) == "null":
			b.own[key] = nil
		default:
			r, err := simple(raw)
			if err != nil {
				return nil, fault.New(fault.Invalid, "model %q: %v", name, err)
			}
			b.own[key] = &r
		}
	}
	return b, nil
}

// at returns where in the text a JSON error is.
func at(err error) string {
	if s, ok := err.(*json.SyntaxError); ok { //nolint:errorlint // straight from json.Unmarshal
		return fmt.Sprintf(": %v at byte %d", s, s.Offset)
	}
	return ""
}

// Cost returns what the call cost in US dollars. ok is false if it used no tokens, if its model has
// no price that is known, or none for a kind of token that it used.
func (b *Book) Cost(c Call) (usd float64, ok bool) {
	if c.Prompt <= 0 && c.Completion <= 0 {
		return 0, false
	}
	r := b.rates(wanted{c.Model, c.RequestModel, c.Provider})
	if r == nil {
		return 0, false
	}
	return r.Cost(c.Usage)
}

func (b *Book) rates(w wanted) *Rates {
	b.mu.RLock()
	r, known := b.found[w]
	b.mu.RUnlock()
	if known {
		return r
	}
	r = b.find(w)
	if len(w.model)+len(w.request)+len(w.provider) > 2*maxName {
		return r
	}
	// The names may be parts of a whole request's memory.
	w = wanted{strings.Clone(w.model), strings.Clone(w.request), strings.Clone(w.provider)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.found) >= keepFound {
		clear(b.found)
	}
	b.found[w] = r
	return r
}

// find looks a model up: in the user's prices by all of its names, then in the built-in ones.
func (b *Book) find(w wanted) *Rates {
	lists := [][]string{names(w.model, w.provider)}
	if w.request != w.model {
		lists = append(lists, names(w.request, w.provider))
	}
	for _, list := range lists {
		for _, name := range list {
			if r, ok := b.own[name]; ok {
				return r
			}
		}
	}
	for _, list := range lists {
		for _, name := range list {
			if _, r, ok := builtIn().find(name); ok {
				return &r
			}
		}
	}
	for _, model := range []string{w.model, w.request} {
		provider, rest, ok := inner(model)
		if !ok {
			continue
		}
		for _, name := range names(rest, "") {
			if in, r, ok := builtIn().find(name); ok && owns(provider, in) {
				return &r
			}
		}
	}
	return nil
}
