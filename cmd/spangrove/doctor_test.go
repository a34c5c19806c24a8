package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store"
)

// storeDir makes a data directory with two sessions of two events, sealed, if there is none, and runs a statement on its database:
//
//	storedir DIR [SQL]
func storeDir() {
	ctx, dir := context.Background(), os.Args[1]
	err := makeStore(ctx, dir)
	if err == nil && len(os.Args) > 2 {
		var db *sql.DB
		if db, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "spangrove.db")); err == nil {
			_, err = db.ExecContext(ctx, os.Args[2])
			err = errors.Join(err, db.Close())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "storedir:", err)
		os.Exit(1)
	}
}

func makeStore(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	s, err := store.OpenSQLite(ctx, dir, store.Options{})
	if err != nil {
		return err
	}
	p, err := s.EnsureProject(ctx, "default")
	for range 2 {
		session := uuid.New()
		for _, typ := range []event.Type{event.TypeTool, event.TypeModel} {
			e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: session, Type: typ, Name: "step",
				Inputs: []byte(`{"question":"some words"}`), Metadata: []byte(`{"total_tokens":7}`), Start: 1767355200000}}
			e.Complete(time.Now())
			if err == nil {
				err = s.Put(ctx, p.ID, event.Batch{Events: []event.Incoming{e}})
			}
		}
	}
	if err == nil {
		err = s.Seal(ctx)
	}
	return errors.Join(err, s.Close(ctx))
}
