package otlpmap

import (
	"math"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// reader is a way to read a value: what stands in the column "as" of the rules. A reader of one field has scalar;
// one that fills several, or reads families, has whole and family.
type reader struct {
	name  string // as docs/otlp-mapping.md calls it
	about string

	// scalar appends the value as JSON to dst, which ends with the field's key. apply calls it only if the
	// field is empty. Whatever it appended before it returns no is taken back.
	scalar func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict)
	// whole reads an attribute into t, or into any fields it likes. It is called also if t is filled, and itself
	// marks the attribute as used or keeps it (see eventBuilder.keep).
	whole func(b *eventBuilder, t target, a *attr)
	// family does the same for all attributes of a family at once.
	family func(b *eventBuilder, t target, fam int16)
}

// verdict is the result of reading an attribute.
type verdict uint8

const (
	no   verdict = iota // not readable: the attribute stays
	yes                 // read: its value is in the event
	part                // read, but changed: the attribute stays as well
)

// The readers of single values.
var (
	asText = reader{
		name: "text", about: "as it is",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			return b.appendValue(dst, a.val), yes
		},
	}

	// googleai/gemini-2.5-flash is the plugin and its name of the model.
	asModelPath = reader{
		name: "model path", about: "what follows the first slash",
		whole: func(b *eventBuilder, _ target, a *attr) {
			plugin, model, ok := strings.Cut(a.str(), "/")
			if !ok || plugin == "" {
				model = a.str()
			}
			a.used = model != "" && b.setting("model", b.quoted(model)) || a.used
		},
	}

	asJSON = reader{
		name: "json", about: "embedded if it is JSON, else as text",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			if k := jsonscan.Kind(view(a.str())); k == '{' || k == '[' || k == '"' {
				if raw, ok := b.parse(a); ok {
					return append(dst, raw...), yes
				}
			}
			return b.appendValue(dst, a.val), yes
		},
	}

	// tool.parameters of AgentOps are the inputs: see asCallInput.
	asDefinition = reader{
		name: "definition", about: "as json, unless another rule has read it",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			if a.used || a.unread {
				return dst, no
			}
			return asJSON.scalar(b, dst, a)
		},
	}

	asNumber = reader{
		name: "number", about: "a number, also when it comes as text",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			switch a.val.Type() {
			case pcommon.ValueTypeInt:
				return b.appendValue(dst, a.val), yes
			case pcommon.ValueTypeDouble:
				if f := a.val.Double(); !math.IsInf(f, 0) && !math.IsNaN(f) {
					return b.appendValue(dst, a.val), yes
				}
			case pcommon.ValueTypeStr:
				if raw, ok := b.parse(a); ok && jsonscan.Kind(raw) == '0' {
					return append(dst, raw...), yes
				}
			}
			return dst, no
		},
	}

	asList = reader{
		name: "list", about: "an array, also when it comes as JSON text; a single value becomes its only element",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			switch a.val.Type() {
			case pcommon.ValueTypeSlice:
				if a.val.Slice().Len() == 0 {
					return dst, no
				}
				return b.appendValue(dst, a.val), yes
			case pcommon.ValueTypeStr:
				if jsonscan.Kind(view(a.val.Str())) == '[' {
					if raw, ok := b.parse(a); ok {
						return append(dst, raw...), yes
					}
				}
			}
			return append(b.appendValue(append(dst, '['), a.val), ']'), yes
		},
	}

	asFirst = reader{
		name: "first", about: "the first element of a list, or a text; in lower case if it is a constant's name",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			switch a.val.Type() {
			case pcommon.ValueTypeSlice:
				if a.val.Slice().Len() > 0 && a.val.Slice().At(0).Type() == pcommon.ValueTypeStr {
					return append(dst, b.plainReason(b.appendValue(nil, a.val.Slice().At(0)))...), part
				}
			case pcommon.ValueTypeStr:
				if jsonscan.Kind(view(a.val.Str())) != '[' {
					return append(dst, b.plainReason(b.appendValue(nil, a.val))...), yes
				}
				if raw, ok := b.parse(a); ok {
					for c := jsonscan.Elements(raw); c.Next(); {
						if jsonscan.Kind(c.Val) == '"' {
							return append(dst, b.plainReason(c.Val)...), part
						}
					}
				}
			}
			return dst, no
		},
	}

	// The GenAI conventions measure times in seconds, events in milliseconds.
	asSeconds = reader{
		name: "seconds",
		about: "seconds, given in milliseconds; the attribute stays as it came. " +
			"Strands gives gen_ai.server.time_to_first_token in milliseconds, as an integer",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			switch a.val.Type() {
			case pcommon.ValueTypeInt:
				if b.s.by == strands {
					return strconv.AppendInt(dst, a.val.Int(), 10), yes
				}
				return strconv.AppendInt(dst, a.val.Int()*1000, 10), part
			case pcommon.ValueTypeDouble:
				return appendDouble(dst, a.val.Double()*1000), part
			}
			return dst, no
		},
	}

	asOther = reader{
		name: "if different", about: "as it is, unless it equals config.model",
		scalar: func(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
			if from := b.by[fieldModel.field]; b.filled(fieldModel.field) && from > 0 && equal(b.attrs[from-1].val, a.val) {
				return dst, no
			}
			return b.appendValue(dst, a.val), yes
		},
	}

	asProvider = reader{
		name: "provider", about: "lower case, without the API's name (openai.chat); a framework's name only if nothing else is known",
		scalar: readProvider,
	}

	asCost = reader{
		name: "cost", about: "US dollars that the span itself reports; metadata.cost_source becomes reported",
		whole: func(b *eventBuilder, _ target, a *attr) {
			raw, v := asNumber.scalar(b, nil, a)
			switch {
			case v == no:
			case b.tokens.cost == nil:
				b.tokens.cost, a.used = raw, true
			default:
				a.used = string(raw) == string(b.tokens.cost)
			}
		},
	}
)

