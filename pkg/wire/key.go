package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeIngestionKey reads the body of the create of a key that may write telemetry:
// {"name", "description"?}. Unknown fields are ignored. Errors are fault.Invalid naming the field.
func DecodeIngestionKey(body []byte, now time.Time) (project.Key, error) {
	k, _, err := decodeKey(body, false)
	k.Scope = project.ScopeIngest
	if err == nil {
		err = k.Validate(now)
	}
	return k, err
}

// DecodeDataPlaneKey reads the body of the create of a key of any scope: {"name", "description"?,
// "permissions", "expires_at"}. permissions come back as they were sent. Unknown fields are
// ignored. Errors are fault.Invalid naming the field.
func DecodeDataPlaneKey(body []byte, now time.Time) (k project.Key, permissions json.RawMessage, err error) {
	k, permissions, err = decodeKey(body, true)
	switch {
	case err != nil:
		return k, nil, err
	case permissions == nil:
		return k, nil, fault.InvalidField("permissions", "is required: one of ingest, read, full, admin")
	case k.ExpiresAt.IsZero():
		return k, nil, fault.InvalidField("expires_at", "is required")
	}
	return k, permissions, k.Validate(now)
}

// decodeKey reads what both kinds of keys have; if full, also scope and expiry. permissions are nil if absent.
func decodeKey(body []byte, full bool) (k project.Key, permissions json.RawMessage, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return k, nil, err
	}
	for key, raw := range rawjson.Object(object) {
		if rawjson.Null(raw) {
			continue
		}
		switch {
		case key == "name":
			k.Name, err = readText(raw)
		case key == "description":
			k.Description, err = readText(raw)
		case key == "permissions" && full:
			permissions = raw
			k.Scope, err = readPermissions(raw)
		case key == "expires_at" && full:
			k.ExpiresAt, err = query.ParseInstant(raw)
		}
		if err != nil {
			return k, nil, fault.In(key, err)
		}
	}
	if k.Name == "" {
		return k, nil, fault.InvalidField("name", "is required")
	}
	return k, permissions, nil
}

// readPermissions returns the scope that a list of names stands for.
func readPermissions(raw json.RawMessage) (project.Scope, error) {
	if _, err := readStrings(raw); err != nil {
		return "", err
	}
	var names []string
	for i, v := range rawjson.Array(raw) {
		if i >= maxPermissions {
			return "", fault.New(fault.Invalid, "must have at most %d elements", maxPermissions)
		}
		name, err := readText(v)
		if err != nil {
			return "", fault.In(fmt.Sprintf("[%d]", i), err)
		}
		names = append(names, name)
	}
	return project.ScopeOf(names)
}

// maxPermissions is more than there are scopes, and bounds what is echoed.
const maxPermissions = 100

// IngestionKeyAnswer returns the answer to the create of a key that may write telemetry, the only
// one that holds the key itself: {"success": true, "data": {"key_value", "key_id", "name", …}}.
func IngestionKeyAnswer(k *project.Key, secret string, p *project.Project) json.RawMessage {
	var b rawjson.Builder
	b.String("key_value", secret)
	keyMembers(&b, k, p)
	return success(b.Bytes())
}

// DataPlaneKeyAnswer returns the same for a key of any scope. permissions are shown as asked for.
func DataPlaneKeyAnswer(k *project.Key, secret string, permissions json.RawMessage, p *project.Project) json.RawMessage {
	var b rawjson.Builder
	b.String("key_value", secret)
	keyMembers(&b, k, p)
	b.Raw("permissions", permissions)
	return success(b.Bytes())
}

// KeyAnswer returns a key without its secret, as it is listed and revoked; now decides whether it is in
// force.
func KeyAnswer(k *project.Key, p *project.Project, now time.Time) json.RawMessage {
	return success(keyItem(k, p, now))
}

// KeysAnswer returns a list of a project's keys.
func KeysAnswer(list []project.Key, p *project.Project, now time.Time) json.RawMessage {
	return success(array(list, func(k project.Key) json.RawMessage { return keyItem(&k, p, now) }))
}

// keyItem returns a key as lists show it.
func keyItem(k *project.Key, p *project.Project, now time.Time) json.RawMessage {
	var b rawjson.Builder
	keyMembers(&b, k, p)
	b.Bool("in_force", k.InForce(now))
	if !k.RevokedAt.IsZero() {
		b.String("revoked_at", iso(k.RevokedAt))
	}
	if !k.LastUsed.IsZero() {
		b.String("last_used_at", iso(k.LastUsed))
		b.String("last_used_from", k.LastFrom)
	}
	return b.Bytes()
}

// keyMembers adds what every answer with a key has. The secret is not among it.
func keyMembers(b *rawjson.Builder, k *project.Key, p *project.Project) {
	b.String("key_id", k.ID)
	b.String("name", k.Name)
	b.String("description", k.Description)
	b.String("prefix", k.Prefix)
	b.String("scope", string(k.Scope))
	b.String("origin", string(k.Origin))
	b.String("root_scope_type", "project")
	b.String("root_scope_id", p.PublicID)
	b.String("created_at", iso(k.CreatedAt))
	if !k.ExpiresAt.IsZero() {
		b.String("expires_at", iso(k.ExpiresAt))
	}
}
