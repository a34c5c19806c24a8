package wire

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// QueueChange is the body of a queue's creation or update.
type QueueChange struct {
	queue.Update
	Add    []uuid.UUID // event_ids of a creation, add_event_ids of an update
	Remove []uuid.UUID
}

// DecodeQueue reads the body of a queue's creation or update. Null is absent and unknown fields
// are ignored. Errors name the field. Whether values are a queue's is queue's to say.
func DecodeQueue(body []byte) (q QueueChange, err error) {
	err = eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "name":
			err = setTextPointer(&q.Name, raw)
		case "description":
			err = setTextPointer(&q.Description, raw)
		case "filters":
			q.Filters, err = readFilterObject(raw)
		case "enabled":
			err = setBoolPointer(&q.Enabled, raw)
		case "annotators_per_item":
			var n int64
			n, err = readWhole(raw)
			annotators := int(n)
			q.Annotators = &annotators
		case "lease_seconds":
			var n int64
			n, err = readWhole(raw)
			q.Lease = &n
		case "metrics":
			q.Metrics, err = readTexts(raw, queue.MaxMetrics)
		case "event_ids", "add_event_ids":
			var ids []uuid.UUID
			if ids, err = readEventIDs(raw, queue.MaxEvents); err == nil && len(q.Add)+len(ids) > queue.MaxEvents {
				err = fault.New(fault.Invalid, "must have at most %d elements, with those of the other name", queue.MaxEvents)
			}
			q.Add = append(q.Add, ids...)
		case "remove_event_ids":
			q.Remove, err = readEventIDs(raw, queue.MaxEvents)
		}
		return err
	})
	return q, err
}

// DecodeAnnotator reads the name of an annotator from a body, and whether it says skip.
func DecodeAnnotator(body []byte) (annotator string, skip bool, err error) {
	err = eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "annotator":
			annotator, err = readText(raw)
		case "skip":
			skip, err = readBool(raw)
		}
		return err
	})
	if err != nil {
		return "", false, err
	}
	return annotator, skip, queue.CheckAnnotator(annotator)
}

// DecodeAnnotation reads the body of an annotation: {"annotator", "scores": {<metric>: <score>}, "comment"?}.
func DecodeAnnotation(body []byte) (a queue.Annotation, err error) {
	err = eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "annotator":
			a.Annotator, err = readText(raw)
		case "scores":
			a.Scores, err = readObject(raw)
		case "comment":
			a.Comment, err = readText(raw)
		}
		return err
	})
	if err != nil {
		return a, err
	}
	return a, a.Validate()
}

// AppendQueue appends a queue as answers show it.
func AppendQueue(dst []byte, q *queue.Queue, p *project.Project, dialect Dialect) []byte {
	b := itemOf(q.ID, dialect)
	b.String("name", q.Name)
	b.String("description", q.Description)
	b.Raw("filters", shownFilters(q.Filters))
	b.Bool("enabled", q.Enabled)
	b.Int("annotators_per_item", int64(q.Annotators))
	b.Int("lease_seconds", q.Lease)
	b.Raw("metrics", rawjson.AppendStrings(nil, q.Metrics))
	b.Raw("counts", counts(q.Counts))
	b.String("scope_type", "project")
	b.String("scope_id", p.PublicID)
	b.Bool("is_active", true)
	addTimes(b, q.Created, q.Updated, dialect)
	return append(dst, b.Bytes()...)
}

// counts returns how many items of a queue are in which state.
func counts(c queue.Counts) json.RawMessage {
	var b rawjson.Builder
	b.Int("waiting", int64(c.Waiting))
	b.Int("done", int64(c.Done))
	b.Int("disputed", int64(c.Disputed))
	b.Int("held", int64(c.Held))
	return b.Bytes()
}

// AppendQueueItem appends an item of a queue as answers show it. blind is without what others said
// of it, for who is to say so independently.
func AppendQueueItem(dst []byte, it *queue.Item, blind bool) []byte {
	var b rawjson.Builder
	b.String("event_id", it.EventID.String())
	b.String("state", string(it.Shown()))
	b.Int("annotators_needed", int64(it.Slots))
	b.Int("annotators_done", int64(len(it.Annotations)))
	b.String("added_at", isoTime(it.Added))
	b.Raw("claims", array(it.Claims, func(c queue.Claim) json.RawMessage {
		var b rawjson.Builder
		b.String("annotator", c.Annotator)
		b.String("expires_at", isoTime(c.Expires))
		return b.Bytes()
	}))
	if blind {
		return append(dst, b.Bytes()...)
	}
	b.Raw("skipped_by", rawjson.AppendStrings(nil, it.Skipped))
	b.Raw("annotations", array(it.Annotations, func(a queue.Annotation) json.RawMessage { return annotationOf(&a) }))
	if scores := it.Written(); scores != nil {
		b.Raw("scores", scores)
	}
	if s := it.Settlement; s != nil {
		b.Raw("settlement", annotationOf(&queue.Annotation{Annotator: s.Annotator, Scores: s.Scores, Comment: s.Comment, Created: s.At}))
	}
	return append(dst, b.Bytes()...)
}

