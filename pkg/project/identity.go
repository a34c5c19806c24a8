package project

import "context"

// Identity is the caller of one request: the project its key belongs to and the key's scope.
// It is the Collector's client.AuthData of a request that carries a valid key.
type Identity struct {
	Project Project
	KeyID   string
	Scope   Scope
}

// The attribute names an Identity answers to as client.AuthData, and under which the receiver
// stamps a batch's resource, since client metadata does not survive queues.
const (
	AttrProjectID = "spangrove.project.id"
	AttrKeyID     = "spangrove.key.id"
	AttrScope     = "spangrove.key.scope"
)

// GetAttribute implements client.AuthData.
func (i Identity) GetAttribute(name string) any {
	switch name {
	case AttrProjectID:
		return i.Project.PublicID
	case AttrKeyID:
		return i.KeyID
	case AttrScope:
		return string(i.Scope)
	case "subject":
		return i.KeyID
	default:
		return nil
	}
}

// GetAttributeNames implements client.AuthData.
func (i Identity) GetAttributeNames() []string {
	return []string{AttrProjectID, AttrKeyID, AttrScope, "subject"}
}

type identityKey struct{}

// WithIdentity returns a context that carries who asks.
func WithIdentity(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// IdentityFrom returns who asks, and false if nobody was identified.
func IdentityFrom(ctx context.Context) (Identity, bool) {
	i, ok := ctx.Value(identityKey{}).(Identity)
	return i, ok
}
