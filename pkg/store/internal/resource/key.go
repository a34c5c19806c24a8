package resource

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Keys, table api_key. Of a key's secret only its readable beginning and a hash are stored, by which requests are recognized.
// Whoever checks keys remembers them for some time (authextension): a change by this server is seen at once, by the
// revision; one by another server when what is remembered is old.
//
// Reads for that go by connections that no search takes (Quick), or a few slow searches would keep every caller out.

// changeCounter counts the changes of keys and projects that this process made, so that what
// remembers a key knows that it must look again.
type changeCounter struct{ n atomic.Uint64 }

func (r *changeCounter) changed() { r.n.Add(1) }

// KeysRevision returns a number that differs after every change of a key or a project made through
// this Store. It is read before the key that is to be remembered: if a change comes between the two, what is remembered has the
// older number, and is not used.
func (s *Store) KeysRevision() uint64 { return s.keys.n.Load() }

// HasAdminKey reports whether there is an active key of scope admin.
func (s *Store) HasAdminKey(ctx context.Context) (bool, error) {
	n, err := s.adminKeys(ctx, s.db, `true`)
	return n > 0, sqldb.WrapError(s.db, err, "read keys")
}

// adminKeys counts the active keys of scope admin for which cond holds.
func (s *Store) adminKeys(ctx context.Context, c sqldb.Conn, cond string, args ...any) (n int, err error) {
	_, err = sqldb.One(
		ctx,
		c,
		`SELECT count(*) FROM api_key k JOIN project p ON p.id = k.project_id WHERE p.deleted_ms = 0 AND k.scope = 'admin'
		AND k.revoked_ms = 0 AND (k.expires_ms = 0 OR k.expires_ms > $1) AND `+cond,
		append([]any{s.options.Now().UnixMilli()}, args...),
		&n,
	)
	return n, err
}

// InsertKey stores a key.
func (s *Store) InsertKey(ctx context.Context, k project.Key) error {
	return s.changeKeys(ctx, func(ctx context.Context, tx *events.Commit) error {
		return s.insertKey(ctx, tx, k, `DO NOTHING`)
	})
}

