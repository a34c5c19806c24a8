package spancodec

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Decode returns the event that Encode wrote, with whatever a processor changed in between. The
// event owns its memory: the span may be released afterwards.
//
// Errors are fault.Invalid and name the field: an id that is gone or no UUID, an unknown type,
// a JSON field that is no longer JSON or of another kind, a time out of range.
func Decode(span ptrace.Span) (event.Incoming, error) {
	e, _, err := DecodeAdded(span)
	return e, err
}

// DecodeAdded is Decode, and reports whether the span has attributes that are not the event's
// own: those that a processor added or changed on the way. Added returns them.
func DecodeAdded(span ptrace.Span) (e event.Incoming, added bool, err error) {
	e.Name = span.Name()
	var in attributes
	for key, v := range span.Attributes().All() {
		if err := in.read(&e, key, v); err != nil {
			return event.Incoming{}, false, err
		}
	}
	if err := in.complete(&e, span); err != nil {
		return event.Incoming{}, false, err
	}
	replaced := validText(&e.Name) + validText(&e.Source)
	if e.Error != nil {
		replaced += validText(e.Error)
	}
	n, err := in.setFields(&e)
	if err != nil {
		return event.Incoming{}, false, err
	}
	if err := e.Validate(); err != nil {
		return event.Incoming{}, false, err
	}
	e.CountReplaced(replaced + n)
	if in.others > 0 && in.standard {
		return e, Added(span).Len() > 0, nil
	}
	return e, in.others > 0, nil
}

// attributes is what was read from a span's attributes and is not in the event yet.
type attributes struct {
	texts                         [len(fields)]string // of JSON fields
	present                       [len(fields)]bool
	seal                          int64
	sealed                        bool // there is a seal
	hasStart, hasEnd, hasDuration bool
	standard                      bool // some of the others came with the span (MarkStandard)
	others                        int  // attributes that are not the event's own
}

// read takes one attribute. Errors are fault.Invalid and name the field.
func (a *attributes) read(e *event.Incoming, key string, v pcommon.Value) (err error) {
	switch key {
	case attrEventID:
		e.ID, err = idOf("event_id", v)
	case attrSessionID:
		e.SessionID, err = idOf("session_id", v)
	case attrParentID:
		e.ParentID, err = idOf("parent_id", v)
	case attrType:
		e.Type = event.Type(v.Str())
	case attrSource:
		e.Source = v.Str()
	case attrStart:
		e.Start, a.hasStart = number(v)
	case attrEnd:
		e.End, a.hasEnd = number(v)
	case attrDuration:
		e.Duration, a.hasDuration = number(v)
	case attrStarted:
		e.Started = v.Bool()
	case attrDefaultTime:
		e.DefaultTime = v.Bool()
	case attrOwnDuration:
		e.DurationGiven = v.Bool()
	case attrSeal:
		a.seal, a.sealed = v.Int(), v.Type() == pcommon.ValueTypeInt
	case attrStandard:
		a.standard = true
	default:
		if !strings.HasPrefix(key, prefix) {
			a.others++
			return nil
		}
		for i := range fields {
			if fields[i].attr != key {
				continue
			}
			if v.Type() != pcommon.ValueTypeStr {
				return fault.InvalidField(fields[i].name, "is no longer JSON text")
			}
			a.texts[i], a.present[i] = v.Str(), true
			break
		}
	}
	return err
}

// complete fills in what the attributes do not have, by the span's own fields. Errors are fault.Invalid: an id that is nowhere.
func (a *attributes) complete(e *event.Incoming, span ptrace.Span) error {
	if e.ID == uuid.Nil {
		return fault.InvalidField("event_id", "is missing")
	}
	if e.SessionID == uuid.Nil {
		e.SessionID = uuid.UUID(span.TraceID())
	}
	if e.SessionID == uuid.Nil {
		return fault.InvalidField("session_id", "is missing")
	}
	switch {
	case e.IsSession():
		e.ParentID, e.Type = uuid.Nil, event.TypeSession
	case e.ParentID == uuid.Nil:
		e.ParentID = e.SessionID
	}
	if e.Source == "" {
		e.Source = event.Unknown
	}
	if !a.hasStart {
		e.Start = millis(span.StartTimestamp())
	}
	if !a.hasEnd {
		e.End = millis(span.EndTimestamp())
	}
	if !a.hasDuration {
		e.Duration = max(e.End-e.Start, 0)
	}
	if status := span.Status(); status.Code() == ptrace.StatusCodeError {
		message := status.Message()
		e.Error = &message
	}
	return nil
}

// setFields sets the JSON fields of an event. Text that the seal does not vouch for may have been changed on the way: it is checked, and
// replaced counts the characters that had to be replaced in it.
func (a *attributes) setFields(e *event.Incoming) (replaced int, err error) {
	if a.sealed && a.seal == seal(&a.texts) {
		for i, f := range fields {
			if a.texts[i] != "" {
				*f.of(&e.Event) = json.RawMessage(a.texts[i])
			}
		}
		return 0, nil
	}
	for i, f := range fields {
		if !a.present[i] {
			continue
		}
		clean, n, err := rawjson.Clean([]byte(a.texts[i]))
		if err != nil {
			return 0, fault.InvalidField(f.name, "%v", err)
		}
		*f.of(&e.Event) = clean
		replaced += n
	}
	return replaced, nil
}

func validText(s *string) int {
	valid, n := rawjson.ValidText(*s)
	*s = valid
	return n
}

func idOf(field string, v pcommon.Value) (uuid.UUID, error) {
	id, err := uuid.Parse(v.Str())
	if err != nil || id == uuid.Nil {
		return uuid.Nil, fault.InvalidField(field, "must be a UUID")
	}
	return id, nil
}

func number(v pcommon.Value) (float64, bool) {
	switch v.Type() {
	case pcommon.ValueTypeDouble:
		return v.Double(), true
	case pcommon.ValueTypeInt:
		return float64(v.Int()), true
	default:
		return 0, false
	}
}

func millis(t pcommon.Timestamp) float64 { return float64(t/1e6) + float64(t%1e6)/1e6 }
