package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// AuditEntry is an entry of the audit log: who did what, or was refused.
type AuditEntry struct {
	Time          time.Time `json:"time"` // of several alike, the first one's
	Action        string    `json:"action"`
	Outcome       string    `json:"outcome"`        // SUCCESS, or why it failed
	ProjectID     string    `json:"project_id"`     // of the project that the action was about, or of the key if it failed; may be empty
	KeyID         string    `json:"key_id"`         // of the key that asked; empty: none, or an unknown one
	KeyName       string    `json:"key_name"`       // of that key, as it is called now; empty: the key is gone with its project
	KeyPrefix     string    `json:"key_prefix"`     // its first characters, as lists of keys show them
	RemoteAddress string    `json:"remote_address"` // of the connection; may be empty
	Target        string    `json:"target"`         // id of what the action was about; may be empty
	Count         int64     `json:"count"`          // how many times; more than 1 only for what failed and for playground.run
}

// AuditQuery chooses entries of the audit log, newest first.
type AuditQuery struct {
	Action    string // such as key.create; empty: any
	ProjectID string // empty: any
	Range     DateRange
	Page
}

// AuditService reads the audit log of the server. It needs a key of scope admin.
type AuditService struct{ c *Client }

// List reads a page of the audit log.
func (s *AuditService) List(ctx context.Context, q AuditQuery) (*List[AuditEntry], error) {
	v := q.query(url.Values{})
	set(v, "action", q.Action)
	set(v, "project_id", q.ProjectID)
	setRange(v, q.Range)
	var answer struct {
		Entries []AuditEntry `json:"entries"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: path("audit"), Query: v, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[AuditEntry]{answer.Entries, total(h)}, nil
}

// All walks over the audit log from a page on.
func (s *AuditService) All(ctx context.Context, q AuditQuery) iter.Seq2[AuditEntry, error] {
	return all(q.Page, nil, func(p Page) (*List[AuditEntry], error) { q.Page = p; return s.List(ctx, q) })
}
