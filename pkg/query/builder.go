package query

import (
	"github.com/google/uuid"
)

// Builder collects the arguments of one statement. A caller's text reaches SQL only through
// Arg. Every argument must appear in the statement, or PostgreSQL cannot tell its type.
type Builder struct {
	dialect Dialect
	args    []any
}

// NewBuilder starts a statement without arguments.
func NewBuilder(d Dialect) *Builder { return &Builder{dialect: d} }

// Arg adds an argument and returns its place in the text, such as "?3" or "$3". The same place
// may be written more than once.
func (b *Builder) Arg(v any) string {
	b.args = append(b.args, v)
	return b.dialect.Placeholder(len(b.args))
}

// UUID adds an id as an argument, in the form that the database stores.
func (b *Builder) UUID(id uuid.UUID) string { return b.Arg(b.dialect.UUID(id)) }

// Args returns the arguments in order.
func (b *Builder) Args() []any { return b.args }