// annotationOf returns what a person said of an item.
func annotationOf(a *queue.Annotation) json.RawMessage {
	var b rawjson.Builder
	b.String("annotator", a.Annotator)
	b.Raw("scores", a.Scores)
	if a.Comment != "" {
		b.String("comment", a.Comment)
	}
	b.String("created_at", isoTime(a.Created))
	if a.Updated != 0 {
		b.String("updated_at", isoTime(a.Updated))
	}
	return b.Bytes()
}

// QueueAnnotators returns what each annotator of a queue has done: {"annotators": […]}.
func QueueAnnotators(list []queue.AnnotatorCounts) json.RawMessage {
	var b rawjson.Builder
	b.Raw("annotators", array(list, func(a queue.AnnotatorCounts) json.RawMessage {
		var b rawjson.Builder
		b.String("annotator", a.Annotator)
		b.Int("annotated", int64(a.Annotated))
		b.Int("skipped", int64(a.Skipped))
		b.Int("held", int64(a.Held))
		if a.Last != 0 {
			b.String("last_at", isoTime(a.Last))
		}
		return b.Bytes()
	}))
	return b.Bytes()
}

// QueueNext returns the answer to who asks for the next item or for a certain one: {"item", "event", "annotation", "progress", "counts",
// "caught_up"}. item and event are nil if there is none, and own is what this annotator said of it, nil if nothing. If it is not caughtUp,
// events were not looked at yet, and to ask again may find one.
func QueueNext(item, event json.RawMessage, own *queue.Annotation, p queue.Progress, c queue.Counts, caughtUp bool) json.RawMessage {
	if item == nil {
		item, event = json.RawMessage("null"), json.RawMessage("null")
	}
	var b rawjson.Builder
	b.Raw("item", item)
	b.Raw("event", event)
	if own != nil {
		b.Raw("annotation", annotationOf(own))
	}
	var progress rawjson.Builder
	progress.Int("annotated", int64(p.Annotated))
	progress.Int("skipped", int64(p.Skipped))
	progress.Int("open", int64(p.Open))
	progress.Int("held_by_others", int64(p.Held))
	b.Raw("progress", progress.Bytes())
	b.Raw("counts", counts(c))
	b.Bool("caught_up", caughtUp)
	return b.Bytes()
}

// QueueAgreements returns how far the annotators of a queue agree: {"metrics": […]}.
func QueueAgreements(list []queue.Agreement) json.RawMessage {
	var b rawjson.Builder
	b.Raw("metrics", array(list, func(a queue.Agreement) json.RawMessage {
		var b rawjson.Builder
		b.String("name", a.Metric)
		weights := "none"
		if a.Numbers {
			weights = "squared"
		}
		b.String("weights", weights)
		addAgreement(&b, &a)
		b.Raw("of", array(a.Of, func(of queue.Agreement) json.RawMessage {
			var b rawjson.Builder
			b.Raw("annotators", rawjson.AppendStrings(nil, []string{of.A, of.B}))
			addAgreement(&b, &of)
			return b.Bytes()
		}))
		return b.Bytes()
	}))
	return b.Bytes()
}

// addAgreement adds how far two agree, or all: null where it is not defined, and the reason.
func addAgreement(b *rawjson.Builder, a *queue.Agreement) {
	b.Int("pairs", int64(a.Pairs))
	numberOrNull(b, "observed_agreement", a.Observed)
	numberOrNull(b, "kappa", a.Kappa)
	if a.Reason != "" {
		b.String("reason", a.Reason)
	}
}

// numberOrNull adds a number, null if it is unknown.
func numberOrNull(b *rawjson.Builder, key string, value *float64) {
	if value == nil {
		b.Raw(key, json.RawMessage("null"))
		return
	}
	b.Number(key, *value)
}
