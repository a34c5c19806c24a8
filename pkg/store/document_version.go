package store

import (
	"context"
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Old versions of documents stand in the table document_version, each as it was; the current version
// stands in the document's own table only. A doc of NULL means that the next version has the same.

// archiveVersion stores the current version as an old one, before its document changes. same is set if
// the text will not change.
func (t documents) archiveVersion(ctx context.Context, tx *commit, project int64, d document, same bool) error {
	var doc any
	if !same {
		doc = string(d.doc)
	}
	_, err := insertRows(ctx, tx, "document_version", []string{"project_id", "kind", "id", "version", "created_ms", "updated_ms", "doc"},
		[][]any{{project, t.table, d.id, d.version, d.created, d.updated, doc}})
	return err
}

// getVersion reads a document as it was in a version; 0 is the current one. fault.NotFound if there is
// no such document, or no such version of it.
func (t documents) getVersion(ctx context.Context, c conn, project int64, id string, version int64) (document, error) {
	d, err := t.one(ctx, c, project, id)
	if err != nil || version == 0 || version == d.version {
		return d, err
	}
	old := document{id: id, version: version}
	ok, err := one(ctx, c, `SELECT created_ms, updated_ms
		FROM document_version
		WHERE project_id = $1 AND kind = $2 AND id = $3 AND version = $4`,
		[]any{project, t.table, id, version}, &old.created, &old.updated)
	if err != nil {
		return d, err
	}
	if !ok {
		return d, fault.New(fault.NotFound, "%s %s has no version %d", t.noun, id, version)
	}
	var doc string
	ok, err = one(ctx, c, `SELECT doc
		FROM document_version
		WHERE project_id = $1 AND kind = $2 AND id = $3 AND version >= $4 AND doc IS NOT NULL
		ORDER BY version LIMIT 1`, []any{project, t.table, id, version}, &doc)
	if old.doc = d.doc; ok {
		old.doc = json.RawMessage(doc)
	}
	return old, err
}

// versions lists the versions of a document, newest first, without their texts, and counts all.
func (t documents) versions(ctx context.Context, c conn, project int64, id string, limit, page int) (
	list []document, total int, err error) {
	now, err := t.one(ctx, c, project, id)
	if err != nil {
		return nil, 0, err
	}
	if _, err := one(ctx, c, `SELECT count(*) + 1
		FROM document_version
		WHERE project_id = $1 AND kind = $2 AND id = $3`, []any{project, t.table, id}, &total); err != nil {
		return nil, 0, err
	}
	err = each(ctx, c, `SELECT version, created_ms, updated_ms FROM document_version WHERE project_id = $1 AND kind = $2 AND id = $3
		UNION ALL SELECT version, created_ms, updated_ms FROM `+t.table+` WHERE project_id = $1 AND id = $3
		ORDER BY version DESC LIMIT $4 OFFSET $5`,
		[]any{project, t.table, now.id, limit, (page - 1) * limit}, func(scan func(...any) error) error {
			d := document{id: id}
			err := scan(&d.version, &d.created, &d.updated)
			list = append(list, d)
			return err
		})
	return list, total, err
}

// deleteVersions deletes the old versions of a document that is deleted.
func (t documents) deleteVersions(ctx context.Context, tx *commit, project int64, id string) (more bool, err error) {
	const key, cond = "project_id, kind, id, version", "project_id = $1 AND kind = $2 AND id = $3"
	return deleteRows(ctx, tx, "document_version", key, cond, project, t.table, id)
}
