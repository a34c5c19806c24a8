package main

import (
	"cmp"
	"os"

	"github.com/spf13/pflag"
)

// storePlace is where a command finds a store: a data directory, or a database.
type storePlace struct{ data, dsn string }

func (p *storePlace) flags(f *pflag.FlagSet) {
	f.StringVar(&p.data, "data", "", "data directory (default $SPANGROVE_DATA_DIR, else ./spangrove-data)")
	f.StringVar(&p.dsn, "dsn", "", "connection string of a PostgreSQL database instead (default $SPANGROVE_POSTGRES_DSN, or what the file $SPANGROVE_POSTGRES_DSN_FILE has)")
}

// find returns a connection string, or else a directory.
func (p *storePlace) find() (dsn, data string, err error) {
	data = cmp.Or(p.data, os.Getenv("SPANGROVE_DATA_DIR"), "spangrove-data")
	if p.data != "" {
		return "", data, nil
	}
	if p.dsn != "" {
		return p.dsn, data, nil
	}
	dsn, err = fromFileOr("SPANGROVE_POSTGRES_DSN")
	return dsn, data, err
}
