package store

import (
	"context"
	"errors"
)

// Forget drops what the store keeps in memory of the trees of sessions, as a restart does.
func (s *Store) Forget() {
	s.skeletons.mu.Lock()
	defer s.skeletons.mu.Unlock()
	s.skeletons.lru.Purge()
}

// Statements counts what the store's transactions have asked of the database.
func (s *Store) Statements() int64 {
	switch d := s.db.(type) {
	case *sqliteDB:
		return d.statements.Load()
	case *postgresDB:
		return d.statements.Load()
	}
	return 0
}

// Filters counts the filters of ids.
func (s *Store) Filters() int {
	n, _ := s.seen.size()
	return n
}

// Tidy does what is done every few minutes.
func (s *Store) Tidy(ctx context.Context) error { return errors.Join(s.db.tidy(ctx), s.moveDays(ctx)) }

// LimitFilters bounds the bytes of all filters of ids.
func (s *Store) LimitFilters(bytes int) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	s.seen.limit = bytes
}
