package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// yaml shows a thing, or an item of a sequence, as YAML; numbers keep their digits, and members
// their order.
func (o *output) yaml(thing json.RawMessage, item bool) error {
	node := toYAML(thing)
	if item {
		node = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}}
	}
	e := yaml.NewEncoder(o.results)
	e.SetIndent(2)
	if err := e.Encode(node); err != nil {
		return err
	}
	return e.Close()
}

func toYAML(value json.RawMessage) *yaml.Node {
	node := &yaml.Node{}
	switch rawjson.KindOf(value) {
	case '{':
		node.Kind = yaml.MappingNode
		for name, member := range rawjson.Object(value) {
			node.Content = append(node.Content, yamlText(name), toYAML(member))
		}
	case '[':
		node.Kind = yaml.SequenceNode
		for _, element := range rawjson.Array(value) {
			node.Content = append(node.Content, toYAML(element))
		}
	case '"':
		text, _ := rawjson.Text(value)
		return yamlText(text)
	case 0:
		node.Kind, node.Tag, node.Value = yaml.ScalarNode, "!!null", "null"
	default: // null, true, false and numbers are the same text in both
		node.Kind, node.Value = yaml.ScalarNode, strings.TrimSpace(string(value))
	}
	return node
}

// special are texts that some readers of YAML take for something else: those of version 1.1 for
// booleans and for numbers to the base 60, all of them for the sign of a merge.
var special = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|<<|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

func yamlText(text string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(text)
	if special.MatchString(text) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// maxDocument bounds the JSON that a YAML document becomes, which aliases can make large. A
// request takes 20 MB.
const (
	maxDocument = 32 << 20
	maxDepth    = 1000
)

// fromYAML returns the JSON of a YAML document; numbers keep their digits.
func fromYAML(text []byte) (json.RawMessage, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return json.RawMessage("null"), nil
	}
	return appendYAML(nil, document.Content[0], maxDepth)
}

// appendYAML goes at most depth levels down.
func appendYAML(dst []byte, node *yaml.Node, depth int) ([]byte, error) {
	switch {
	case len(dst) > maxDocument:
		return nil, fmt.Errorf("becomes more than %d bytes of JSON", maxDocument)
	case depth == 0:
		return nil, fmt.Errorf("line %d: more than %d levels deep", node.Line, maxDepth)
	}
	var err error
	switch node.Kind {
	case yaml.AliasNode:
		return appendYAML(dst, node.Alias, depth-1)
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, element := range node.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendYAML(dst, element, depth-1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case yaml.MappingNode:
		dst = append(dst, '{')
		for i := 0; i < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
				return nil, fmt.Errorf("line %d: keys must be texts", key.Line)
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(rawjson.AppendString(dst, key.Value), ':')
			if dst, err = appendYAML(dst, node.Content[i+1], depth-1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	switch tag := node.ShortTag(); tag {
	case "!!null":
		return append(dst, "null"...), nil
	case "!!bool":
		var b bool
		if err := node.Decode(&b); err != nil {
			return nil, err
		}
		return fmt.Appendf(dst, "%t", b), nil
	case "!!int", "!!float":
		if rawjson.KindOf([]byte(node.Value)) == '0' && json.Valid([]byte(node.Value)) {
			return append(dst, node.Value...), nil
		}
		var v any // such as 0x10 or +1
		if err := node.Decode(&v); err != nil {
			return nil, err
		}
		number, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s is not a number of JSON", node.Line, node.Value)
		}
		return append(dst, number...), nil
	default:
		return rawjson.AppendString(dst, node.Value), nil
	}
}
