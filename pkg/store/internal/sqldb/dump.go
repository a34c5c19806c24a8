package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pressly/goose/v3"
)

// Layout is what a database has beside the rows of its tables: what is needed to make one that takes them.
type Layout struct {
	Migrations []int64     `json:"migrations"`
	Partitions []Partition `json:"partitions,omitempty"`
	Tables     []Table     `json:"tables"` // those that others refer to first
	Sequences  []Sequence  `json:"sequences,omitempty"`
}

// Partition is a part of a table, listed after the one that it is a part of.
type Partition struct {
	Name   string `json:"name"`
	Parent string `json:"parent"`
	Bound  string `json:"bound"`        // FOR VALUES …
	By     string `json:"by,omitempty"` // what its own parts are divided by
}

// Table is a table that is no partition of another one.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Bytes   int64    `json:"-"` // about what its rows take on disk; 0 if that is not known without reading them
}

// Sequence is where the numbers of new rows stand.
type Sequence struct {
	Name   string `json:"name"`
	Last   int64  `json:"last"`
	Called bool   `json:"called"` // Last was given to a row
}

// Dump reads a store as of one moment, while servers go on with it.
type Dump interface {
	Layout() Layout
	// Copy writes the rows of a table, in an order that stays what it is while nothing changes, in the form that a Load of the same kind of database
	// takes. Each write is a row, or what stands before the first or after the last one. rows is how many there were.
	Copy(ctx context.Context, t Table, w io.Writer) (rows int64, err error)
	Close(ctx context.Context) error
}

// Load makes a store of what a Dump has read. No server opens it before Finish.
type Load interface {
	// Make makes the tables, without rows. A migration that this program does not know is an error.
	Make(ctx context.Context, l Layout) error
	// Copy stores the rows of a table.
	Copy(ctx context.Context, t Table, r io.Reader) error
	// Check returns what reads the store that was made, after all rows.
	Check(ctx context.Context) (Dump, error)
	// Finish makes it a store that servers open.
	Finish(ctx context.Context) error
	// Close ends a load. What is not finished by then is left unusable, or removed.
	Close(ctx context.Context) error
}

// Pipe lets one read what the other writes, at the same time. It returns the error of the one that failed first.
func Pipe(write func(io.Writer) error, read func(io.Reader) error) error {
	stopped := errors.New("not all of it was read")
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(w)
		_ = w.CloseWithError(err) // nil: the end
		written <- err
	}()
	err := read(r)
	_ = r.CloseWithError(stopped)
	if writeErr := <-written; err == nil || writeErr != nil && !errors.Is(writeErr, stopped) {
		return writeErr
	}
	return err
}

// QuoteName quotes the name of a table or a column.
func QuoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteNames quotes names, with commas between them.
func QuoteNames(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = QuoteName(name)
	}
	return strings.Join(quoted, ", ")
}

// applyMigrations applies those of a layout, and no others.
func applyMigrations(ctx context.Context, p *goose.Provider, versions []int64) error {
	for _, v := range versions {
		if _, err := p.ApplyVersion(ctx, v, true); errors.Is(err, goose.ErrVersionNotFound) {
			return fmt.Errorf("the store has migration %d, of which this program knows nothing: it was written by a newer one", v)
		} else if err != nil {
			return fmt.Errorf("migration %d: %w", v, err)
		}
	}
	return nil
}