// apiSuffixes follow a provider's name in some frameworks and name the API that was used.
var apiSuffixes = [...]string{".chat", ".responses", ".embedding", ".completion", ".messages"}

// modelOwners are the providers that follow from a model's name, for spans that only name a framework.
var modelOwners = [...]struct{ prefix, provider string }{
	{"gpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"}, {"text-embedding-", "openai"},
	{"claude-", "anthropic"}, {"gemini-", "google"}, {"mistral-", "mistral"}, {"command-", "cohere"},
	{"deepseek-", "deepseek"}, {"grok-", "xai"},
}

// readProvider reads the name of a provider:
//
//	"OpenAI", "openai.chat"  → openai
//	a framework's name       → nothing, if another attribute names a provider; else the
//	                           owner of the model, such as openai for gpt-4o; else the framework
//	                           for a model call, and nothing for what asks no provider
//
// A name that was changed stays as an attribute as well.
func readProvider(b *eventBuilder, dst []byte, a *attr) ([]byte, verdict) {
	given := a.str()
	name := strings.ToLower(strings.Trim(given, `"`)) // MLflow's values are JSON
	for _, suffix := range apiSuffixes {
		name = strings.TrimSuffix(name, suffix)
	}
	if name == "" {
		return dst, no
	}
	if compiled.frameworks[name] {
		// A later attribute may name the provider; the model may, too.
		for _, i := range compiled.providers {
			if other := b.s.at(b.attrs, i); other != nil && other != a && !compiled.frameworks[strings.ToLower(other.str())] && other.str() != "" {
				return dst, no
			}
		}
		model := b.s.text(b.attrs, compiled.models)
		model = model[strings.LastIndexByte(model, '/')+1:] // models/gemini-2.5, openai/gpt-5
		for _, o := range modelOwners {
			if strings.HasPrefix(model, o.prefix) {
				return b.appendString(dst, o.provider), part
			}
		}
		if b.s.role&(onModel|onEmbedding) == 0 { // a step or a tool of it, which asks no provider
			return dst, no
		}
	}
	if name != given {
		return b.appendString(dst, name), part
	}
	return b.appendString(dst, name), yes
}
