package deletion

import (
	"testing"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		of         Kind
		have, seen Count
		ok         bool
	}{
		{Events, Count{Events: 5}, Count{Events: 5}, true},
		{Events, Count{Events: 4}, Count{Events: 5}, true},
		{Events, Count{Events: 6}, Count{Events: 5}, false},
		{Sessions, Count{Sessions: 2, Events: 5}, Count{Sessions: 2, Events: 5}, true},
		{Sessions, Count{Sessions: 3, Events: 5}, Count{Sessions: 2, Events: 5}, false},
		{Sessions, Count{Sessions: 1, Events: 6}, Count{Sessions: 2, Events: 5}, false},
	} {
		err := tt.have.Check(tt.of, tt.seen)
		if (err == nil) != tt.ok || err != nil && fault.Of(err) != fault.Conflict {
			t.Errorf("%s: %+v for %+v: %v", tt.of, tt.have, tt.seen, err)
		}
	}
}
