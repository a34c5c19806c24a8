package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// CopyPostgres copies a store as of one moment into another database or schema, which must be empty. Servers may use the first one
// meanwhile: it is only read. The copy gets the migrations that the original has, and its partitions; progress is told how many bytes of how many are
// copied, by what the tables take on disk.
func CopyPostgres(ctx context.Context, from, to string, progress func(done, total int64)) (err error) {
	source, err := DumpPostgres(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close(ctx)) }()
	target, err := LoadPostgres(ctx, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close(ctx)) }()
	layout := source.Layout()
	if err := target.Make(ctx, layout); err != nil {
		return err
	}
	var total, done int64
	for _, t := range layout.Tables {
		total += t.Bytes
	}
	for _, t := range layout.Tables {
		tell := func(n int64) {
			if progress != nil {
				progress(done+min(n, t.Bytes), total)
			}
		}
		err := Pipe(func(w io.Writer) error {
			_, err := source.Copy(ctx, t, &countingWriter{w: w, tell: tell})
			return err
		}, func(r io.Reader) error { return target.Copy(ctx, t, r) })
		if err != nil {
			return fmt.Errorf("copy table %s: %w", t.Name, err)
		}
		done += t.Bytes
	}
	return target.Finish(ctx)
}

// countingWriter tells how many bytes went through.
type countingWriter struct {
	w    io.Writer
	n    int64
	tell func(bytes int64)
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}
