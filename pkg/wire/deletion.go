package wire

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DeletionRequest asks to delete all that a search finds, or to count that.
type DeletionRequest struct {
	Events   query.Search        // of a deletion of events
	Sessions query.SessionSearch // of a deletion of sessions
	Dry      bool                // only count
	Seen     deletion.Count      // what the caller expects at most
}

// DecodeDeletion reads the body of a deletion of events or of sessions. Filters and range are those of a search; now is what relative ranges
// count from. Unknown fields are refused, those of a search that only say how its answer looks among them.
//
//	{"filters": […], "dateRange": "7d", "dry_run": true}
//	{"filters": […], "dateRange": "7d", "expected_sessions": 12, "expected_events": 340}
func DecodeDeletion(body []byte, of deletion.Kind, now time.Time) (in DeletionRequest, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return in, err
	}
	search, own := []string{"filters", "dateRange", "evaluation_id"}, []string{"dry_run", "expected_events"}
	if of == deletion.Sessions {
		search, own = []string{"filters", "event_filters", "dateRange"}, append(own, "expected_sessions")
	}
	if err := knownFields(object, slices.Concat(search, own)); err != nil {
		return in, err
	}
	var b rawjson.Builder
	expected := map[string]*int64{"expected_events": &in.Seen.Events, "expected_sessions": &in.Seen.Sessions}
	missing := own[1:]
	for key, raw := range rawjson.Object(object) {
		switch {
		case rawjson.Null(raw):
		case slices.Contains(search, key):
			b.Raw(key, raw)
		case key == "dry_run":
			if in.Dry, err = readBool(raw); err != nil {
				return in, fault.In(key, err)
			}
		default:
			n, ok := rawjson.Number(raw)
			if !ok || n < 0 || n != float64(int64(n)) {
				return in, fault.InvalidField(key, "must be a whole number, 0 or more")
			}
			*expected[key] = int64(n)
			missing = slices.DeleteFunc(slices.Clone(missing), func(name string) bool { return name == key })
		}
	}
	if in.Dry && len(missing) < len(own)-1 {
		return in, fault.InvalidField("dry_run", "does not go with what is expected: it is what tells that")
	}
	if !in.Dry && len(missing) > 0 {
		return in, fault.InvalidField(missing[0], "is required: what the same request with dry_run answered, of which no more will be deleted")
	}
	return in, in.readSearch(b.Bytes(), of, now)
}

func (in *DeletionRequest) readSearch(search json.RawMessage, of deletion.Kind, now time.Time) error {
	if of == deletion.Sessions {
		r, err := DecodeSessionSearch(search, now)
		if err == nil {
			in.Sessions = r.Search
		}
		return err
	}
	r, err := DecodeSearch(search, query.SearchPages, now)
	if err == nil {
		in.Events = r.Search
	}
	return err
}

// AppendDeletionCount appends what a deletion would delete.
func AppendDeletionCount(dst []byte, of deletion.Kind, n deletion.Count) []byte {
	var b rawjson.Builder
	b.Bool("dry_run", true)
	if of == deletion.Sessions {
		b.Int("sessions", n.Sessions)
	}
	b.Int("events", n.Events)
	if of == deletion.Events {
		b.Int("session_events", n.SessionEvents)
	}
	return append(dst, b.Bytes()...)
}

// AppendDeletion appends a deletion with its progress.
func AppendDeletion(dst []byte, d *deletion.Deletion) []byte {
	var b rawjson.Builder
	b.String("id", d.ID)
	b.String("of", string(d.Of))
	b.String("state", string(d.State))
	if d.Of == deletion.Sessions {
		b.Int("sessions", d.Total.Sessions)
	}
	b.Int("events", d.Total.Events)
	if d.Of == deletion.Sessions {
		b.Int("deleted_sessions", d.Deleted.Sessions)
	}
	b.Int("deleted_events", d.Deleted.Events)
	if d.Of == deletion.Sessions {
		b.Int("kept_sessions", d.Kept)
	}
	b.String("created_at", isoTime(d.Created))
	if d.Updated != 0 {
		b.String("updated_at", isoTime(d.Updated))
	}
	return append(dst, b.Bytes()...)
}
