// Package project holds projects, API keys and their scopes: who asks, and what the key allows.
package project

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"
)

// Project is a separate space of sessions, events and everything else. ID is the store's own
// small number; PublicID, OrgID and WorkspaceID are what answers carry.
type Project struct {
	ID          int64
	PublicID    string
	OrgID       string
	WorkspaceID string
	Name        string
	CreatedAt   time.Time
}

// Scope is what a key allows.
type Scope string

// The scopes.
const (
	ScopeIngest Scope = "ingest" // write telemetry only
	ScopeRead   Scope = "read"   // read everything of the project
	ScopeFull   Scope = "full"   // read, write and delete everything of the project
	ScopeAdmin  Scope = "admin"  // full, and projects and keys
)

// Allows says whether a key with this scope may do what needs the scope want.
func (s Scope) Allows(want Scope) bool {
	switch s {
	case ScopeAdmin:
		return true
	case ScopeFull:
		return want != ScopeAdmin
	default:
		return s == want
	}
}

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

// IdentityFrom gives who asks, and false if nobody was identified.
func IdentityFrom(ctx context.Context) (Identity, bool) {
	i, ok := ctx.Value(identityKey{}).(Identity)
	return i, ok
}

// Key is an API key as it is stored: never the key itself, only its hash and first characters.
type Key struct {
	ID        string
	ProjectID int64
	Name      string
	Prefix    string // the first characters, to recognise the key in a list
	Hash      []byte // SHA-256 of the key; keys are long and random, so no slow hash is needed
	Scope     Scope
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: in force
}

// prefixLength is how many characters of a key are kept readable.
const prefixLength = 10

// NewSecret makes a random key of 160 bits.
func NewSecret() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return "sg_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// HashSecret is the form in which a key is stored and looked up.
func HashSecret(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}

// Prefix is the readable part of a key. Short keys show at most half of themselves.
func Prefix(secret string) string {
	return secret[:min(prefixLength, len(secret)/2)]
}

// InForce says whether the key may be used at the given time.
func (k *Key) InForce(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Scopes are all scopes, narrowest first.
func Scopes() []Scope { return []Scope{ScopeIngest, ScopeRead, ScopeFull, ScopeAdmin} }
