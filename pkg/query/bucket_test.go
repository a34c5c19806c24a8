package query

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// zones returns the names of the time zone database that the Go distribution brings along.
func zones(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip")) //nolint:staticcheck // the tests run where Go is
	if err != nil {
		t.Skip(err)
	}
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	seen := map[uint32]bool{} // many are other names of the same zone
	for _, f := range z.File {
		if !f.FileInfo().IsDir() && !seen[f.CRC32] {
			seen[f.CRC32] = true
			names = append(names, f.Name)
		}
	}
	if len(names) < 300 {
		t.Errorf("only %d zones", len(names))
	}
	return names
}

func TestBucketStarts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		zone   string
		bucket Bucket
		at     string   // an instant
		want   []string // the bucket's start and those that follow
	}{
		{"America/Santiago", Day, "2025-09-07T12:00:00-03:00", []string{"2025-09-07T01:00:00-03:00", "2025-09-08T00:00:00-03:00"}},
		{"America/Santiago", Day, "2025-09-06T22:00:00-04:00", []string{"2025-09-06T00:00:00-04:00", "2025-09-07T01:00:00-03:00"}},
		{"America/Santiago", Day, "2025-04-05T23:30:00-04:00", []string{"2025-04-05T00:00:00-03:00", "2025-04-06T00:00:00-04:00"}},
		{"America/Havana", Day, "2025-03-09T01:30:00-04:00", []string{"2025-03-09T01:00:00-04:00", "2025-03-10T00:00:00-04:00"}},
		{"America/Havana", Day, "2025-11-02T00:30:00-05:00", []string{"2025-11-02T00:00:00-04:00", "2025-11-03T00:00:00-05:00"}},
		{"Africa/Cairo", Day, "2025-04-25T12:00:00+03:00", []string{"2025-04-25T01:00:00+03:00", "2025-04-26T00:00:00+03:00"}},
		{"Africa/Cairo", Day, "2025-10-30T23:30:00+02:00", []string{"2025-10-30T00:00:00+03:00", "2025-10-31T00:00:00+02:00"}},
		{"Asia/Beirut", Day, "2025-03-30T12:00:00+03:00", []string{"2025-03-30T01:00:00+03:00", "2025-03-31T00:00:00+03:00"}},
		{"America/Sao_Paulo", Day, "2018-11-04T12:00:00-02:00", []string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"Pacific/Apia", Day, "2011-12-29T12:00:00-10:00", []string{"2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"}},
		{"Pacific/Apia", Week, "2011-12-31T12:00:00+14:00", []string{"2011-12-26T00:00:00-10:00", "2012-01-02T00:00:00+14:00"}},
		{"America/Asuncion", Month, "2017-10-20T12:00:00-03:00", []string{"2017-10-01T01:00:00-03:00", "2017-11-01T00:00:00-03:00"}},
		{"America/St_Johns", Day, "2010-11-06T23:30:00-03:30", []string{"2010-11-06T00:00:00-02:30", "2010-11-07T00:00:00-02:30", "2010-11-08T00:00:00-03:30"}},
		{"Australia/Lord_Howe", Hour, "2025-10-05T02:40:00+11:00", []string{"2025-10-05T02:30:00+11:00", "2025-10-05T03:00:00+11:00"}},
		{"Australia/Lord_Howe", Hour, "2025-04-06T01:10:00+11:00", []string{"2025-04-06T01:00:00+11:00", "2025-04-06T01:30:00+10:30", "2025-04-06T02:00:00+10:30"}},
		{"Asia/Pyongyang", Hour, "2018-05-04T23:10:00+08:30", []string{"2018-05-04T23:00:00+08:30", "2018-05-05T00:00:00+09:00"}},
		{"Europe/Berlin", Hour, "2025-10-26T02:30:00+02:00", []string{"2025-10-26T02:00:00+02:00", "2025-10-26T02:00:00+01:00", "2025-10-26T03:00:00+01:00"}},
		{"Europe/Berlin", Day, "2025-10-26T12:00:00+01:00", []string{"2025-10-26T00:00:00+02:00", "2025-10-27T00:00:00+01:00"}},
		{"Europe/Berlin", Day, "2096-12-31T12:00:00+01:00", []string{"2096-12-31T00:00:00+01:00", "2097-01-01T00:00:00+01:00"}},
		{"Europe/Berlin", Hour, "2096-12-31T23:10:00+01:00", []string{"2096-12-31T23:00:00+01:00", "2097-01-01T00:00:00+01:00"}},
		{"UTC", Month, "2024-02-29T12:00:00Z", []string{"2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"}},
		{"UTC", Minute, "2024-02-29T12:00:59.9Z", []string{"2024-02-29T12:00:00Z", "2024-02-29T12:01:00Z"}},
	} {
		zone, err := time.LoadLocation(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		start := tt.bucket.Start(at, zone)
		for i, want := range tt.want {
			if i > 0 {
				start = tt.bucket.Next(start)
			}
			if got := start.Format(time.RFC3339); got != want {
				t.Errorf("%s of %s in %s: start %d is %s, want %s", tt.bucket, tt.at, tt.zone, i, got, want)
			}
		}
	}
}

