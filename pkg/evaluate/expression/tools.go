package expression

import (
	"fmt"
	"slices"
)

// toolCalls gathers the calls of tools in a value, in its order: those of messages and answers
// ({"tool_calls": [{"function": {"name", "arguments"}}]}, {"type": "tool_use", "name", "input"},
// {"type": "function_call", "name", "arguments"}), a list of calls ({"name", "arguments"}), and the
// tool events below an event.
func toolCalls(m *meter, value any) []any {
	var calls []any
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			if o, ok := element.(map[string]any); ok && bareCall(o) {
				calls = append(calls, callOf(m, o["name"], o["arguments"]))
			} else {
				calls = append(calls, toolCalls(m, element)...)
			}
		}
	case map[string]any:
		if f, ok := v["function"].(map[string]any); ok && f["name"] != nil {
			return []any{callOf(m, f["name"], f["arguments"])}
		}
		switch v["type"] {
		case "tool_use":
			return []any{callOf(m, v["name"], v["input"])}
		case "function_call", "tool_call":
			arguments := v["arguments"]
			if arguments == nil {
				arguments = v["args"]
			}
			return []any{callOf(m, v["name"], arguments)}
		}
		if v["event_type"] == "tool" {
			calls = append(calls, callOf(m, v["event_name"], v["inputs"]))
		}
		// An event's answer comes with the messages before it, which the next event has again.
		if _, event := v["event_type"]; event {
			if v["event_type"] == "session" || v["event_type"] == "chain" {
				return append(calls, toolCalls(m, v["children"])...)
			}
			return append(append(calls, toolCalls(m, v["outputs"])...), toolCalls(m, v["children"])...)
		}
		for _, key := range []string{"tool_calls", "content", "message", "messages", "chat_history", "choices", "output"} {
			switch v[key].(type) {
			case map[string]any, []any:
				if found := toolCalls(m, v[key]); found != nil {
					return append(calls, found...)
				}
			}
		}
	}
	return calls
}

// bareCall reports whether an object is a call as people write them down: a name, and arguments perhaps.
func bareCall(o map[string]any) bool {
	if _, ok := o["name"].(string); !ok {
		return false
	}
	for key := range o {
		if key != "name" && key != "arguments" {
			return false
		}
	}
	return true
}

// callOf returns a call in one form. Arguments that are JSON in a text are read; none are an empty object.
func callOf(m *meter, name, arguments any) any {
	if arguments = asJSON(m, arguments); arguments == nil || arguments == "" {
		arguments = map[string]any{}
	}
	return map[string]any{"name": name, "arguments": arguments}
}

// toolCallScore pairs calls with those expected, in their order and by name, each at most once: with each expected call
// goes the unused one of its name whose arguments are most alike. A pair counts a half and half their similarity; the
// sum is divided by the number of given or of expected calls, whichever is larger.
func toolCallScore(m *meter, given, expected []any) (float64, error) {
	if err := m.two(given, expected); err != nil {
		return 0, err
	}
	if err := m.product(len(given), len(expected)); err != nil {
		return 0, err
	}
	var sum float64
	used := make([]bool, len(given))
	for _, want := range expected {
		best, at := -1.0, -1
		for i, got := range given {
			if used[i] || field(got, "name") != field(want, "name") {
				continue
			}
			s, err := jsonSimilarity(m, field(got, "arguments"), field(want, "arguments"))
			if err != nil {
				return 0, err
			}
			if s > best {
				best, at = s, i
			}
		}
		if at >= 0 {
			used[at] = true
			sum += 0.5 + best/2
		}
	}
	all := max(len(given), len(expected))
	if all == 0 {
		return 1, nil
	}
	return sum / float64(all), nil
}

// field returns a member of an object, nil for none.
func field(value any, key string) any {
	o, _ := value.(map[string]any)
	return o[key]
}

// stepNames returns the names of steps: texts as they are, of calls and events their names.
func stepNames(value any) []string {
	var list []string
	for _, step := range listOf(value) {
		name, ok := step.(string)
		for _, key := range []string{"name", "event_name", "tool"} {
			if !ok {
				name, ok = field(step, key).(string)
			}
		}
		if ok {
			list = append(list, name)
		}
	}
	return list
}

// trajectory reports whether steps are those expected.
func trajectory(given, expected []string, mode string) (bool, error) {
	switch mode {
	case "exact":
		return slices.Equal(given, expected), nil
	case "order":
		for _, step := range given {
			if len(expected) > 0 && expected[0] == step {
				expected = expected[1:]
			}
		}
		return len(expected) == 0, nil
	case "any":
		return common(counts(given), counts(expected)) == len(expected), nil
	case "subset":
		return common(counts(given), counts(expected)) == len(given), nil
	}
	return false, fmt.Errorf("trajectory: the mode must be one of exact, order, any, subset, not %.20q", mode)
}

// failures appends those of an event and of the events below it that have an error.
func failures(found []any, value any) []any {
	if text := field(value, "error"); text != nil && text != "" {
		found = append(found, value)
	}
	children, _ := field(value, "children").([]any)
	for _, child := range children {
		found = failures(found, child)
	}
	return found
}
