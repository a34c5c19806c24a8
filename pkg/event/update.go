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

	// Telemetry is set if whoever updates may only write telemetry: the scores that the pipeline, the
	// server or a person gave the event stay, and so does its ground truth. The store leaves them out of the update.
	Telemetry bool
}

// Without takes members out of u's metrics: those of these names, and those by which a
// dotted path that is meant for one of them would find something else.
func (u *Update) Without(names []string) {
	u.Metrics = dropMembers(u.Metrics, func(key string, _ json.RawMessage) bool {
		return slices.ContainsFunc(names, func(name string) bool { return key == name || strings.HasPrefix(name, key+".") })
	})
}

// WithoutTruth takes the ground truth out of u's feedback.
func (u *Update) WithoutTruth() {
	u.Feedback = without(u.Feedback, TruthKey)
}

// TruthKey is the member of feedback that is the event's ground truth.
const TruthKey = "ground_truth"

// Apply changes e as u says. Both must be whole: e with its payload. Where the end changes and
// nobody gave a duration, the duration follows.
func (e *Event) Apply(u *Update) {
	correction := e.corrections()
	e.Restore()
	defer func() { e.Correct(correction) }()
	e.disownLogFields(u)
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

// FollowTimes sets the duration to the distance of the times, unless somebody has given it.
func (e *Event) FollowTimes() {
	if !e.DurationGiven {
		e.Duration = max(e.End-e.Start, 0)
	}
}
