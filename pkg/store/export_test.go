package store

import (
	"context"
)

// Forget drops what the store keeps in memory of events of a project, as a restart does.
func (s *Store) Forget(ctx context.Context, project int64) error {
	return s.events.ForgetProject(ctx, project)
}

// Tidy does what is done every few minutes.
func (s *Store) Tidy(ctx context.Context) { s.events.Expire(ctx) }
