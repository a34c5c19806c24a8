package store

import (
	"context"
	"fmt"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// DoctorSQLite examines a data directory, beside a server that uses it or without one. It takes no lock and writes nothing, unless it is to
// mend something: that needs the directory for itself, and fails if a server has it.
func DoctorSQLite(ctx context.Context, dir string, o DoctorOptions) (*diagnosis.Report, error) {
	return doctor(ctx, patient{
		place:   dir,
		dialect: query.SQLite,
		read: func(ctx context.Context) (patientDB, events.Bulk, error) {
			db, err := sqldb.OpenSQLiteReadOnly(ctx, dir)
			if err != nil {
				return nil, nil, err
			}
			return db, events.NewSQLiteBulk(db), nil
		},
		write: func(ctx context.Context, o Options) (*Store, error) {
			s, err := OpenSQLite(ctx, dir, o)
			if err != nil {
				return nil, fmt.Errorf("mend: %w", err)
			}
			return s, nil
		},
	}, o)
}
