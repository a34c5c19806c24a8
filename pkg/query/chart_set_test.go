package query

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPeriodBefore compares ranges with what is before them: that has as many buckets, cut like those of the range, and nothing in between.
func TestPeriodBefore(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const minute = "2006-01-02 15:04"
	for _, tt := range []struct {
		name     string
		bucket   Bucket
		zone     *time.Location
		from, to string
		buckets  []string // of the period before
		first    string   // its first and last minute
		last     string
	}{
		{"whole days", Day, time.UTC, "2026-03-04 00:00", "2026-03-05 23:59", []string{"2026-03-02 00:00", "2026-03-03 00:00"}, "2026-03-02 00:00", "2026-03-03 23:59"},
		{"a week up to now", Day, time.UTC, "2026-03-09 10:00", "2026-03-11 10:00",
			[]string{"2026-03-07 00:00", "2026-03-08 00:00", "2026-03-09 00:00"}, "2026-03-07 10:00", "2026-03-09 09:59"},
		{"up to a day that the month before lacks", Month, time.UTC, "2026-12-10 00:00", "2027-01-31 12:00",
			[]string{"2026-10-01 00:00", "2026-11-01 00:00"}, "2026-10-10 00:00", "2026-11-30 23:59"},
		{"from a day that the month before lacks", Month, time.UTC, "2026-03-30 00:00", "2026-03-31 12:00", []string{"2026-02-01 00:00"}, "2026-02-28 23:59", "2026-02-28 23:59"},
		{"up to the end of a day that was an hour shorter", Day, berlin, "2026-03-30 10:00", "2026-03-31 23:30",
			[]string{"2026-03-28 00:00", "2026-03-29 00:00"}, "2026-03-28 10:00", "2026-03-29 23:59"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := func(text string) float64 {
				parsed, err := time.ParseInLocation(minute, text, tt.zone)
				if err != nil {
					t.Fatal(err)
				}
				return float64(parsed.UnixMilli())
			}
			from := at(tt.from)
			set := ChartSet{From: &from, To: at(tt.to), Bucket: tt.bucket, Zone: tt.zone}
			times, err := set.Buckets()
			if err != nil {
				t.Fatal(err)
			}
			before, starts := set.Before(times)
			var buckets []string
			for _, s := range starts {
				buckets = append(buckets, s.Format(minute))
			}
			text := func(ms float64) string { return time.UnixMilli(int64(ms)).In(tt.zone).Format(minute) }
			if diff := cmp.Diff(append(tt.buckets, tt.first, tt.last), append(buckets, text(*before.From), text(before.To))); diff != "" {
				t.Errorf("the period before (-want +got):\n%s", diff)
			}
		})
	}
}
