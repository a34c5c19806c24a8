package wire

import (
	"encoding/json"
	"time"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func iso(t time.Time) string { return isoTime(t.UnixMilli()) }

// ProjectAnswer is a project as the API shows it. What has no value is left out, but the
// description, which old clients require.
func ProjectAnswer(p *project.Project) json.RawMessage {
	var b rawjson.Builder
	b.String("id", p.PublicID)
	b.String("_id", p.PublicID)
	b.String("name", p.Name)
	b.String("description", p.Description)
	if p.Type != "" {
		b.String("type", string(p.Type))
	}
	b.String("org_id", p.OrgID)
	b.String("workspace_id", p.WorkspaceID)
	b.String("created_at", iso(p.CreatedAt))
	b.String("updated_at", iso(p.UpdatedAt))
	return b.Bytes()
}

// ProjectsAnswer is a list of projects.
func ProjectsAnswer(list []project.Project) json.RawMessage {
	return array(list, func(p project.Project) json.RawMessage { return ProjectAnswer(&p) })
}

// array is a JSON array of what one makes of each of list.
func array[T any](list []T, one func(T) json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, one(v)...)
	}
	return append(out, ']')
}

// IngestionKeyAnswer is the answer to the create of a key that may write telemetry, the only
// one that holds the key itself.
func IngestionKeyAnswer(k *project.Key, secret string, p *project.Project) json.RawMessage {
	var b rawjson.Builder
	b.String("key_value", secret)
	keyMembers(&b, k, p)
	return success(b.Bytes())
}

// DataPlaneKeyAnswer is likewise for a key of any scope. permissions are shown as asked for.
func DataPlaneKeyAnswer(k *project.Key, secret string, permissions json.RawMessage, p *project.Project) json.RawMessage {
	var b rawjson.Builder
	b.String("key_value", secret)
	keyMembers(&b, k, p)
	b.Raw("permissions", permissions)
	return success(b.Bytes())
}

// KeyAnswer is a key without its secret, as it is listed and revoked; now says whether it is in
// force.
func KeyAnswer(k *project.Key, p *project.Project, now time.Time) json.RawMessage {
	return success(keyItem(k, p, now))
}

// KeysAnswer is a list of a project's keys.
func KeysAnswer(list []project.Key, p *project.Project, now time.Time) json.RawMessage {
	return success(array(list, func(k project.Key) json.RawMessage { return keyItem(&k, p, now) }))
}

func keyItem(k *project.Key, p *project.Project, now time.Time) json.RawMessage {
	var b rawjson.Builder
	keyMembers(&b, k, p)
	b.Bool("in_force", k.InForce(now))
	if !k.RevokedAt.IsZero() {
		b.String("revoked_at", iso(k.RevokedAt))
	}
	return b.Bytes()
}

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

// success is {"success": true, "data": data}.
func success(data json.RawMessage) json.RawMessage {
	var b rawjson.Builder
	b.Bool("success", true)
	b.Raw("data", data)
	return b.Bytes()
}
