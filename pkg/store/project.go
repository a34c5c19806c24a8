package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
)

// newPublicID makes an id of 24 hex digits, as clients know them.
func newPublicID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}

// EnsureProject gives the project with this name, and makes it if there is none.
func (s *Store) EnsureProject(ctx context.Context, name string) (project.Project, error) {
	if name == "" || len(name) > 200 {
		return project.Project{}, fault.InvalidField("project", "a project's name has 1 to 200 characters")
	}
	if p, err := s.ProjectByName(ctx, name); fault.Of(err) != fault.NotFound || err == nil {
		return p, err
	}
	err := s.change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx writeTx) error {
		_, err := tx.exec(ctx, `INSERT INTO project(public_id, name, created_ms) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING`,
			newPublicID(), name, s.options.Now().UnixMilli())
		return err
	})
	if err != nil {
		return project.Project{}, err
	}
	return s.ProjectByName(ctx, name)
}

// ProjectByName gives a project. fault.NotFound if there is none.
func (s *Store) ProjectByName(ctx context.Context, name string) (project.Project, error) {
	return s.projectWhere(ctx, `name = $1`, name)
}

// ProjectByPublicID gives a project. fault.NotFound if there is none.
func (s *Store) ProjectByPublicID(ctx context.Context, publicID string) (project.Project, error) {
	return s.projectWhere(ctx, `public_id = $1`, publicID)
}

// DefaultProject is the first project of the store. fault.NotFound if there is none.
func (s *Store) DefaultProject(ctx context.Context) (project.Project, error) {
	return s.projectWhere(ctx, `id = (SELECT min(id) FROM project)`)
}

func (s *Store) projectByID(ctx context.Context, id int64) (project.Project, error) {
	return s.projectWhere(ctx, `id = $1`, id)
}

func (s *Store) projectWhere(ctx context.Context, cond string, args ...any) (project.Project, error) {
	p := project.Project{OrgID: s.orgID, WorkspaceID: s.workspaceID}
	var created int64
	ok, err := one(ctx, s.db, `SELECT id, public_id, name, created_ms FROM project WHERE `+cond, args, &p.ID, &p.PublicID, &p.Name, &created)
	if err != nil {
		return p, s.kind(err, "read project")
	}
	if !ok {
		return p, fault.New(fault.NotFound, "no such project")
	}
	p.CreatedAt = time.UnixMilli(created)
	return p, nil
}

// HasKeys says whether any key was ever made.
func (s *Store) HasKeys(ctx context.Context) (bool, error) {
	var n int
	ok, err := one(ctx, s.db, `SELECT 1 FROM api_key LIMIT 1`, nil, &n)
	return ok, s.kind(err, "read keys")
}

// InsertKey stores a key. The same key again changes nothing.
func (s *Store) InsertKey(ctx context.Context, k project.Key) error {
	return s.change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx writeTx) error {
		_, err := tx.exec(ctx, `INSERT INTO api_key(id, project_id, name, prefix, hash, scope, created_ms, expires_ms, revoked_ms)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (hash) DO NOTHING`,
			k.ID, k.ProjectID, k.Name, k.Prefix, k.Hash, string(k.Scope), millis(k.CreatedAt), millis(k.ExpiresAt), millis(k.RevokedAt))
		return err
	})
}

// KeyByHash gives the key with this hash and its project, in force or not. fault.NotFound if
// there is none.
func (s *Store) KeyByHash(ctx context.Context, hash []byte) (project.Key, project.Project, error) {
	var k project.Key
	var scope string
	var created, expires, revoked int64
	ok, err := one(ctx, s.db, `SELECT id, project_id, name, prefix, hash, scope, created_ms, expires_ms, revoked_ms FROM api_key WHERE hash = $1`,
		[]any{hash}, &k.ID, &k.ProjectID, &k.Name, &k.Prefix, &k.Hash, &scope, &created, &expires, &revoked)
	if err != nil {
		return k, project.Project{}, s.kind(err, "read key")
	}
	if !ok {
		return k, project.Project{}, fault.New(fault.NotFound, "no such key")
	}
	k.Scope, k.CreatedAt, k.ExpiresAt, k.RevokedAt = project.Scope(scope), moment(created), moment(expires), moment(revoked)
	p, err := s.projectByID(ctx, k.ProjectID)
	return k, p, err
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// setting reads a value that is made once for the life of the database.
func (s *Store) setting(ctx context.Context, name string, fresh func() string) (string, error) {
	var v string
	ok, err := one(ctx, s.db, `SELECT value FROM setting WHERE name = $1`, []any{name}, &v)
	if err != nil || ok {
		return v, err
	}
	err = s.change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx writeTx) error {
		_, err := tx.exec(ctx, `INSERT INTO setting(name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, fresh())
		return err
	})
	if err != nil {
		return "", err
	}
	if ok, err = one(ctx, s.db, `SELECT value FROM setting WHERE name = $1`, []any{name}, &v); err == nil && !ok {
		err = fmt.Errorf("setting %s was not kept", name)
	}
	return v, err
}
