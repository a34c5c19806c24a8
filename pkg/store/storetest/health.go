package storetest

import (
	"os"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store"
)

// damaged are the cases that leave a store that is damaged.
var damaged = map[string]bool{"Open/a damaged chunk is an error": true, "Open/a missing chunk is an error": true}

// byClock are checks that go by the clock, of which some cases have their own.
var byClock = map[string]bool{"alerts": true, "leases": true, "evaluations": true, "waiting": true, "deletions": true}

// byMachine are checks of the machine and of how the database is set up.
var byMachine = map[string]bool{"files": true, "space": true, "settings": true, "connections": true, "vacuum": true, "clock": true}

// warned are checks that may warn of what a case sends, or of a clock of its own.
var warned = map[string]bool{"trees": true, "partitions": true}

// checkHealth holds, after every case, that an examination of everything finds nothing wrong, while the store is still open. It takes
// time, and is done if SPANGROVE_DOCTOR_CASES is set.
func checkHealth(t *testing.T, place Place, name string) {
	t.Helper()
	if os.Getenv("SPANGROVE_DOCTOR_CASES") == "" || t.Failed() || damaged[name] || strings.HasPrefix(name, "Doctor/") {
		return
	}
	report, err := place.Doctor(t, store.DoctorOptions{Full: true})
	if err != nil {
		t.Errorf("doctor: %v", err)
		return
	}
	for _, f := range report.Findings {
		if (f.Severity == diagnosis.Error || f.Severity == diagnosis.Warn && !warned[f.Check]) && !byClock[f.Check] && !byMachine[f.Check] {
			t.Errorf("doctor: %s %s: %s %q", f.Severity, f.Check, f.Text, f.Examples)
		}
	}
}
