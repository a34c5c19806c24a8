package project

import "slices"

// Scope is what a key allows.
type Scope string

// The scopes.
const (
	ScopeIngest Scope = "ingest" // write telemetry only
	ScopeRead   Scope = "read"   // read everything of the project
	ScopeFull   Scope = "full"   // read, write and delete everything of the project
	ScopeAdmin  Scope = "admin"  // full, and projects and keys
)

// ScopeAny is what an operation needs that every key may do. No key has it.
const ScopeAny Scope = ""

// Allows reports whether a key with this scope may do what needs the scope want.
func (s Scope) Allows(want Scope) bool {
	if want == ScopeAny {
		return true
	}
	switch s {
	case ScopeAdmin:
		return true
	case ScopeFull:
		return want != ScopeAdmin
	default:
		return s == want
	}
}

// Scopes returns all scopes, narrowest first.
func Scopes() []Scope { return []Scope{ScopeIngest, ScopeRead, ScopeFull, ScopeAdmin} }

// Valid reports whether s is one of the scopes.
func (s Scope) Valid() bool { return slices.Contains(Scopes(), s) }
