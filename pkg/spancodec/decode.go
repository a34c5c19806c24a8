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
	others, standard := 0, false
	var (
		texts            [len(fields)]string
		present          [len(fields)]bool
		sealed           bool
		sealValue        int64
		hasStart, hasEnd bool
		hasDuration      bool
	)
	for key, v := range span.Attributes().All() {
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
			e.Start, hasStart = number(v)
		case attrEnd:
			e.End, hasEnd = number(v)
		case attrDuration:
			e.Duration, hasDuration = number(v)
		case attrStarted:
			e.Started = v.Bool()
		case attrDefaultTime:
			e.DefaultTime = v.Bool()
		case attrOwnDuration:
			e.DurationGiven = v.Bool()
		case attrSeal:
			sealValue, sealed = v.Int(), v.Type() == pcommon.ValueTypeInt
		case attrStandard:
			standard = true
		default:
			if !strings.HasPrefix(key, prefix) {
				others++
				continue
			}
			for i := range fields {
				if fields[i].attr == key {
					if v.Type() != pcommon.ValueTypeStr {
						err = fault.InvalidField(fields[i].name, "is no longer JSON text")
					}
					texts[i], present[i] = v.Str(), true
					break
				}
			}
		}
		if err != nil {
			return event.Incoming{}, false, err
		}
	}
	if e.ID == uuid.Nil {
		return event.Incoming{}, false, fault.InvalidField("event_id", "is missing")
	}
	if e.SessionID == uuid.Nil {
		e.SessionID = uuid.UUID(span.TraceID())
	}
	if e.SessionID == uuid.Nil {
		return event.Incoming{}, false, fault.InvalidField("session_id", "is missing")
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
	if !hasStart {
		e.Start = millis(span.StartTimestamp())
	}
	if !hasEnd {
		e.End = millis(span.EndTimestamp())
	}
	if !hasDuration {
		e.Duration = max(e.End-e.Start, 0)
	}
	if status := span.Status(); status.Code() == ptrace.StatusCodeError {
		message := status.Message()
		e.Error = &message
	}
	replaced := validText(&e.Name) + validText(&e.Source)
	if e.Error != nil {
		replaced += validText(e.Error)
	}
	if sealed && sealValue == seal(&texts) {
		for i, f := range fields {
			if texts[i] != "" {
				*f.of(&e.Event) = json.RawMessage(texts[i])
			}
		}
	} else {
		n, err := checkTexts(&e, &texts, &present)
		if err != nil {
			return event.Incoming{}, false, err
		}
		replaced += n
	}
	if err := e.Validate(); err != nil {
		return event.Incoming{}, false, err
	}
	e.CountReplaced(replaced)
	if others > 0 && standard {
		added = Added(span).Len() > 0
	} else {
		added = others > 0
	}
	return e, added, nil
}

// checkTexts sets the JSON fields from text that may have been changed on the way, and counts
// the characters it had to replace.
func checkTexts(e *event.Incoming, texts *[len(fields)]string, present *[len(fields)]bool) (replaced int, err error) {
	for i, f := range fields {
		if !present[i] {
			continue
		}
		clean, n, err := rawjson.Clean([]byte(texts[i]))
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
