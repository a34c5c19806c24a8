package events

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A transaction needs no connection but its own.
func TestWriterNeedsNoReader(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	for range s.db.Readers() {
		rows, err := s.db.Query(t.Context(), `SELECT 1`)
		if err != nil {
			t.Fatal("take a reader:", err)
		}
		defer rows.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := s.db.Write(ctx, func(tx sqldb.Tx) error {
		_, err := s.bulk.begin(tx).findEvents(ctx, 1, []idDays{{id: uuid.New()}})
		return err
	})
	if err != nil {
		t.Error("find an event on any day while all readers are busy:", err)
	}
}
