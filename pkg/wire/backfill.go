package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// BackfillRequest is which past events a metric is to score: those that Search finds, the newest
// Limit of them, or all if that is 0.
type BackfillRequest struct {
	Search query.Search
	Limit  int
}

// DecodeBackfill reads the body of a backfill of a metric: {"filters"?, "dateRange"?,
// "evaluation_id"?, "limit"?}. Without filters those of the metric d choose the events. Errors name the field.
func DecodeBackfill(body []byte, d *metric.Definition, now time.Time) (r BackfillRequest, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return r, err
	}
	if err := knownFields(object, []string{"filters", "dateRange", "evaluation_id", "limit"}); err != nil {
		return r, err
	}
	// limit means another thing here than in a search, where it is a page's.
	var limit json.RawMessage
	var rest rawjson.Builder
	for key, raw := range rawjson.Object(object) {
		switch key {
		case "limit":
			limit = raw
		case "filters", "dateRange", "evaluation_id":
			rest.Raw(key, raw)
		}
	}
	if !rawjson.Null(limit) {
		n, ok := rawjson.Number(limit)
		if !ok || n < 1 || n > 1<<31-1 || n != float64(int(n)) {
			return r, fault.InvalidField("limit", "must be a whole number, 1 or more")
		}
		r.Limit = int(n)
	}
	search, err := metricEvents(rest.Bytes(), d, query.SearchPages, now)
	if err != nil {
		return r, err
	}
	r.Search = *search
	return r, nil
}

// Backfill returns the backfill that a request asks for, of a version of a metric. total is how many
// events match; no more than Limit of them are to be scored.
func (r *BackfillRequest) Backfill(metricID string, version int64, total int) (evaluation.Backfill, error) {
	filters, err := json.Marshal(r.Search.Filters)
	if err != nil {
		return evaluation.Backfill{}, fmt.Errorf("encode filters: %w", err)
	}
	if r.Limit > 0 {
		total = min(total, r.Limit)
	}
	return evaluation.Backfill{
		MetricID: metricID, Version: version, Filters: filters,
		From: r.Search.From, To: r.Search.To, RunID: r.Search.RunID, Limit: r.Limit, Total: total,
	}, nil
}

// AppendBackfill appends a backfill with its progress: total events are to be scored, looked of them were looked at,
// and the others are counted by what became of them.
func AppendBackfill(dst []byte, b *evaluation.Backfill) []byte {
	var out rawjson.Builder
	out.String("id", b.ID)
	out.String("metric_id", b.MetricID)
	out.String("metric_version", metric.VersionName(b.Version))
	out.String("state", string(b.State))
	if b.RunID != "" {
		out.String("evaluation_id", b.RunID)
	}
	if b.Limit > 0 {
		out.Int("limit", int64(b.Limit))
	}
	out.Int("total", int64(b.Total))
	out.Int("looked", int64(b.Looked))
	out.Int("skipped", int64(b.Skipped))
	out.Int("waiting", int64(b.Waiting))
	out.Int("paused", int64(b.Paused))
	out.Int("done", int64(b.Done))
	out.Int("failed", int64(b.Failed))
	out.Int("dead", int64(b.Dead))
	out.String("created_at", isoTime(b.Created))
	if b.Updated != 0 {
		out.String("updated_at", isoTime(b.Updated))
	}
	return append(dst, out.Bytes()...)
}
