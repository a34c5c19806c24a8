// Package metric holds metrics: definitions of evaluators, which give an event a score. It knows
// their rules, their versions, what a threshold lets pass and how one is written down. It does no
// I/O of its own and runs nothing; that is package evaluate's.
package metric

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Type is who or what makes the score.
type Type string

// The types. Older clients know them by other names (Older).
const (
	Python    Type = "PYTHON"
	LLM       Type = "LLM"
	Human     Type = "HUMAN"
	Composite Type = "COMPOSITE"
	// Expression is of our own; clients know it as one more type, older clients as custom, since
	// they refuse types that they do not know.
	Expression Type = "EXPRESSION"
)

// Types returns all types.
func Types() []Type { return []Type{Python, LLM, Human, Composite, Expression} }

// olderTypes are the names by which older clients know the types.
var olderTypes = map[Type]string{Python: "custom", LLM: "model", Human: "human", Composite: "composite", Expression: "custom"}

// Older returns the type's name for older clients.
func (t Type) Older() string { return olderTypes[t] }

// TypeNames lists the types' names for messages.
func TypeNames() string {
	var names []string
	for _, t := range Types() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

// TypeOf reads a type by either of its names; of those that share one, it is the first of Types.
func TypeOf(name string) (Type, bool) {
	for _, t := range Types() {
		if name == string(t) || name == t.Older() {
			return t, true
		}
	}
	return "", false
}

// Return says what kind of value a score is.
type Return string

// The kinds of scores. Older clients take a categorical one for a string.
const (
	Float       Return = "float"
	Boolean     Return = "boolean"
	String      Return = "string"
	Categorical Return = "categorical"
)

// Older returns the kind as older clients know it.
func (r Return) Older() string {
	if r == Categorical {
		return string(String)
	}
	return string(r)
}

// Definition is all of a metric that a version of it holds. The JSON fields are as they were
// sent; nil is absent.
type Definition struct {
	Name             string          `doc:"name"`
	Type             Type            `doc:"type"`
	Criteria         string          `doc:"criteria"` // code of PYTHON, prompt of LLM, text for people, aggregation of COMPOSITE
	Description      string          `doc:"description"`
	Return           Return          `doc:"return_type"`
	EnabledInProd    bool            `doc:"enabled_in_prod"` // evaluated for new events that match Filters
	NeedsGroundTruth bool            `doc:"needs_ground_truth"`
	Sampling         json.RawMessage `doc:"sampling_percentage,omitzero"` // percentage of those events, 0 to 100
	ModelProvider    *string         `doc:"model_provider,omitzero"`
	ModelName        *string         `doc:"model_name,omitzero"`
	Scale            json.RawMessage `doc:"scale,omitzero"`         // whole number: scores are from 0 to it
	Threshold        json.RawMessage `doc:"threshold,omitzero"`     // object, see Threshold
	Categories       json.RawMessage `doc:"categories,omitzero"`    // array of {"category", "score"}
	Children         json.RawMessage `doc:"child_metrics,omitzero"` // array of {"id", "name", "weight", "scale"}
	Filters          json.RawMessage `doc:"filters,omitzero"`       // object with "filterArray"
	EventName        *string         `doc:"event_name,omitzero"`    // older clients': which events it is for
	EventType        *string         `doc:"event_type,omitzero"`
}

// Metric is a definition with its place. ID, Created, Updated and Deployed are the store's.
type Metric struct {
	Definition
	ID       string
	Created  int64 // Unix milliseconds
	Updated  int64 // of the last change, Unix milliseconds; 0: there was none
	Deployed int64 // number of the current version
}

// Row writes down what the store keeps of the metric in addition to its columns.
func (m *Metric) Row() json.RawMessage {
	var b rawjson.Builder
	b.Int("deployed", m.Deployed)
	return rawjson.Concat(b.Bytes(), m.Doc())
}

// FromRow reads what Row wrote.
func FromRow(row json.RawMessage) Metric {
	n, _ := rawjson.Number(rawjson.Get(row, "deployed"))
	return Metric{Definition: FromDoc(row), Deployed: int64(n)}
}

// Version is a definition that a metric has or had, or may be given.
type Version struct {
	Definition
	MetricID string
	Number   int64 // from 1
	SHA      string
	Message  string
	Created  int64 // Unix milliseconds
	Deployed bool  // it is the current one
}

// Name returns how a version is called in paths and answers.
func (v *Version) Name() string { return VersionName(v.Number) }

// VersionName returns the name of version n.
func VersionName(n int64) string { return fmt.Sprintf("v%d", n) }

// VersionNumber returns the number of the version with a name, 0 if the name is none.
func VersionNumber(name string) int64 {
	digits, ok := strings.CutPrefix(name, "v")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || VersionName(n) != name {
		return 0
	}
	return n
}

// Seal computes the version's SHA, which no other version of any metric has.
func (v *Version) Seal() {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d\n%s\n%s", v.MetricID, v.Number, v.Created, v.Message, v.Doc()))
	v.SHA = hex.EncodeToString(sum[:])
}

// Defaults of what a new metric was not given.
const (
	DefaultSampling = "10"
	// OlderSampling is that of older clients, which know no sampling.
	OlderSampling  = "100"
	DefaultFilters = `{"filterArray":[]}`
)

// Complete fills in what a new metric was not given, as clients need it to be there.
func (d *Definition) Complete(sampling string) {
	if d.Return == "" {
		d.Return = Float
	}
	if d.Sampling == nil {
		d.Sampling = json.RawMessage(sampling)
	}
	if d.Filters == nil {
		d.Filters = json.RawMessage(DefaultFilters)
	}
}

var fields = rawjson.FieldsOf[Definition]()

// Fields returns the names and values of a definition's fields as JSON, in the order in which they are
// written; those that are absent are nil.
func (d *Definition) Fields() iter.Seq2[string, json.RawMessage] { return fields.All(d) }

// Doc writes the definition down.
func (d *Definition) Doc() json.RawMessage { return fields.Object(d) }

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) (d Definition) {
	fields.Read(doc, &d)
	return d
}
