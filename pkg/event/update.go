package event

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Update changes a stored event. Nil and nil pointers leave the field as it is.
type Update struct {
	EventID uuid.UUID

	// Merged one level deep: each key replaces that key; an explicit null sets null.
	Inputs, Config, Metadata, Metrics, Feedback, UserProperties json.RawMessage

	Outputs     json.RawMessage // replaces; any JSON value
	ChildrenIDs json.RawMessage // replaces; an empty array is ignored
	Duration    *float64        // milliseconds
	EndTime     *float64        // Unix milliseconds

	// Telemetry says that whoever updates may only write telemetry: the scores that the pipeline, the
	// server or a person gave the event stay, and so does its ground truth. The store leaves them out of the update.
	Telemetry bool
}

// Without takes members out of what u says of metrics: those of these names, and those by which a
// dotted path that is meant for one of them would find something else.
func (u *Update) Without(names []string) {
	u.Metrics = dropMembers(u.Metrics, func(key string, _ json.RawMessage) bool {
		return slices.ContainsFunc(names, func(name string) bool { return key == name || strings.HasPrefix(name, key+".") })
	})
}

// WithoutTruth takes the ground truth out of what u says of feedback.
func (u *Update) WithoutTruth() {
	u.Feedback = dropMembers(u.Feedback, func(key string, _ json.RawMessage) bool { return key == TruthKey })
}

// TruthKey is the member of feedback that is the event's ground truth.
const TruthKey = "ground_truth"

// Apply changes e as u says. Both must be whole: e with its payload. Where the end changes and
// nobody gave a duration, the duration follows.
func (e *Event) Apply(u *Update) {
	correction := e.corrections()
	e.Restore()
	defer func() { e.Correct(correction) }()
	e.owned(u)
	e.Inputs = rawjson.Merge(e.Inputs, u.Inputs)
	e.Config = rawjson.Merge(e.Config, u.Config)
	e.Metadata = rawjson.Merge(e.Metadata, u.Metadata)
	e.Metrics = rawjson.Merge(e.Metrics, u.Metrics)
	e.Feedback = rawjson.Merge(e.Feedback, u.Feedback)
	e.UserProperties = rawjson.Merge(e.UserProperties, u.UserProperties)
	if u.Outputs != nil {
		e.Outputs, e.OutputsSet = u.Outputs, true
	}
	if !rawjson.Empty(u.ChildrenIDs) {
		e.ChildrenIDs = u.ChildrenIDs
	}
	// A duration that is not the distance of the times was given, also before events said so.
	given := e.DurationGiven || e.Duration != max(e.End-e.Start, 0)
	if u.EndTime != nil {
		e.End = *u.EndTime
	}
	switch {
	case u.Duration != nil:
		e.Duration, e.DurationGiven = *u.Duration, true
	case u.EndTime != nil && !given:
		e.Duration = max(e.End-e.Start, 0)
	}
}

// Repeat changes the stored e by another create with the same id, and says whether anything
// changed. A repeated create fills what was absent or empty before and changes nothing else;
// a finished span replaces the unfinished copy of itself, whichever of them comes first, but
// never wipes metrics or feedback that came meanwhile; a repeated session start merges metadata and user properties.
func (e *Event) Repeat(now *Event) bool {
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

// repeat is Repeat of two events that are as their sender told them. It says whether now took
// the place of e.
func (e *Event) repeat(now *Event) (replaced bool) {
	if e.Unfinished && !now.Unfinished {
		before := *e
		*e = *now
		e.SessionID, e.ParentID = before.SessionID, before.ParentID
		if now.ParentID != uuid.Nil && !e.IsSession() {
			e.ParentID = now.ParentID
			if now.ParentID == now.SessionID {
				e.ParentID = e.SessionID
			}
		}
		e.Metrics = rawjson.Merge(now.Metrics, before.Metrics)
		e.Feedback = rawjson.Merge(now.Feedback, before.Feedback)
		if now.DefaultTime { // it came later than the copy, and neither tells when it began
			e.Start, e.End = before.Start, min(before.Start+e.Duration, MaxMillis)
		}
		e.fill(&before)
		return true
	}
	if now.Started {
		e.Metadata = rawjson.Merge(e.Metadata, now.Metadata)
		e.UserProperties = rawjson.Merge(e.UserProperties, now.UserProperties)
	}
	e.fill(now)
	return false
}

// fill gives e what it lacks of another copy of the same event.
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

// fillValue is Fill for a field that may hold any JSON value: only two objects are filled
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
