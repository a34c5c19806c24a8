package project

import (
	"context"
	"errors"
)

// Identity is the caller of one request: the project it acts in and the key's scope.
// It is the Collector's client.AuthData of a request that carries a valid key.
type Identity struct {
	Project Project
	// Own is the key's project where Project is another one, to which a browser has switched; nil: Project is the key's.
	Own *Project
	// Cookie says that a browser's cookie stood for the key.
	Cookie bool
	KeyID  string
	// KeyPrefix is the first characters of the key, by which lists show it.
	KeyPrefix string
	Scope     Scope
}

// MaySwitch reports whether the caller may choose the project that it acts in: a browser that is signed in by a key of scope admin.
func (i Identity) MaySwitch() bool { return i.Cookie && i.Scope.Allows(ScopeAdmin) }

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

// CallerError is an error of a request that was not admitted although its caller is known, because its key is not in force any more
// or over its rate.
type CallerError struct {
	Caller Identity
	Err    error
}

// Error implements error.
func (e *CallerError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself, which has the kind.
func (e *CallerError) Unwrap() error { return e.Err }

// CallerOf returns whose request an error is about, and false if it does not tell.
func CallerOf(err error) (Identity, bool) {
	var e *CallerError
	if !errors.As(err, &e) {
		return Identity{}, false
	}
	return e.Caller, true
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
