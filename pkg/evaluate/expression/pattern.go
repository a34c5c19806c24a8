package expression

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spangrove/spangrove/pkg/fault"
)

// maxPattern bounds the steps of a regular expression, repetitions written out: a{500} has 500. To
// match looks at up to all of them for each character of the text.
const maxPattern = 10_000

// pattern is a compiled regular expression.
type pattern struct {
	*regexp.Regexp
	size int // steps, at most maxPattern
}

// patterns keeps those used lately, the largest of which take about a megabyte.
var patterns, _ = lru.New[string, pattern](100) // fails for sizes below 1 only

// patternOf compiles a regular expression. Errors are fault.Invalid.
func patternOf(text string) (p pattern, err error) {
	if p, ok := patterns.Get(text); ok {
		return p, nil
	}
	if len(text) > MaxBytes {
		return p, errPattern
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return p, fault.New(fault.Invalid, "%s", brief(err))
	}
	if p.size = steps(tree); p.size > maxPattern {
		return p, errPattern
	}
	if p.Regexp, err = regexp.Compile(text); err != nil {
		return p, fault.New(fault.Invalid, "%s", brief(err))
	}
	patterns.Add(text, p)
	return p, nil
}

var errPattern = fault.New(fault.Invalid, "a regular expression has at most %d steps, repetitions written out", maxPattern)

// steps returns about how many a regular expression has; more than maxPattern is enough.
func steps(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		if n += steps(sub); n > maxPattern {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1) // at most 1000
	}
	return n
}

// perStep is the work of one step of a pattern at one character, where many are possible.
const perStep = 10

// matches reports whether a text matches a regular expression. What that may cost is charged beforehand,
// since nothing can stop it. As in the language, nil matches nothing.
func matches(m *meter, value, regular any) (bool, error) {
	if value == nil || regular == nil {
		return false, nil
	}
	text, ok := value.(string)
	expression, ok2 := regular.(string)
	if !ok || !ok2 {
		return false, errors.New("matches is for texts")
	}
	if err := m.charge(len(expression)); err != nil {
		return false, err
	}
	p, err := patternOf(expression)
	if err != nil {
		return false, err
	}
	if err := p.charge(m, text); err != nil {
		return false, err
	}
	return p.MatchString(text), nil
}

// charge charges for compiling the pattern and for the worst that it may cost to match a text.
func (p pattern) charge(m *meter, text string) error {
	if err := m.charge(100 * p.size); err != nil {
		return err
	}
	return m.product(perStep*p.size, len(text)+1)
}

// checkPatterns returns an error if a regular expression that is written in an expression is invalid or too
// large: the language compiles those whatever they are. Errors are fault.Invalid.
func checkPatterns(text string) error {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil // for the compiler to say
	}
	var find patternFinder
	ast.Walk(&tree.Node, &find)
	return find.err
}

// patternFinder looks for the regular expressions that are written in an expression, and keeps the first error.
type patternFinder struct{ err error }

// Visit implements ast.Visitor.
func (f *patternFinder) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.BinaryNode); ok && n.Operator == "matches" && f.err == nil {
		if s, ok := n.Right.(*ast.StringNode); ok {
			_, f.err = patternOf(s.Value)
		}
	}
}
