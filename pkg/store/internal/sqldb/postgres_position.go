package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// position is one in the primary's log.
type position struct {
	lsn      uint64
	timeline uint64
}

// far reads from a replica's answer up to where it has replayed the log, or why it does not count.
func (p position) far(answer *pgconn.Result) (lsn uint64, err error) {
	if answer.Err != nil {
		return 0, answer.Err
	}
	row := answer.Rows[0]
	if string(row[0]) != "t" {
		return 0, errors.New("the server that read_dsn leads to is no replica: it is not in recovery")
	}
	timeline, err := strconv.ParseUint(string(row[2]), 10, 32)
	if err != nil {
		return 0, err
	}
	if timeline != p.timeline { // before a failover the same places in the log may have been something else
		return 0, fmt.Errorf("the replica is not known to follow the primary since the last failover: it is on timeline %d, and the primary on %d", timeline, p.timeline)
	}
	return parseLSN(string(row[1]))
}

// parseLSN reads a place in the log as PostgreSQL writes it, two numbers of 32 bits.
func parseLSN(text string) (uint64, error) {
	var high, low uint32
	_, err := fmt.Sscanf(text, "%X/%X", &high, &low)
	return uint64(high)<<32 | uint64(low), err
}

// position asks the primary up to where its log is on disk, which is everything that anybody sees of it. Without synchronous commits it is
// up to where the log is written at all.
func (d *Postgres) position(ctx context.Context) (p position, err error) {
	const now = `SELECT (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END)::text,
		substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)`
	var lsn, timeline string
	if err := d.quickReads.QueryRow(ctx, now, pgx.QueryExecModeSimpleProtocol).Scan(&lsn, &timeline); err != nil {
		d.renew(ctx, err)
		return p, err
	}
	if p.lsn, err = parseLSN(lsn); err != nil {
		return p, err
	}
	p.timeline, err = strconv.ParseUint(timeline, 16, 32)
	return p, err
}

// positions shares questions for the position among all who ask meanwhile: one question is under way at a time, and who comes after it has begun has
// part in the next.
type positions struct {
	ask func(context.Context) (position, error)

	mu      sync.Mutex
	next    *asked // not begun yet
	running bool
}

type asked struct {
	done chan struct{}
	at   position
	err  error
}

// positionLimit bounds one question, whose callers may all be gone.
const positionLimit = 5 * time.Second

// now returns a position that was asked for after the call.
func (p *positions) now(ctx context.Context) (position, error) {
	p.mu.Lock()
	if p.next == nil {
		p.next = &asked{done: make(chan struct{})}
	}
	mine := p.next
	if !p.running {
		p.running = true
		go p.run(context.WithoutCancel(ctx))
	}
	p.mu.Unlock()
	select {
	case <-mine.done:
		return mine.at, mine.err
	case <-ctx.Done():
		return position{}, ctx.Err()
	}
}

// run asks until nobody waits.
func (p *positions) run(ctx context.Context) {
	for {
		p.mu.Lock()
		q := p.next
		p.next, p.running = nil, q != nil
		p.mu.Unlock()
		if q == nil {
			return
		}
		within, cancel := context.WithTimeout(ctx, positionLimit)
		q.at, q.err = p.ask(within)
		cancel()
		close(q.done)
	}
}
