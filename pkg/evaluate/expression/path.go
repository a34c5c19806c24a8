package expression

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm/runtime"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// keyPath is two or more keys of an expression that follow each other, such as the a, b and c of
// metadata.a?.b.c.
type keyPath struct {
	keys     []string
	optional []bool // whether ?. stands before the key
}

// foundKey is where fetchPath puts what it found.
const foundKey = "found"

// joinPath puts a call of fetchPath in the place of a member of a member:
// $path($meter, root, path).found, and with ?. before found if one stands in the path, so that the
// language still skips the rest of the chain.
func joinPath(node *ast.Node, n *ast.MemberNode) {
	key, ok := n.Property.(*ast.StringNode)
	base, member := n.Node.(*ast.MemberNode)
	if !ok || !member || n.Method {
		return
	}
	if p := joined(base); p != nil {
		p.keys, p.optional = append(p.keys, key.Value), append(p.optional, n.Optional)
		base.Optional = base.Optional || n.Optional
		*node = base
		return
	}
	first, ok := base.Property.(*ast.StringNode)
	if !ok {
		return
	}
	p := &keyPath{keys: []string{first.Value, key.Value}, optional: []bool{base.Optional, n.Optional}}
	ast.Patch(node, &ast.MemberNode{
		Node: &ast.CallNode{Callee: &ast.IdentifierNode{Value: pathName},
			Arguments: []ast.Node{&ast.IdentifierNode{Value: meterName}, base.Node, &ast.ConstantNode{Value: p}}},
		Property: &ast.StringNode{Value: foundKey},
		Optional: base.Optional || n.Optional,
	})
}

// joined returns the path of a node that joinPath made, nil for any other.
func joined(n *ast.MemberNode) *keyPath {
	c, ok := n.Node.(*ast.CallNode)
	if !ok || len(c.Arguments) != 3 {
		return nil
	}
	if name, ok := c.Callee.(*ast.IdentifierNode); !ok || name.Value != pathName {
		return nil
	}
	constant, ok := c.Arguments[2].(*ast.ConstantNode)
	if !ok {
		return nil
	}
	p, _ := constant.Value.(*keyPath)
	return p
}

// fetchPath reads a path below a value as filters read it (rawjson.Lookup). Where that leads to
// nothing it does what the language does: nil where the last key is absent, nil for the whole chain
// where ?. stands behind nil, else an error.
func fetchPath(args ...any) (any, error) {
	m, root, p := args[0].(*meter), args[1], args[2].(*keyPath)
	if v := follow(root, p.keys); v != nil {
		return map[string]any{foundKey: v}, nil
	}
	if err := m.charge(16 * len(p.keys)); err != nil {
		return nil, err
	}
	found, err := lookup(m, root, p.keys)
	if err != nil {
		return nil, err
	}
	if found != nil {
		return map[string]any{foundKey: found}, nil
	}
	v := root
	for i, key := range p.keys {
		if v == nil && p.optional[i] {
			return nil, nil
		}
		v = runtime.Fetch(v, key) // the language makes an error of its panic
	}
	return map[string]any{foundKey: v}, nil
}

// follow reads nested keys, nil if they lead to nothing.
func follow(v any, keys []string) any {
	for _, key := range keys {
		v = child(v, key)
	}
	return v
}

// child returns a member of an object or an element of an array, nil for none.
func child(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[key]
	case []any:
		if i, ok := rawjson.Index(key); ok && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// lookup is rawjson.Lookup for decoded values, or nil if there is nothing: first the keys one by one, then all of them as
// one key, then the first two as one key and so on. Those are charged for at each object that is looked at.
func lookup(m *meter, v any, keys []string) (any, error) {
	if len(keys) == 0 || v == nil {
		return v, nil
	}
	n := len(keys)
	if found, err := lookup(m, child(v, keys[0]), keys[1:]); found != nil || err != nil || n == 1 {
		return found, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, nil
	}
	bytes := n
	for _, key := range keys {
		bytes += len(key)
	}
	if err := m.product(n, bytes); err != nil {
		return nil, err
	}
	for _, size := range slices.Concat([]int{n}, sizes(2, n)) {
		member, ok := object[strings.Join(keys[:size], ".")]
		if !ok {
			continue
		}
		if found, err := lookup(m, member, keys[size:]); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// sizes returns the numbers from from to to-1.
func sizes(from, to int) []int {
	var list []int
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
