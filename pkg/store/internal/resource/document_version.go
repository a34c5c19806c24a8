package resource

import (
	"context"
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Old versions of documents stand in the table document_version, each as it was; the current version
// stands in the document's own table only. A doc of NULL means that the next version has the same.
//
// Datasets, configurations and datapoints have such versions. A dataset gets one whenever its rows change, which most of the time
// leaves its text as it is: a large text is then not stored again. Metrics number their versions themselves (metric.go).

// archiveVersion stores the current version as an old one, before its document changes. same is set if
// the text will not change. The caller holds the document, so that no version is archived twice.
func (t Documents) archiveVersion(ctx context.Context, tx *events.Commit, project int64, d Document, same bool) error {
	var doc any
	if !same {
		doc = string(d.Doc)
	}
	_, err := events.InsertRows(
		ctx,
		tx,
		"document_version",
		[]string{"project_id", "kind", "id", "version", "created_ms", "updated_ms", "doc"},
		[][]any{{project, t.Table, d.ID, d.Version, d.Created, d.Updated, doc}},
	)
	return err
}

// getVersion reads a document as it was in a version; 0 is the current one. fault.NotFound if there is
// no such document, or no such version of it.
//
// The text is that of the first version from this one on which has one of its own, else the current one. That holds as well if
// the document changes between the statements: what was current is archived before it changes.
func (t Documents) getVersion(ctx context.Context, c sqldb.Conn, project int64, id string, version int64) (Document, error) {
	d, err := t.One(ctx, c, project, id)
	if err != nil || version == 0 || version == d.Version {
		return d, err
	}
	old := Document{ID: id, Version: version}
	// Times are in the row of each version; only the text may stand in a later one.
	ok, err := sqldb.One(ctx, c, `SELECT created_ms, updated_ms
		FROM document_version
		WHERE project_id = $1 AND kind = $2 AND id = $3 AND version = $4`,
		[]any{project, t.Table, id, version}, &old.Created, &old.Updated)
	if err != nil {
		return d, err
	}
	if !ok {
		return d, fault.New(fault.NotFound, "%s %s has no version %d", t.Noun, id, version)
	}
	var doc string
	ok, err = sqldb.One(ctx, c, `SELECT doc
		FROM document_version
		WHERE project_id = $1 AND kind = $2 AND id = $3 AND version >= $4 AND doc IS NOT NULL
		ORDER BY version LIMIT 1`, []any{project, t.Table, id, version}, &doc)
	if old.Doc = d.Doc; ok {
		old.Doc = json.RawMessage(doc)
	}
	return old, err
}

// versions lists the versions of a document, newest first, without their texts, and counts all.
func (t Documents) versions(ctx context.Context, c sqldb.Conn, project int64, id string, limit, page int) (
	list []Document, total int, err error) {
	now, err := t.One(ctx, c, project, id)
	if err != nil {
		return nil, 0, err
	}
	if _, err := sqldb.One(ctx, c, `SELECT count(*) + 1
		FROM document_version
		WHERE project_id = $1 AND kind = $2 AND id = $3`, []any{project, t.Table, id}, &total); err != nil {
		return nil, 0, err
	}
	err = sqldb.Each(ctx, c, `SELECT version, created_ms, updated_ms FROM document_version WHERE project_id = $1 AND kind = $2 AND id = $3
		UNION ALL SELECT version, created_ms, updated_ms FROM `+t.Table+` WHERE project_id = $1 AND id = $3
		ORDER BY version DESC LIMIT $4 OFFSET $5`,
		[]any{project, t.Table, now.ID, limit, (page - 1) * limit}, func(scan func(...any) error) error {
			d := Document{ID: id}
			err := scan(&d.Version, &d.Created, &d.Updated)
			list = append(list, d)
			return err
		})
	return list, total, err
}

// deleteVersions deletes the old versions of a document that is deleted.
func (t Documents) deleteVersions(ctx context.Context, tx *events.Commit, project int64, id string) (more bool, err error) {
	const key, cond = "project_id, kind, id, version", "project_id = $1 AND kind = $2 AND id = $3"
	return events.DeleteRows(ctx, tx, "document_version", key, cond, project, t.Table, id)
}
