package expression

import (
	"context"
	"errors"
	"reflect"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/types"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// errWork ends an expression that has done all it may.
var errWork = errors.New("too much work")

// perTurn is the work of one turn of a loop, which costs that much in addition to what it looks at.
const perTurn = 50

// meter counts the work of one evaluation. left is what may still be done, in the units of Config.Work; turns are
// counted so that ctx is asked only now and then.
type meter struct {
	ctx   context.Context
	left  int
	turns int
}

// charge takes n units, or ends the expression.
func (m *meter) charge(n int) error {
	m.left -= n
	if m.left < 0 {
		return errWork
	}
	return nil
}

// turn counts one turn of a loop, and charges for its value, which may be what elements are grouped or sorted by.
func (m *meter) turn(value any) error {
	if m.turns++; m.turns%1024 == 0 && m.ctx.Err() != nil {
		return m.ctx.Err()
	}
	if err := m.charge(perTurn); err != nil {
		return err
	}
	return m.look(value)
}

// look charges for all of a value, and stops looking when there is nothing left. What is shared
// within the value counts as often as it is met: whoever walks it, for example to compare it or to
// write it down, meets it as often.
func (m *meter) look(value any) error {
	switch v := value.(type) {
	case string:
		return m.charge(len(v))
	case []any:
		for _, element := range v {
			if err := m.look(element); err != nil {
				return err
			}
		}
		return m.charge(16 * (1 + len(v)))
	case map[string]any:
		for key, member := range v {
			if err := m.look(member); err != nil {
				return err
			}
			if err := m.charge(len(key)); err != nil {
				return err
			}
		}
		return m.charge(48 * (1 + len(v)))
	case []string:
		for _, s := range v {
			if err := m.charge(16 + len(s)); err != nil {
				return err
			}
		}
		return nil
	case []int: // a range
		return m.charge(8 * (1 + len(v)))
	case nil, bool, int, float64:
		return m.charge(8)
	default:
		return m.lookInside(reflect.ValueOf(value))
	}
}

// lookInside is look for the other types of lists and objects that functions of the language return, as groupBy and toPairs do.
func (m *meter) lookInside(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := m.look(v.Index(i).Interface()); err != nil {
				return err
			}
		}
		return m.charge(16 * (1 + v.Len()))
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			if err := m.two(entry.Key().Interface(), entry.Value().Interface()); err != nil {
				return err
			}
		}
		return m.charge(48 * (1 + v.Len()))
	}
	return m.charge(8)
}

// perValue is the work of decoding a value of JSON: about the bytes that it takes in memory.
const perValue = 200

// decoding charges for decoding a text as JSON.
func (m *meter) decoding(text string) error {
	return m.charge(perValue * rawjson.CountValues(text)) // what is charged stays so, also past the bound
}

// The names of what the patcher puts into every expression. None is a word of the language.
const (
	meterName   = "$meter"
	lookName    = "$look"
	turnName    = "$turn"
	matchesName = "$matches"
	pathName    = "$path"
	priceName   = "$price"
)

// prices are the work of functions of the language that take longer than their arguments tell: a zone is read from a file.
var prices = map[string]int{"timezone": 100_000, "date": 100_000}

// language are the options of every compilation.
var language = func() []expr.Option {
	options := []expr.Option{
		expr.Env(names()),
		expr.MaxNodes(maxNodes),
		// look(value) charges for the value and gives it back; turn(value) counts a turn, and price(value, n) charges n.
		expr.Function(lookName, metered((*meter).look)),
		expr.Function(turnName, metered((*meter).turn)),
		expr.Function(priceName, func(args ...any) (any, error) { return args[1], args[0].(*meter).charge(args[2].(int)) }),
		expr.Function(matchesName, func(args ...any) (any, error) {
			return matches(args[0].(*meter), args[1], args[2])
		}, new(func(*meter, string, string) bool)),
		expr.Function(pathName, fetchPath),
	}
	for name, f := range functions {
		options = append(options, expr.DisableBuiltin(name), expr.Function(name, f.call, f.types...))
	}
	return append(options, expr.Patch(patcher{}))
}()

