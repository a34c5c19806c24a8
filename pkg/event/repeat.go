package event

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Repeat changes the stored e by another create with the same id, and reports whether anything
// changed. A repeated create fills what was absent or empty before and changes nothing else;
// a finished span replaces the unfinished copy of itself, whichever of them comes first, but
// never wipes metrics or feedback that came meanwhile; a repeated session start merges metadata and user properties.
// Each member of metadata stays in one of Metadata and ColdMetadata. An event that would become larger than MaxBytes stays as it is.
func (e *Event) Repeat(now *Incoming) (changed bool) {
	before := *e
	changed = e.repeatBoth(now)
	if e.Outgrown(&before) {
		*e = before
		return false
	}
	return changed
}

// repeatBoth is Repeat without regard to the size.
func (e *Event) repeatBoth(now *Incoming) (changed bool) {
	if len(e.ColdMetadata) == 0 && len(now.ColdMetadata) == 0 {
		return e.repeatCorrected(now)
	}
	n := *now
	scored := append(e.PipelineScores(), now.PipelineScores()...)
	replaces := e.Unfinished && !n.Unfinished
	switch {
	case replaces:
	case n.Started:
		e.ColdMetadata = rawjson.Without(e.ColdMetadata, n.Metadata)
		n.ColdMetadata = rawjson.Without(n.ColdMetadata, e.Metadata)
	default:
		n.Metadata = rawjson.Without(n.Metadata, e.ColdMetadata)
		n.ColdMetadata = rawjson.Without(n.ColdMetadata, e.Metadata)
	}
	changed = e.repeatCorrected(&n)
	if replaces {
		e.Metadata = rawjson.Without(e.Metadata, e.ColdMetadata)
	}
	e.AddPipelineScores(scored...)
	return changed
}

// repeatCorrected is Repeat without regard to the two parts of metadata. It repeats the events as their
// senders reported them, and corrects the result as both were corrected.
func (e *Event) repeatCorrected(now *Incoming) bool {
	before := *e
	correction, also := e.corrections(), now.corrections()
	correction.Wrapper = correction.Wrapper || also.Wrapper
	if correction.DuplicateOf == uuid.Nil {
		correction.DuplicateOf = also.DuplicateOf
	}
	if correction.SessionError == nil {
		correction.SessionError = also.SessionError
	}
	e.Restore()
	sent := *now
	sent.Restore()
	scored := append(e.PipelineScores(), now.PipelineScores()...)
	replaced := e.repeat(&sent)
	e.AddPipelineScores(scored...)
	e.Correct(correction)
	return replaced || !sameText(&before, e)
}

// repeat does what Repeat does for two events that are as their sender reported them. It reports whether now took
// the place of e.
func (e *Event) repeat(now *Incoming) (replaced bool) {
	if e.Unfinished && !now.Unfinished {
		before := *e
		*e = now.Event
		e.SessionID, e.ParentID = before.SessionID, before.ParentID
		if now.ParentID != uuid.Nil && !e.IsSession() {
			e.ParentID = now.ParentID
			if now.ParentID == now.SessionID {
				e.ParentID = e.SessionID
			}
		}
		e.Metrics = rawjson.Merge(now.Metrics, before.Metrics)
		e.Feedback = rawjson.Merge(now.Feedback, before.Feedback)
		if now.DefaultTime { // it came later than the copy, and neither names its start
			e.Start, e.End = before.Start, min(before.Start+e.Duration, MaxMillis)
		}
		e.fill(&before)
		return true
	}
	if now.Started {
		e.Metadata = rawjson.Merge(e.Metadata, now.Metadata)
		e.UserProperties = rawjson.Merge(e.UserProperties, now.UserProperties)
	}
	e.fill(&now.Event)
	return false
}

// fill adds to e what it lacks from another copy of the same event.
func (e *Event) fill(now *Event) {
	e.Metadata = rawjson.Fill(e.Metadata, now.Metadata)
	e.UserProperties = rawjson.Fill(e.UserProperties, now.UserProperties)
	e.ColdMetadata = rawjson.Fill(e.ColdMetadata, now.ColdMetadata)
	e.Inputs = rawjson.Fill(e.Inputs, now.Inputs)
	e.Config = rawjson.Fill(e.Config, now.Config)
	e.Metrics = rawjson.Fill(e.Metrics, now.Metrics)
	e.Feedback = rawjson.Fill(e.Feedback, now.Feedback)
	e.Outputs = fillValue(e.Outputs, now.Outputs)
	e.ChildrenIDs = fillValue(e.ChildrenIDs, now.ChildrenIDs)
	if e.Name == Unknown {
		e.Name = now.Name
	}
	if e.Source == Unknown {
		e.Source = now.Source
	}
	if e.Error == nil {
		e.Error = now.Error
	}
}

// fillValue does what rawjson.Fill does for a field that may hold any JSON value: only two objects are filled
// key by key.
func fillValue(old, now json.RawMessage) json.RawMessage {
	if rawjson.Empty(old) {
		if rawjson.Empty(now) {
			return old
		}
		return now
	}
	if rawjson.KindOf(old) == '{' && rawjson.KindOf(now) == '{' {
		return rawjson.Fill(old, now)
	}
	return old
}

func sameText(a, b *Event) bool {
	return string(a.Metadata) == string(b.Metadata) && string(a.ColdMetadata) == string(b.ColdMetadata) &&
		string(a.UserProperties) == string(b.UserProperties) && string(a.Inputs) == string(b.Inputs) &&
		string(a.Outputs) == string(b.Outputs) && string(a.Config) == string(b.Config) &&
		string(a.Metrics) == string(b.Metrics) && string(a.Feedback) == string(b.Feedback) &&
		string(a.ChildrenIDs) == string(b.ChildrenIDs) && a.Name == b.Name && a.Source == b.Source &&
		(a.Error == nil) == (b.Error == nil) && a.DerivedError == b.DerivedError
}
