package events

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Work in the background that of several servers one does at a time, by the rows of table setting that say which. A lease spares work and
// room: what is packed, sealed or erased is right also if two do it, as when a server's clock is wrong.
const (
	packLease    = "pack_lease"
	segmentLease = "segment_lease"
	namesLease   = "names_lease"
)

// Leases are the rows of table setting that are leases.
var Leases = []string{packLease, segmentLease, namesLease}

const (
	// leaseTime is how long a server has a lease that it does not renew: that of one that was killed ends soon, since what is not sealed is
	// read from rows. A server renews one of which half of that is gone, and looks at it every leaseRenew while it works.
	leaseTime  = 15 * time.Second
	leaseRenew = 3 * time.Second
	// giveTime is how long a server that ends tries to give its leases back.
	giveTime = 2 * time.Second
	// leaseDigits is the length of the time at the beginning of a row, Unix milliseconds. What follows names the server.
	leaseDigits = 14
)

// LeaseEnd returns when the lease of a row ends, in Unix milliseconds; 0 if it says nothing of the sort.
func LeaseEnd(value string) int64 {
	ms, _ := strconv.ParseInt(value[:min(len(value), leaseDigits)], 10, 64)
	return ms
}

// leases are those that this server has.
type leases struct {
	mu     sync.Mutex
	until  map[string]time.Time
	closed bool
}

// takeLease reports whether this server has a lease, or gets it. It writes only to get or renew it.
func (s *Store) takeLease(ctx context.Context, name string) (mine bool, err error) {
	if s.db.Exclusive() {
		return true, nil
	}
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	now := s.options.Now()
	if s.leases.closed || s.leases.until[name].Sub(now) > leaseTime/2 {
		return !s.leases.closed, nil
	}
	var value string
	if _, err := sqldb.One(ctx, s.db.Quick(), `SELECT value FROM setting WHERE name = $1`, []any{name}, &value); err != nil {
		return false, err
	}
	if LeaseEnd(value) >= now.UnixMilli() && value[min(len(value), leaseDigits):] != s.server {
		return false, nil
	}
	until := now.Add(leaseTime)
	err = s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
		n, err := tx.Exec(ctx, fmt.Sprintf(`INSERT INTO setting(name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value
			WHERE substr(setting.value, 1, %d) < $3 OR substr(setting.value, %d) = $4`, leaseDigits, leaseDigits+1),
			name, fmt.Sprintf("%0*d%s", leaseDigits, until.UnixMilli(), s.server), fmt.Sprintf("%0*d", leaseDigits, now.UnixMilli()), s.server)
		mine = n > 0
		return err
	})
	if err == nil && mine {
		s.leases.until[name] = until
	}
	return mine && err == nil, err
}

// underLease calls f if this server has a lease or gets it, and renews it until f has returned. Otherwise it returns false.
func (s *Store) underLease(ctx context.Context, name string, f func() error) (mine bool, err error) {
	if mine, err = s.takeLease(ctx, name); err != nil || !mine {
		return false, err
	}
	renewing, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for !s.db.Exclusive() && sleep(renewing, leaseRenew) {
			_, _ = s.takeLease(renewing, name) // if it is lost, the work is done twice
		}
	})
	defer wg.Wait()
	defer stop()
	return true, f()
}

// GiveLeases gives this server's leases to whoever comes next, and takes none any more. What fails ends by itself.
func (s *Store) GiveLeases(ctx context.Context) {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	s.leases.closed = true
	if len(s.leases.until) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, giveTime)
	defer cancel()
	_ = s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
		for name := range s.leases.until {
			if _, err := tx.Exec(ctx, fmt.Sprintf(`DELETE FROM setting WHERE name = $1 AND substr(value, %d) = $2`, leaseDigits+1), name, s.server); err != nil {
				return err
			}
		}
		return nil
	})
}
