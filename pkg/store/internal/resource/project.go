package resource

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Projects, table project. A project has a number, by which rows name it, and a public id, by which clients do. The number is never
// used again: the row of a deleted project stays, with a name that no project can have, and all reads but those that delete its
// data pass it over (deleted_ms).

// newPublicID makes an id of 24 hex digits, as clients know them.
func newPublicID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}

// EnsureProject returns the project with this name, and makes it if there is none. Two servers that start at the same time may both
// try: the name is unique, the second insertion does nothing, and both read the same row.
func (s *Store) EnsureProject(ctx context.Context, name string) (project.Project, error) {
	if p, err := s.ProjectByName(ctx, name); fault.Of(err) != fault.NotFound || err == nil {
		return p, err
	}
	if _, err := s.insertProject(ctx, project.Project{Name: name}); err != nil {
		return project.Project{}, err
	}
	return s.ProjectByName(ctx, name)
}

// CreateProject makes a project of p's name, description and type, and returns it as stored.
func (s *Store) CreateProject(ctx context.Context, p project.Project) (project.Project, error) {
	fresh, err := s.insertProject(ctx, p)
	if err != nil {
		return project.Project{}, err
	}
	if !fresh {
		return project.Project{}, nameTaken(p.Name)
	}
	return s.ProjectByName(ctx, p.Name)
}

func nameTaken(name string) error {
	return &fault.Error{Kind: fault.Conflict, Field: "name", Msg: "project " + name + " already exists"}
}

// insertProject stores a project under a public id of its own. fresh reports whether it was made: if the name is taken, nothing is
// written, and that is no error here.
func (s *Store) insertProject(ctx context.Context, p project.Project) (fresh bool, err error) {
	if err := p.Validate(); err != nil {
		return false, err
	}
	now := s.options.Now().UnixMilli()
	err = s.events.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
		// A new try of the transaction makes another public id. Nobody has seen the one before.
		id := newPublicID()
		n, err := tx.Exec(ctx, `INSERT INTO project(public_id, name, description, type, created_ms, updated_ms)
			VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (name) DO NOTHING`, id, p.Name, p.Description, string(p.Type), now)
		if fresh = n > 0; !fresh || err != nil {
			return err
		}
		return tx.CountFromNow(ctx, id)
	})
	return fresh, err
}

// UpdateProject changes a project and returns it as stored. If another server takes the same name between the look and the
// commit, the unique name refuses it, the transaction is run again, and finds the name taken.
func (s *Store) UpdateProject(ctx context.Context, id int64, c project.Change) (project.Project, error) {
	var p project.Project
	err := s.changeKeys(ctx, func(ctx context.Context, tx *events.Commit) (err error) {
		if p, err = s.projectWhere(ctx, tx, `id = $1`, id); err != nil {
			return err
		}
		p.Apply(c)
		if err := p.Validate(); err != nil {
			return err
		}
		var n int
		taken, err := sqldb.One(ctx, tx, `SELECT 1 FROM project WHERE name = $1 AND id <> $2`, []any{p.Name, id}, &n)
		if err != nil {
			return err
		}
		if taken {
			return nameTaken(p.Name)
		}
		// Cut to milliseconds, as the row has it, so that this answer and a later read are the same.
		p.UpdatedAt = time.UnixMilli(s.options.Now().UnixMilli())
		_, err = tx.Exec(ctx, `UPDATE project SET name = $2, description = $3, type = $4, updated_ms = $5 WHERE id = $1`,
			id, p.Name, p.Description, string(p.Type), p.UpdatedAt.UnixMilli())
		return err
	})
	if err != nil {
		return project.Project{}, err
	}
	return p, nil
}

// Projects lists projects, oldest first, a page of them (the first is 1), and counts all; only
// the one of this name, if name is not empty. One that is not there makes an empty list and no error.
func (s *Store) Projects(ctx context.Context, name string, limit, page int) (list []project.Project, total int, err error) {
	if name != "" {
		p, err := s.ProjectByName(ctx, name)
		switch {
		case fault.IsNotFound(err):
			return nil, 0, nil
		case err != nil:
			return nil, 0, err
		}
		// The first page has the one project, all others are empty.
		return []project.Project{p}[min(page-1, 1):], 1, nil
	}
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*) FROM project WHERE deleted_ms = 0`, nil, &total); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "count projects")
	}
	err = sqldb.Each(ctx, s.db, selectProjects+`deleted_ms = 0 ORDER BY id LIMIT $1 OFFSET $2`, []any{limit, int64(limit) * int64(page-1)},
		func(scan func(...any) error) error {
			p, err := s.scanProject(scan)
			list = append(list, p)
			return err
		})
	return list, total, sqldb.WrapError(s.db, err, "list projects")
}

// ProjectByName returns a project.
func (s *Store) ProjectByName(ctx context.Context, name string) (project.Project, error) {
	return s.readProject(ctx, `name = $1`, name)
}

// ProjectByPublicID returns a project.
func (s *Store) ProjectByPublicID(ctx context.Context, publicID string) (project.Project, error) {
	return s.readProject(ctx, `public_id = $1`, publicID)
}

// ProjectByID returns a project by the number that other rows name it by.
func (s *Store) ProjectByID(ctx context.Context, id int64) (project.Project, error) {
	return s.readProject(ctx, `id = $1`, id)
}

// DefaultProject returns the first project of the store. It cannot be deleted, so the answer stays the same once there is one.
func (s *Store) DefaultProject(ctx context.Context) (project.Project, error) {
	return s.readProject(ctx, `id = (SELECT min(id) FROM project WHERE deleted_ms = 0)`)
}

func (s *Store) readProject(ctx context.Context, cond string, args ...any) (project.Project, error) {
	p, err := s.projectWhere(ctx, s.db.Quick(), cond, args...)
	return p, sqldb.WrapError(s.db, err, "read project")
}

// selectProjects reads the columns in the order of scanProject.
const selectProjects = `
	SELECT
		id,
		public_id,
		name,
		description,
		type,
		created_ms,
		updated_ms,
		limits
	FROM project
	WHERE `

// projectWhere reads the one project that meets cond, whose arguments are numbered from $1. fault.NotFound if there is none, or
// it is deleted.
func (s *Store) projectWhere(ctx context.Context, c sqldb.Conn, cond string, args ...any) (p project.Project, err error) {
	found := false
	err = sqldb.Each(ctx, c, selectProjects+`deleted_ms = 0 AND `+cond, args, func(scan func(...any) error) (err error) {
		found = true
		p, err = s.scanProject(scan)
		return err
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, "no such project")
	}
	return p, err
}

func (s *Store) scanProject(scan func(...any) error) (project.Project, error) {
	p := project.Project{OrgID: s.orgID, WorkspaceID: s.workspaceID}
	var typ, limits string
	var created, updated int64
	err := scan(&p.ID, &p.PublicID, &p.Name, &p.Description, &typ, &created, &updated, &limits)
	p.Type, p.CreatedAt, p.UpdatedAt = project.Type(typ), time.UnixMilli(created), time.UnixMilli(updated)
	if err == nil {
		p.Limits, err = readLimits(limits)
	}
	return p, err
}
