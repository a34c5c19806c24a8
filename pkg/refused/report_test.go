package refused

import (
	"fmt"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	r := NewReport()
	wrong := Request{Method: "POST", Path: "/v1/traces", Status: 401, Message: "unknown API key", KeyPrefix: "sg_abc"}
	if line, first := r.Add("", wrong); !first || line.Count != 1 || line.KeyPrefix != "sg_abc" || line.Message != wrong.Message {
		t.Errorf("the first: %+v, %t", line, first)
	}
	for range 99 {
		if _, first := r.Add("", wrong); first {
			t.Fatal("said again")
		}
	}
	over := Request{Status: 429, Message: "too many requests", KeyPrefix: "sg_abc"}
	if _, first := r.Add("p1", over); !first {
		t.Error("another reason is not said")
	}
	if _, first := r.Add("p1", Request{Status: 404, KeyPrefix: "sg_abc"}); first {
		t.Error("a path that is not there is no refused sender")
	}
	again, others := r.Flush()
	if len(again) != 1 || others != 0 || again[0].Count != 99 || again[0].Status != 401 {
		t.Errorf("after the first interval: %+v, %d others", again, others)
	}
	r.Add("", wrong)
	if again, _ := r.Flush(); len(again) != 1 || again[0].Count != 1 {
		t.Errorf("after the second: %+v", again)
	}
	if again, _ := r.Flush(); len(again) != 0 {
		t.Errorf("after a quiet one: %+v", again)
	}
	if _, first := r.Add("", wrong); !first {
		t.Error("after a quiet interval it is not said again")
	}
}

// A flood of made-up keys is a bounded number of lines.
func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	r, lines := NewReport(), 0
	for i := range 10 * MaxReported {
		if _, first := r.Add("", Request{Status: 401, KeyPrefix: fmt.Sprint("key", i)}); first {
			lines++
		}
	}
	if again, others := r.Flush(); lines != MaxReported || len(again) != 0 || others != 9*MaxReported {
		t.Errorf("%d lines, then %d and %d others", lines, len(again), others)
	}
}
