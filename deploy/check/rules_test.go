package check

import (
	"os"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"sigs.k8s.io/yaml"
)

type rule struct {
	Alert, Expr, For string
}

func rules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("../prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups[0].Rules
}

// TestRules evaluates each rule after seven hours of series with which it fires, and of series with which it does not.
func TestRules(t *testing.T) {
	t.Parallel()
	const api = `{instance="a",route="POST /v1/events/search",status="200",le=`
	cases := map[string]struct{ fires, rests string }{
		"SpangroveDown":             {"up{job=\"spangrove\",instance=\"a\"} 1x420\n  up{job=\"spangrove\",instance=\"b\"} 0x420", `up{job="spangrove"} 1x420`},
		"SpangroveDiskFull":         {`spangrove_store_disk_full{instance="a"} 1x420`, `spangrove_store_disk_full{instance="a"} 0x420`},
		"SpangroveDiskFillsUp":      {`spangrove_store_disk_free_bytes{instance="a"} 1000000-2000x420`, `spangrove_store_disk_free_bytes{instance="a"} 1000000000-2000x420`},
		"SpangroveStoreUnavailable": {`spangrove_store_unavailable{instance="a"} 1x420`, `spangrove_store_unavailable{instance="a"} 0x420`},
		"SpangroveCommitsFail": {`spangrove_store_commits_failed{instance="a",reason="other"} 0+1x420`,
			`spangrove_store_commits_failed{instance="a",reason="disk_full"} 0+1x420`},
		"SpangroveSlowCommits": {
			"spangrove_store_commit_seconds_bucket{instance=\"a\",le=\"2\"} 0+1x420\n  spangrove_store_commit_seconds_bucket{instance=\"a\",le=\"5\"} 0+10x420\n  spangrove_store_commit_seconds_bucket{instance=\"a\",le=\"+Inf\"} 0+10x420",
			"spangrove_store_commit_seconds_bucket{instance=\"a\",le=\"2\"} 0+10x420\n  spangrove_store_commit_seconds_bucket{instance=\"a\",le=\"5\"} 0+10x420\n  spangrove_store_commit_seconds_bucket{instance=\"a\",le=\"+Inf\"} 0+10x420",
		},
		"SpangroveQueueFull":  {`spangrove_store_refused{instance="a"} 0+1x420`, `spangrove_store_refused{instance="a"} 5x420`},
		"SpangroveMemoryHigh": {`otelcol_process_memory_rss{instance="a"} 800000000x420`, `otelcol_process_memory_rss{instance="a"} 400000000x420`},
		"SpangroveMemoryRefuses": {`otelcol_processor_memory_limiter_refused_spans{instance="a"} 0+1x420`,
			`otelcol_processor_memory_limiter_refused_spans{instance="a"} 7x420`},
		"SpangroveExportFails": {`otelcol_exporter_send_failed_spans{instance="a",exporter="otlp_grpc/centre"} 0+1x420`,
			`otelcol_exporter_send_failed_spans{instance="a",exporter="otlp_grpc/centre"} 7x420`},
		"SpangroveExportWaits": {
			"otelcol_exporter_queue_size{instance=\"a\",exporter=\"x\"} 90x420\n  otelcol_exporter_queue_capacity{instance=\"a\",exporter=\"x\"} 100x420",
			"otelcol_exporter_queue_size{instance=\"a\",exporter=\"x\"} 10x420\n  otelcol_exporter_queue_capacity{instance=\"a\",exporter=\"x\"} 100x420",
		},
		"SpangroveSendersRefused": {`spangrove_auth_checks{instance="a",outcome="refused"} 0+60x420`, `spangrove_auth_checks{instance="a",outcome="accepted"} 0+60x420`},
		"SpangroveErrors": {
			"spangrove_api_request_duration_count{instance=\"a\",status=\"200\"} 0+90x420\n  spangrove_api_request_duration_count{instance=\"a\",status=\"503\"} 0+10x420",
			"spangrove_api_request_duration_count{instance=\"a\",status=\"200\"} 0+90x420\n  spangrove_api_request_duration_count{instance=\"a\",status=\"404\"} 0+10x420",
		},
		"SpangroveSlowReads": {
			"spangrove_api_request_duration_bucket" + api + "\"5\"} 0+1x420\n  spangrove_api_request_duration_bucket" + api + "\"10\"} 0+10x420\n  spangrove_api_request_duration_bucket" + api + "\"+Inf\"} 0+10x420",
			"spangrove_api_request_duration_bucket" + api + "\"5\"} 0+9x420\n  spangrove_api_request_duration_bucket" + api + "\"10\"} 0+10x420\n  spangrove_api_request_duration_bucket" + api + "\"+Inf\"} 0+10x420",
		},
		"SpangroveSegmentsStand":   {`spangrove_store_segment_idle_seconds{instance="a"} 700x420`, `spangrove_store_segment_idle_seconds{instance="a"} 5x420`},
		"SpangroveSegmentDamaged":  {`spangrove_store_segments_damaged{instance="a"} 0x400 1x20`, `spangrove_store_segments_damaged{instance="a"} 1x420`},
		"SpangroveEvaluationsWait": {`spangrove_evaluate_waiting{instance="a"} 2000x420`, `spangrove_evaluate_waiting{instance="a"} 20x420`},
		"SpangroveNoticesFail":     {`spangrove_alert_notices{channel="webhook",outcome="failed"} 0+1x420`, `spangrove_alert_notices{channel="webhook",outcome="sent"} 0+1x420`},
	}
	for _, r := range rules(t) {
		c, is := cases[r.Alert]
		if !is {
			t.Errorf("%s has no series here", r.Alert)
			continue
		}
		if got := holds(t, r.Expr, c.fires); !got {
			t.Errorf("%s does not fire for\n%s", r.Alert, c.fires)
		}
		if got := holds(t, r.Expr, c.rests); got {
			t.Errorf("%s fires for\n%s", r.Alert, c.rests)
		}
		delete(cases, r.Alert)
	}
	for name := range cases {
		t.Errorf("there is no rule %s", name)
	}
	for _, r := range rules(t) {
		if r.Alert == "SpangroveDown" && !holds(t, r.Expr, `up{job="other"} 1x420`) {
			t.Error("SpangroveDown does not fire where no Spangrove is scraped")
		}
	}
}

// holds evaluates an expression at the end of the series.
func holds(t *testing.T, expr, series string) bool {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n  "+series)
	defer storage.Close()
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000)
	q, err := engine.NewInstantQuery(t.Context(), storage, nil, expr, time.Unix(0, 0).Add(7*time.Hour))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer q.Close()
	result := q.Exec(t.Context())
	if result.Err != nil {
		t.Fatalf("%s: %v", expr, result.Err)
	}
	v, is := result.Value.(promql.Vector)
	return is && len(v) > 0
}