// ConfigureKey makes k the only key that comes from the configuration: it is in force in its
// project, whatever was stored of it before, and every other configured key is revoked. Both are one transaction, so that a server
// with a new key in its configuration has at no time none. Keys that were made by the API or generated stay as they are.
func (s *Store) ConfigureKey(ctx context.Context, k *project.Key) error {
	return s.changeKeys(ctx, func(ctx context.Context, tx *events.Commit) error {
		// Without a configured key the hash is empty, which no key has: all configured ones are revoked.
		hash := []byte{}
		if k != nil {
			hash = k.Hash
			if err := s.insertKey(ctx, tx, *k, `DO UPDATE SET project_id = excluded.project_id, name = excluded.name, scope = excluded.scope,
				origin = excluded.origin, expires_ms = excluded.expires_ms, revoked_ms = 0`); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE api_key SET revoked_ms = $1 WHERE origin = $2 AND revoked_ms = 0 AND hash <> $3`,
			s.options.Now().UnixMilli(), string(project.OriginConfigured), hash)
		return err
	})
}

// changeKeys runs f in the writer of all changes of projects and keys, which therefore follow one another within a server. The
// revision changes after the commit and before the caller is answered, so an answered revocation is one that holds here.
func (s *Store) changeKeys(ctx context.Context, f func(context.Context, *events.Commit) error) error {
	err := s.events.Change(ctx, 0, uuid.Nil, 0, f)
	if err == nil {
		s.keys.changed()
	}
	return err
}

// insertKey stores a key in a transaction that locks the row of its project. A deletion of the project locks it, too, so that no key is stored
// for a deleted project. onConflict is the clause for a key whose hash is stored already.
func (s *Store) insertKey(ctx context.Context, tx *events.Commit, k project.Key, onConflict string) error {
	var n int
	live, err := sqldb.One(ctx, tx, `SELECT 1 FROM project WHERE id = $1 AND deleted_ms = 0`+tx.ForUpdate(""), []any{k.ProjectID}, &n)
	if err != nil {
		return err
	}
	if !live {
		return fault.New(fault.NotFound, "no such project")
	}
	_, err = tx.Exec(ctx, `INSERT INTO api_key(`+keyColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (hash) `+onConflict,
		k.ID,
		k.ProjectID,
		k.Name,
		k.Description,
		k.Prefix,
		k.Hash,
		string(k.Scope),
		string(k.Origin),
		millis(k.CreatedAt),
		millis(k.ExpiresAt),
		millis(k.RevokedAt),
		millis(k.LastUsed),
		k.LastFrom,
	)
	return err
}

// KeyByHash returns the key with this hash and its project, active or not.
func (s *Store) KeyByHash(ctx context.Context, hash []byte) (project.Key, project.Project, error) {
	k, err := s.keyWhere(ctx, s.db.Quick(), `hash = $1`, hash)
	if err != nil {
		return k, project.Project{}, sqldb.WrapError(s.db, err, "read key")
	}
	p, err := s.readProject(ctx, `id = $1`, k.ProjectID)
	return k, p, err
}

// KeyByID returns the key with this id and its project, active or not.
func (s *Store) KeyByID(ctx context.Context, id string) (project.Key, project.Project, error) {
	k, err := s.keyWhere(ctx, s.db.Quick(), `id = $1`, id)
	if err != nil {
		return k, project.Project{}, sqldb.WrapError(s.db, err, "read key")
	}
	p, err := s.readProject(ctx, `id = $1`, k.ProjectID)
	return k, p, err
}

// Keys lists the keys of a project whose readable part begins with prefix, active or not,
// oldest first, a page of them (the first is 1), and counts all. An empty prefix is that of all. It is compared as text and
// not as a pattern. Uses of keys that wait in this server are written first.
func (s *Store) Keys(ctx context.Context, projectID int64, prefix string, limit, page int) (list []project.Key, total int, err error) {
	s.FlushKeyUses(ctx)
	const cond = `project_id = $1 AND substr(prefix, 1, length(CAST($2 AS text))) = $2`
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*) FROM api_key WHERE `+cond, []any{projectID, prefix}, &total); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "count keys")
	}
	err = sqldb.Each(ctx, s.db, selectKeys+cond+` ORDER BY created_ms, id LIMIT $3 OFFSET $4`,
		[]any{projectID, prefix, limit, int64(limit) * int64(page-1)}, func(scan func(...any) error) error {
			k, err := scanKey(scan)
			list = append(list, k)
			return err
		})
	return list, total, sqldb.WrapError(s.db, err, "list keys")
}

// RevokeKey deactivates a key of a project and returns the updated one. A key that is not active any more is returned as it is.
// The row stays, so that lists and the audit log can still name it; it goes with its project.
func (s *Store) RevokeKey(ctx context.Context, projectID int64, id string) (project.Key, error) {
	var k project.Key
	err := s.changeKeys(ctx, func(ctx context.Context, tx *events.Commit) (err error) {
		if k, err = s.keyWhere(ctx, tx, `project_id = $1 AND id = $2`, projectID, id); err != nil {
			return err
		}
		now := s.options.Now()
		if !k.InForce(now) {
			return nil
		}
		if k.Origin == project.OriginConfigured {
			return fault.New(fault.Conflict, "this key comes from the server's configuration and is revoked by changing that")
		}
		if err := s.keepsAdmin(ctx, tx, k.Scope == project.ScopeAdmin, `k.id <> $2`, id); err != nil {
			return err
		}
		k.RevokedAt = time.UnixMilli(now.UnixMilli())
		_, err = tx.Exec(ctx, `UPDATE api_key SET revoked_ms = $2 WHERE id = $1`, id, now.UnixMilli())
		return err
	})
	return k, err
}

// keepsAdmin refuses what takes keys of scope admin (if any) where none is left besides: those
// for which cond holds. It holds a lock until the transaction ends, so that of two servers that take the last two keys at the same
// moment the second sees what the first took.
func (s *Store) keepsAdmin(ctx context.Context, tx *events.Commit, takes bool, cond string, args ...any) error {
	if !takes {
		return nil
	}
	if err := tx.Lock(ctx, "admin keys"); err != nil {
		return err
	}
	n, err := s.adminKeys(ctx, tx, cond, args...)
	if err == nil && n == 0 {
		err = fault.New(fault.Conflict, "no other key of scope admin would be left in force")
	}
	return err
}

// keyColumns are the columns in the order of insertKey and scanKey.
const keyColumns = `
	id,
	project_id,
	name,
	description,
	prefix,
	hash,
	scope,
	origin,
	created_ms,
	expires_ms,
	revoked_ms,
	last_used_ms,
	last_used_from`

const selectKeys = `SELECT ` + keyColumns + ` FROM api_key WHERE `

func (s *Store) keyWhere(ctx context.Context, c sqldb.Conn, cond string, args ...any) (k project.Key, err error) {
	found := false
	err = sqldb.Each(ctx, c, selectKeys+cond, args, func(scan func(...any) error) (err error) {
		found = true
		k, err = scanKey(scan)
		return err
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, "no such key")
	}
	return k, err
}

func scanKey(scan func(...any) error) (k project.Key, err error) {
	var scope, origin string
	var created, expires, revoked, used int64
	err = scan(&k.ID, &k.ProjectID, &k.Name, &k.Description, &k.Prefix, &k.Hash, &scope, &origin, &created, &expires, &revoked, &used, &k.LastFrom)
	k.Scope, k.Origin = project.Scope(scope), project.Origin(origin)
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = moment(created), moment(expires), moment(revoked)
	k.LastUsed = moment(used)
	return k, err
}

// millis returns a time as a column has it; no time is 0. moment is the way back.
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
