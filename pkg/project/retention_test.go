package project_test

import (
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
)

func TestKeptFrom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		now, want string
		days      int64
	}{
		{"2026-01-04T00:00:00Z", "2026-01-02T00:00:00Z", 2},
		{"2026-01-04T23:59:59.999Z", "2026-01-02T00:00:00Z", 2},
		{"2026-01-03T23:59:59.999Z", "2026-01-01T00:00:00Z", 2},
		{"2026-03-01T12:00:00+05:00", "2026-02-28T00:00:00Z", 1},
	} {
		now, err := time.Parse(time.RFC3339, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		got := time.UnixMilli(int64(project.KeptFrom(tt.days, float64(now.UnixMilli())))).UTC().Format(time.RFC3339)
		if got != tt.want {
			t.Errorf("%d days at %s: kept from %s, want %s", tt.days, tt.now, got, tt.want)
		}
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	number := func(v float64) *float64 { return &v }
	var own project.Retention
	for _, tt := range []struct {
		name  string
		value *float64
		want  string
	}{
		{"event_days", number(90), ""},
		{"payload_days", number(0), ""},
		{"payload_days", nil, ""},
		{"event_days", number(-1), "must be between 0 and 36500"},
		{"event_days", number(36501), "must be between 0 and 36500"},
		{"event_days", number(1.5), "must be a whole number"},
	} {
		err := own.Set(tt.name, tt.value)
		if got := message(err); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if own.Set("days", number(1)) == nil {
		t.Error("an unknown name was set")
	}
	rule := own.Over(project.RetentionRule{EventDays: 400, PayloadDays: 30})
	if want := (project.RetentionRule{EventDays: 90, PayloadDays: 30}); rule != want {
		t.Errorf("rule %+v, want %+v", rule, want)
	}
	if err := rule.Validate(); err != nil {
		t.Error(err)
	}
	rule.PayloadDays = 91
	if err := rule.Validate(); fault.Of(err) != fault.Invalid {
		t.Errorf("payload for longer than events: %v", err)
	}
	rule.EventDays = 0 // for good
	if err := rule.Validate(); err != nil {
		t.Error(err)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
