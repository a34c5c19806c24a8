package events

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// RecordSecret returns what those who record something in the store under an id or with a signature that
// nobody outside may make use to make them: 32 random bytes, the same for the life of the database.
func (s *Store) RecordSecret(ctx context.Context) ([]byte, error) {
	text, err := s.Setting(ctx, "record_secret", func() string {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
		return hex.EncodeToString(secret)
	})
	if err != nil {
		return nil, sqldb.WrapError(s.db, err, "read the secret of records")
	}
	return hex.DecodeString(text)
}

// Setting reads a value that is made once for the life of the database.
func (s *Store) Setting(ctx context.Context, name string, fresh func() string) (string, error) {
	var v string
	ok, err := sqldb.One(ctx, s.db, `SELECT value FROM setting WHERE name = $1`, []any{name}, &v)
	if err != nil || ok {
		return v, err
	}
	err = s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
		// Two servers that start on one new database may both get here. The first one's value stays, and both read it back.
		_, err := tx.Exec(ctx, `INSERT INTO setting(name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, fresh())
		return err
	})
	if err != nil {
		return "", err
	}
	if ok, err = sqldb.One(ctx, s.db, `SELECT value FROM setting WHERE name = $1`, []any{name}, &v); err == nil && !ok {
		err = fmt.Errorf("setting %s was not kept", name)
	}
	return v, err
}
