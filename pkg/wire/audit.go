package wire

import (
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// auditPages is how the audit log is paged.
var auditPages = query.PageRule{Default: 1000, Max: 1000}

// DecodeAuditQuery reads the query string of the audit log: action, project_id, dateRange, limit
// and page. Errors are fault.Invalid on the parameter.
func DecodeAuditQuery(rawQuery string, now time.Time) (q audit.Query, err error) {
	params, err := ParseParams(rawQuery)
	if err != nil {
		return q, err
	}
	var in struct {
		Action    string `query:"action"`
		ProjectID string `query:"project_id"`
	}
	if err := params.Read(&in); err != nil {
		return q, err
	}
	q.Action, q.ProjectID = in.Action, in.ProjectID
	if q.Action != "" && !audit.IsAction(q.Action) {
		return q, fault.InvalidField("action", "must be one of %s", strings.Join(audit.Actions(), ", "))
	}
	if q.Limit, q.Page, err = params.Page(auditPages); err != nil {
		return q, err
	}
	q.From, q.To, err = rangeOf(rawQuery, now)
	return q, err
}

// AppendAuditEntry writes an entry of the audit log: {"time", "action", "outcome", "project_id"?, "key_id"?,
// "key_name"?, "key_prefix"?, "remote_address"?, "target"?, "count"}. The time has microseconds. What is empty is left out.
func AppendAuditEntry(dst []byte, e *audit.Entry) []byte {
	var b rawjson.Builder
	b.String("time", e.At.UTC().Format("2006-01-02T15:04:05.000000Z"))
	b.String("action", e.Action)
	b.String("outcome", e.Outcome)
	for _, m := range []struct{ name, text string }{
		{"project_id", e.ProjectID}, {"key_id", e.KeyID}, {"key_name", e.KeyName}, {"key_prefix", e.KeyPrefix}, {"remote_address", e.Address}, {"target", e.Target},
	} {
		if m.text != "" {
			b.String(m.name, m.text)
		}
	}
	b.Int("count", e.Count)
	return append(dst, b.Bytes()...)
}
