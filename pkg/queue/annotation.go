package queue

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of an annotation.
const (
	MaxComment = 10_000 // characters
	MaxScore   = 10_000 // bytes of one score, which may be a text
)

// Annotation is what one person says of an item.
type Annotation struct {
	Annotator string
	Scores    json.RawMessage `doc:"scores"` // object: name of a metric to a number, a boolean or a string
	Comment   string          `doc:"comment"`
	Created   int64           // Unix milliseconds, as the store sets it
	Updated   int64           // of the last change; 0: there was none
}

var annotationFields = rawjson.FieldsOf[Annotation]()

// CheckAnnotator checks the name of a person.
func CheckAnnotator(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fault.InvalidField("annotator", "is required")
	case utf8.RuneCountInString(name) > MaxName:
		return fault.InvalidField("annotator", "must have at most %d characters", MaxName)
	}
	return nil
}

// Validate reports the first broken rule as a fault.Invalid that names the field. Whether there
// are such metrics, which may have such scores, is not for it to say.
func (a *Annotation) Validate() error {
	if err := CheckAnnotator(a.Annotator); err != nil {
		return err
	}
	if utf8.RuneCountInString(a.Comment) > MaxComment {
		return fault.InvalidField("comment", "must have at most %d characters", MaxComment)
	}
	seen := map[string]bool{}
	for name, score := range rawjson.Object(a.Scores) {
		field := "scores." + name
		switch rawjson.KindOf(score) {
		case '0', 't', 'f', '"':
		default:
			return fault.InvalidField(field, "must be a number, a boolean or a string")
		}
		switch {
		case len(score) > MaxScore:
			return fault.InvalidField(field, "must have at most %d bytes", MaxScore)
		case seen[name]:
			return fault.InvalidField(field, "is listed twice")
		case len(seen) == MaxMetrics:
			return fault.InvalidField("scores", "must have at most %d members", MaxMetrics)
		}
		seen[name] = true
	}
	if len(seen) == 0 {
		return fault.InvalidField("scores", "must be an object with at least one score")
	}
	return nil
}

// Doc writes down what the annotation says.
func (a *Annotation) Doc() json.RawMessage { return annotationFields.Object(a) }

// Read takes over what Doc wrote.
func (a *Annotation) Read(doc json.RawMessage) { annotationFields.Read(doc, a) }

// same reports whether both say the same.
func (a *Annotation) same(b *Annotation) bool {
	return a.Comment == b.Comment && bytes.Equal(a.Scores, b.Scores)
}

// key returns a score by which equal ones are found: 1 and 1.0 are, and texts however they are escaped.
func key(score json.RawMessage) string {
	if n, ok := rawjson.Number(score); ok {
		return string(rawjson.AppendNumber(nil, n))
	}
	if text, ok := rawjson.Text(score); ok {
		return `"` + text
	}
	return string(score)
}