// In every zone, from 2009 to 2027: each start is later than the one before and is its own start, the
// instants before it belong to other buckets, all instants' starts are among them, and a database's unit
// of time lies in one bucket.
func TestBucketsOfAllZones(t *testing.T) {
	t.Parallel()
	from := time.Date(2009, 1, 1, 0, 0, 0, 0, time.UTC)
	to := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, name := range zones(t) {
		if testing.Short() && i%5 != 0 {
			continue
		}
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var changes []time.Time
		for at := from.In(zone); ; {
			_, end := at.ZoneBounds()
			if end.IsZero() || end.After(to) {
				break
			}
			changes = append(changes, end)
			at = end.In(zone)
		}
		for _, b := range []Bucket{Day, Week, Month} {
			if err := checkBuckets(b, zone, from, to, changes); err != nil {
				t.Errorf("%s: %s: %v", name, b, err)
			}
		}
		for _, change := range changes {
			for _, b := range []Bucket{"10s", Minute, "10m", Hour, "3h"} {
				if err := checkBuckets(b, zone, change.Add(-3*time.Hour), change.Add(3*time.Hour), []time.Time{change}); err != nil {
					t.Errorf("%s: %s: %v", name, b, err)
				}
			}
		}
	}
}

func checkBuckets(b Bucket, zone *time.Location, from, to time.Time, changes []time.Time) error {
	starts := []time.Time{b.Start(from, zone)}
	for last := starts[0]; last.Before(to); {
		next := b.Next(last)
		if !next.After(last) {
			return fmt.Errorf("after %s comes %s", last, next)
		}
		if start := b.Start(next, zone); !start.Equal(next) {
			return fmt.Errorf("%s begins at %s", next, start)
		}
		if start := b.Start(next.Add(-1), zone); !start.Before(next) {
			return fmt.Errorf("before %s comes %s", next, start)
		}
		starts = append(starts, next)
		last = next
	}
	size, origin := b.unit(zone, float64(from.UnixMilli()), float64(to.UnixMilli()))
	plan := ChartPlan{size: size, origin: origin}
	for _, change := range changes {
		for _, d := range []time.Duration{-36 * time.Hour, -90 * time.Minute, -time.Hour, -time.Minute, -time.Millisecond, 0, time.Millisecond, time.Minute, 29 * time.Minute, time.Hour, 90 * time.Minute, 36 * time.Hour} {
			at := change.Add(d)
			if at.Before(from) || at.After(to) {
				continue
			}
			start := b.Start(at, zone)
			if _, found := slices.BinarySearchFunc(starts, start, time.Time.Compare); !found || start.After(at) {
				return fmt.Errorf("%s begins at %s, which is no start", at.In(zone), start)
			}
			unit := plan.unitStart(plan.unitOf(float64(at.UnixMilli())))
			if in := b.Start(unit, zone); !in.Equal(start) {
				return fmt.Errorf("%s begins at %s, its unit of %v ms at %s", at.In(zone), start, size, in)
			}
		}
	}
	return nil
}

func TestFit(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	for span, want := range map[time.Duration]Bucket{
		0: Second, 2 * time.Minute: Second, 15 * time.Minute: "10s", time.Hour: "30s", 24 * time.Hour: "30m", 7 * 24 * time.Hour: "3h",
		30 * 24 * time.Hour: "6h", 60 * 24 * time.Hour: "12h", 120 * 24 * time.Hour: Day, 121 * 24 * time.Hour: Week, 3 * 365 * 24 * time.Hour: Month,
	} {
		from := float64(now.Add(-span).UnixMilli())
		if got := Fit(&from, nil, now); got != want {
			t.Errorf("the last %s: %s, want %s", span, got, want)
		}
		to := float64(now.UnixMilli())
		if got := Fit(&from, &to, now.Add(time.Hour)); got != want {
			t.Errorf("%s that are over: %s, want %s", span, got, want)
		}
	}
	if got := Fit(nil, nil, now); got != Day {
		t.Errorf("all time: %s", got)
	}
}
