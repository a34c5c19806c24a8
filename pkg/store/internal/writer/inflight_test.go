package writer

import (
	"testing"

	"github.com/google/uuid"
)

func TestInFlight(t *testing.T) {
	t.Parallel()
	f := newInFlight()
	a, b, c := Key{Project: 1, ID: uuid.New()}, Key{Project: 1, ID: uuid.New()}, Key{Project: 2, ID: uuid.New()}
	f.enter([]Key{a, b})
	f.enter([]Key{c})
	entered := make(chan struct{})
	go func() { f.enter([]Key{b, c}); close(entered) }()
	f.leave([]Key{c})
	select {
	case <-entered:
		t.Fatal("two writers store the same id")
	default:
	}
	f.leave([]Key{a, b})
	<-entered
}
