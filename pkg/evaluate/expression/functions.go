package expression

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// function is one that expressions can call. Its first argument is always the meter, which the patcher puts there. types
// are pointers to functions of the types that the compiler checks calls against.
type function struct {
	call  func(args ...any) (any, error)
	types []any
}

// functions are those that an expression knows in addition to the language's own. Some replace functions
// of the language whose result may be far larger than their arguments.
//
// Where a is compared with b, a is what was given and b what was expected. Of values that are no
// text, functions of text take the main text, as text does.
var functions = map[string]function{
	// text(value): the main text of a value: of an object that of its content, answer, question or
	// the like, of messages that of the last.
	"text": of1(func(m *meter, v any) (string, error) { return mainText(v), m.look(v) }),
	// normalize(value): its text in lower case without punctuation, English articles and extra
	// space, as answers to questions are commonly compared.
	"normalize": of1(func(m *meter, v any) (string, error) {
		text := mainText(v)
		if err := m.reading(1, text); err != nil {
			return "", err
		}
		return normalize(text), m.look(v)
	}),
	// words(value): the words of its text.
	"words": of1(func(m *meter, v any) ([]any, error) {
		text := mainText(v)
		if err := m.reading(1, text); err != nil {
			return nil, err
		}
		return anys(words(text)), m.look(v)
	}),
	// number(value): the first number in it; nil if there is none.
	"number": of1(func(m *meter, v any) (any, error) { return firstNumber(v), m.look(v) }),

	// levenshtein(a, b): how many characters must be changed, put in or taken out.
	"levenshtein": of2(func(m *meter, a, b any) (int, error) { return levenshtein(m, mainText(a), mainText(b)) }),
	// similarity(a, b): the Levenshtein ratio, 1 - levenshtein / length of the longer; 1 for two
	// empty texts.
	"similarity": of2(func(m *meter, a, b any) (float64, error) {
		s, t := mainText(a), mainText(b)
		n, err := levenshtein(m, s, t)
		return 1 - ratio(n, max(utf8.RuneCountInString(s), utf8.RuneCountInString(t)), 0), err
	}),
	// tokenF1(a, b): the harmonic mean of precision and recall of the normalized words, as in SQuAD.
	"tokenF1": of2(func(m *meter, a, b any) (float64, error) {
		s, t := mainText(a), mainText(b)
		if err := m.reading(2, s, t); err != nil {
			return 0, err
		}
		return tokenF1(words(normalize(s)), words(normalize(t))), m.two(a, b)
	}),
	// bleu(a, b): sentence BLEU of up to four words, with n-grams from two words on counted from one (Lin and
	// Och 2004), so that a short text without a common four-gram is not 0: that of sacrebleu with add-k smoothing, k = 1.
	"bleu": of2(func(m *meter, a, b any) (float64, error) {
		s, t := mainText(a), mainText(b)
		if err := m.reading(1+bleuOrders, s, t); err != nil {
			return 0, err
		}
		return bleu(words(strings.ToLower(s)), words(strings.ToLower(t))), m.two(a, b)
	}),
	// rougeL(a, b): ROUGE-L, the F-measure of the longest common subsequence of words (Lin 2004), as
	// Google's rouge-score computes it without stemming.
	"rougeL": of2(func(m *meter, a, b any) (float64, error) {
		return rougeL(m, strings.ToLower(mainText(a)), strings.ToLower(mainText(b)))
	}),
	// overlap(a, b): how much of all elements of two lists is in both (Jaccard index); 1 for two
	// empty lists. A text is the list of its normalized words.
	"overlap": of2(overlap),

	// jsonValid(value): it is a text that is JSON, or no text at all.
	"jsonValid": of1(func(m *meter, v any) (bool, error) { return jsonValid(v), m.look(v) }),
	// jsonMatches(value, schema): the value, or the JSON that its text is, is valid by the JSON Schema,
	// which refers to nothing but its own parts, and not to itself.
	"jsonMatches": of2(jsonMatches),
	// jsonSimilarity(a, b): of all places that have a plain value in either of two JSON values, how
	// many have the same in both, from 0 to 1. Texts that are JSON are read.
	"jsonSimilarity": of2(jsonSimilarity),
	// jsonDiff(a, b): the places that differ, as dotted paths, in order, at most 100.
	"jsonDiff": of2(func(m *meter, a, b any) ([]any, error) {
		differ, err := jsonDiff(m, a, b)
		return anys(differ), err
	}),

	// toolCalls(event or messages): the calls of tools in it, as {"name", "arguments"}, in their order.
	// A text that is JSON is read.
	"toolCalls": of1(func(m *meter, v any) ([]any, error) { return toolCalls(m, asJSON(m, v)), m.look(v) }),
	// toolCallScore(a, b): how far the calls a are those of b, from 0 to 1: a call of the right name
	// counts by how far its arguments are right (at least a half), a missing or additional call 0.
	"toolCallScore": of2(func(m *meter, a, b any) (float64, error) {
		return toolCallScore(m, toolCalls(m, asJSON(m, a)), toolCalls(m, asJSON(m, b)))
	}),
	// failures(event): the events that have an error, of it and all below it.
	"failures": of1(func(m *meter, v any) ([]any, error) { return failures([]any{}, v), m.look(v) }),
	// trajectory(a, b, mode): steps of an agent, by name, are those expected: "exact" the same in the
	// same order, "order" all expected in that order with others between, "any" all expected in any
	// order, "subset" none but expected ones.
	"trajectory": {func(args ...any) (any, error) {
		m := args[0].(*meter)
		if err := m.two(args[1], args[2]); err != nil {
			return nil, err
		}
		given, expected := stepNames(asJSON(m, args[1])), stepNames(asJSON(m, args[2]))
		if err := m.charge(0); err != nil { // reading them took more than there was
			return nil, err
		}
		return trajectory(given, expected, args[3].(string))
	}, []any{new(func(*meter, any, any, string) bool)}},

	// Of the language, bounded.
	"repeat": {func(args ...any) (any, error) {
		s, n := args[1].(string), max(args[2].(int), 0)
		if err := args[0].(*meter).product(len(s), n); err != nil {
			return nil, err
		}
		return strings.Repeat(s, n), nil
	}, []any{new(func(*meter, string, int) string)}},
	"replace": {func(args ...any) (any, error) {
		s, from, to := args[1].(string), args[2].(string), args[3].(string)
		if err := args[0].(*meter).product(len(to)+1, strings.Count(s, from)); err != nil {
			return nil, err
		}
		return strings.ReplaceAll(s, from, to), nil
	}, []any{new(func(*meter, string, string, string) string)}},
	"split":      splitting(strings.SplitN),
	"splitAfter": splitting(strings.SplitAfterN),
	"join": {func(args ...any) (any, error) {
		list, glue := listOf(args[1]), ""
		if len(args) > 2 {
			glue = args[2].(string)
		}
		m := args[0].(*meter)
		if err := errors.Join(m.look(args[1]), m.product(len(glue), len(list))); err != nil {
			return nil, err
		}
		parts := make([]string, len(list))
		for i, v := range list {
			parts[i] = mainText(v)
		}
		return strings.Join(parts, glue), nil
	}, []any{new(func(*meter, any, ...string) string)}},
	"uniq": of1(func(m *meter, v any) ([]any, error) {
		if err := m.look(v); err != nil {
			return nil, err
		}
		seen, list := map[string]bool{}, []any{}
		for _, element := range listOf(v) {
			if key := jsonText(element); !seen[key] {
				seen[key] = true
				list = append(list, element)
			}
		}
		return list, nil
	}),
	"toJSON": of1(func(m *meter, v any) (string, error) {
		if err := m.look(v); err != nil {
			return "", err
		}
		return jsonText(v), nil
	}),
	"fromJSON": of1(func(m *meter, v any) (any, error) {
		text, _ := v.(string)
		if err := m.decoding(text); err != nil {
			return nil, err
		}
		return decode(json.RawMessage(text)), nil
	}),
	"fromBase64": of1(func(m *meter, v any) (string, error) {
		text, _ := v.(string)
		b, err := base64.StdEncoding.DecodeString(text)
		return string(b), err
	}),
}

// splitting makes a function that takes a text apart, of the text, what stands between the parts, and perhaps how many there are at most.
func splitting(split func(s, sep string, n int) []string) function {
	return function{func(args ...any) (any, error) {
		s, sep, n := args[1].(string), args[2].(string), -1
		if len(args) > 3 {
			n = args[3].(int)
		}
		if err := args[0].(*meter).product(16, strings.Count(s, sep)+1); err != nil {
			return nil, err
		}
		return split(s, sep, n), nil
	}, []any{new(func(*meter, string, string) []string), new(func(*meter, string, string, int) []string)}}
}

// of1 and of2 make functions of one and of two values of any type.
func of1[T any](f func(*meter, any) (T, error)) function {
	return function{func(args ...any) (any, error) { return f(args[0].(*meter), args[1]) }, []any{new(func(*meter, any) T)}}
}

func of2[T any](f func(*meter, any, any) (T, error)) function {
	return function{func(args ...any) (any, error) { return f(args[0].(*meter), args[1], args[2]) }, []any{new(func(*meter, any, any) T)}}
}
