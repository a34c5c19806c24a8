package store

import (
	"context"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// DoctorPostgres examines a database. It changes nothing unless it is to mend something, which it does in transactions that servers on the
// database wait for as for one another.
func DoctorPostgres(ctx context.Context, dsn string, o DoctorOptions) (*diagnosis.Report, error) {
	return doctor(ctx, patient{
		place:   placeOf(dsn),
		dialect: query.Postgres,
		read: func(ctx context.Context) (patientDB, events.Bulk, error) {
			db, err := sqldb.OpenPostgresReadOnly(ctx, dsn)
			if err != nil {
				return nil, nil, err
			}
			return db, events.NewPostgresBulk(db), nil
		},
		write: func(ctx context.Context, o Options) (*Store, error) {
			s, err := OpenPostgres(ctx, dsn, o)
			if err != nil {
				return nil, fmt.Errorf("mend: %w", err)
			}
			return s, nil
		},
	}, o)
}

// placeOf names a database without its password.
func placeOf(dsn string) string {
	conf, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return "PostgreSQL"
	}
	c := conf.ConnConfig
	u := url.URL{Host: fmt.Sprintf("%s:%d", c.Host, c.Port), Path: c.Database}
	return "PostgreSQL " + u.Host + u.EscapedPath()
}