// names returns what an expression may name, with types where these are known.
func names() types.Map {
	m := types.Map{
		meterName:      types.TypeOf(&meter{}),
		"event":        types.Any,
		"ground_truth": types.Any,
		"answer":       types.String,
		"question":     types.String,
		"expected":     types.String,
	}
	for _, name := range fields {
		m[name] = types.Any
	}
	return m
}

// metered makes a function of the language that returns its argument, after charging for it.
func metered(f func(*meter, any) error) func(...any) (any, error) {
	return func(args ...any) (any, error) { return args[1], f(args[0].(*meter), args[1]) }
}

// patcher makes an expression count its work: each turn of its loops, and all that it compares,
// hands to a function or is given by one. Without it the language bounds only the elements of the
// arrays that an expression makes. It also makes paths such as metadata.a.b read as in filters.
//
//	answer == expected     → $look($meter, answer) == $look($meter, expected)
//	filter(children, #.x)  → $look($meter, filter($look($meter, children), $turn($meter, #.x)))
//	answer matches "a+"    → $matches($meter, answer, "a+")
type patcher struct{}

// Visit implements ast.Visitor. The tree is walked from its leaves up.
func (patcher) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.MemberNode:
		switch n.Property.(type) {
		case *ast.StringNode:
			joinPath(node, n)
		case *ast.IntegerNode:
		default:
			n.Property = looked(n.Property) // a key may be long
		}
	case *ast.PredicateNode:
		n.Node = call(turnName, n.Node)
	case *ast.BinaryNode:
		switch n.Operator {
		case "==", "!=", "+", "in", "contains", "startsWith", "endsWith":
			n.Left, n.Right = looked(n.Left), looked(n.Right)
		case "<", "<=", ">", ">=":
			if !isNumber(n.Left) && !isNumber(n.Right) { // texts
				n.Left, n.Right = looked(n.Left), looked(n.Right)
			}
		case "matches":
			ast.Patch(node, &ast.CallNode{
				Callee:    &ast.IdentifierNode{Value: matchesName},
				Arguments: []ast.Node{&ast.IdentifierNode{Value: meterName}, n.Left, n.Right},
			})
		case "..":
			ast.Patch(node, call(lookName, n))
		}
	case *ast.BuiltinNode:
		for i := range n.Arguments {
			n.Arguments[i] = looked(n.Arguments[i])
		}
		ast.Patch(node, call(lookName, n))
		if price := prices[n.Name]; price > 0 {
			ast.Patch(node, &ast.CallNode{
				Callee:    &ast.IdentifierNode{Value: priceName},
				Arguments: []ast.Node{&ast.IdentifierNode{Value: meterName}, *node, &ast.IntegerNode{Value: price}},
			})
		}
	case *ast.CallNode:
		name, ok := n.Callee.(*ast.IdentifierNode)
		if !ok { // a method, of a time
			for i := range n.Arguments {
				n.Arguments[i] = looked(n.Arguments[i])
			}
			ast.Patch(node, call(lookName, n))
			return
		}
		if _, ours := functions[name.Value]; ours {
			n.Arguments = append([]ast.Node{&ast.IdentifierNode{Value: meterName}}, n.Arguments...)
			ast.Patch(node, call(lookName, n))
		}
	case *ast.ArrayNode, *ast.MapNode:
		ast.Patch(node, call(lookName, *node))
	}
}

// looked charges for the value of a node, unless it is written in the expression: that is short,
// and the compiler has better code for it as it stands.
func looked(n ast.Node) ast.Node {
	switch n.(type) {
	case *ast.PredicateNode, *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode:
		return n
	}
	return call(lookName, n)
}

// isNumber reports whether a node is a number that is written in the expression.
func isNumber(n ast.Node) bool {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return true
	}
	return false
}

// call returns the call of one of the patcher's functions with the meter and arg.
func call(name string, arg ast.Node) ast.Node {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: []ast.Node{&ast.IdentifierNode{Value: meterName}, arg}}
}

// two charges for both values that a function looks at.
func (m *meter) two(a, b any) error {
	if err := m.look(a); err != nil {
		return err
	}
	return m.look(b)
}

// product charges for each pair of two sets of things, before they are looked at.
func (m *meter) product(a, b int) error {
	if a > 0 && b > m.left/a {
		return errWork
	}
	return m.charge(a * b)
}
