package expression

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mainKeys are where objects have the text that a person would call their content, best first.
var mainKeys = []string{"content", "text", "answer", "question", "query", "output", "input", "result", "response", "completion", "prompt",
	"message", "value", "ground_truth"}

// messageKeys are where objects have lists of messages.
var messageKeys = []string{"chat_history", "messages", "choices"}

// mainText returns the text of a value: of an object that of the first of mainKeys that it has, of its
// last message, or of its only member; of messages that of the last; of anything else its JSON.
// nil and what is empty have the empty text.
func mainText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any:
		for _, key := range mainKeys {
			if member, ok := v[key]; ok && member != nil {
				return mainText(member)
			}
		}
		for _, key := range messageKeys {
			if list, ok := v[key].([]any); ok && len(list) > 0 {
				return mainText(list[len(list)-1])
			}
		}
		if len(v) <= 1 {
			for _, member := range v {
				return mainText(member)
			}
			return ""
		}
	case []any:
		if len(v) == 0 {
			return ""
		}
		if last, ok := v[len(v)-1].(map[string]any); ok && (last["role"] != nil || last["type"] == "text") {
			return mainText(last)
		}
	}
	return jsonText(value)
}

// jsonText returns a value as JSON, with the keys of objects in order; the empty text for what JSON
// cannot say.
func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// words returns the runs of letters, digits and marks, and the other visible characters one by one.
func words(s string) []string {
	var list []string
	start := -1
	for i, r := range s {
		if inWord(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			list = append(list, s[start:i])
			start = -1
		}
		if !unicode.IsSpace(r) {
			list = append(list, string(r))
		}
	}
	if start >= 0 {
		list = append(list, s[start:])
	}
	return list
}

// inWord reports whether a character is part of a word.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// countWords returns how many words a text has, as words takes them.
func countWords(s string) (n int) {
	within := false
	for _, r := range s {
		word := inWord(r)
		if word && !within || !word && !unicode.IsSpace(r) {
			n++
		}
		within = word
	}
	return n
}

// perWord is the work of taking a text apart into words, for each of them: about the bytes that it takes in memory.
const perWord = 100

// reading charges for the words of texts before they are made, n times.
func (m *meter) reading(n int, texts ...string) error {
	for _, text := range texts {
		if err := m.charge(n * perWord * countWords(text)); err != nil {
			return err
		}
	}
	return nil
}

// normalize makes answers comparable: lower case, no punctuation, no English articles, single
// spaces.
func normalize(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPunct(r) || unicode.IsSymbol(r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
	kept := strings.Fields(s)
	n := 0
	for _, word := range kept {
		if word != "a" && word != "an" && word != "the" {
			kept[n] = word
			n++
		}
	}
	return strings.Join(kept[:n], " ")
}

var numeral = regexp.MustCompile(`[-+]?\d+(?:[,_]\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?`)

// firstNumber returns the first number in a value, or nil.
func firstNumber(value any) any {
	switch v := value.(type) {
	case int, float64:
		return v
	case bool:
		return nil
	}
	text := numeral.FindString(mainText(value))
	f, err := strconv.ParseFloat(strings.NewReplacer(",", "", "_", "").Replace(text), 64)
	if err != nil {
		return nil
	}
	return f
}

// ratio returns a part of a whole, and nothing where there is no whole.
func ratio(part, whole int, nothing float64) float64 {
	if whole == 0 {
		return nothing
	}
	return float64(part) / float64(whole)
}

// levenshtein counts the characters to be changed, put in or taken out to make one text of the
// other. It keeps one row of the usual table; the work, one for each pair of characters, is charged for first.
func levenshtein(m *meter, a, b string) (int, error) {
	if a == b {
		return 0, m.charge(len(a))
	}
	if err := m.product(utf8.RuneCountInString(a)+1, utf8.RuneCountInString(b)+1); err != nil {
		return 0, err
	}
	s, t := []rune(a), []rune(b)
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range s {
		diagonal := row[0]
		row[0] = i + 1
		for j, q := range t {
			cost := diagonal
			if r != q {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(t)], nil
}

// counts returns how often each of a list's elements is in it.
func counts(list []string) map[string]int {
	n := make(map[string]int, len(list))
	for _, s := range list {
		n[s]++
	}
	return n
}

// common returns how many elements two lists have in common, each as often as it is in both.
func common(a, b map[string]int) (n int) {
	for s, k := range a {
		n += min(k, b[s])
	}
	return n
}

// harmonic returns the F-measure of n things found of a given and b expected ones; 1 if there are none
// at all.
func harmonic(n, a, b int) float64 {
	if a == 0 && b == 0 {
		return 1
	}
	return 2 * float64(n) / float64(a+b)
}

// tokenF1 returns the F-measure of the words of a, given those of b.
func tokenF1(a, b []string) float64 { return harmonic(common(counts(a), counts(b)), len(a), len(b)) }

// grams returns the runs of n words.
func grams(list []string, n int) map[string]int {
	found := map[string]int{}
	for i := 0; i+n <= len(list); i++ {
		found[strings.Join(list[i:i+n], "\x00")]++
	}
	return found
}

// bleuOrders is how many words a run has at most of which bleu counts how many the texts have in common.
const bleuOrders = 4

// bleu returns the sentence BLEU of a against the one reference b: the geometric mean of the precisions
// of runs of one to four words, with one added to both counts from two words on, times the penalty
// for what is shorter than the reference. Of two empty texts it is 1.
func bleu(a, b []string) float64 {
	if len(a) == 0 || len(b) == 0 {
		return ratio(0, len(a)+len(b), 1)
	}
	sum := 0.0
	for n := 1; n <= bleuOrders; n++ {
		hits, all := float64(common(grams(a, n), grams(b, n))), float64(max(len(a)-n+1, 0))
		if n > 1 {
			hits, all = hits+1, all+1
		}
		if hits == 0 {
			return 0
		}
		sum += math.Log(hits / all)
	}
	penalty := min(0, 1-float64(len(b))/float64(len(a)))
	return math.Exp(sum/bleuOrders + penalty)
}

// rougeL returns the F-measure of the longest common subsequence of the words of two texts, punctuation
// left out. Where neither has words it is 1 if they are the same text.
func rougeL(m *meter, a, b string) (float64, error) {
	if err := m.reading(1, a, b); err != nil {
		return 0, err
	}
	s, t := spoken(words(a)), spoken(words(b))
	if len(s)+len(t) == 0 && strings.TrimSpace(a) != strings.TrimSpace(b) {
		return 0, nil
	}
	n, err := subsequence(m, s, t)
	return harmonic(n, len(s), len(t)), err
}

// spoken returns those words that are no punctuation.
func spoken(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool {
		r, _ := utf8.DecodeRuneInString(s)
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// subsequence returns the length of the longest common subsequence. Like levenshtein it keeps one row and charges first.
func subsequence(m *meter, a, b []string) (int, error) {
	if err := m.product(len(a)+1, len(b)+1); err != nil {
		return 0, err
	}
	row := make([]int, len(b)+1)
	for _, s := range a {
		diagonal := 0
		for j, t := range b {
			length := max(row[j], row[j+1])
			if s == t {
				length = diagonal + 1
			}
			diagonal, row[j+1] = row[j+1], length
		}
	}
	return row[len(b)], nil
}

// overlap returns the Jaccard index of two lists.
func overlap(m *meter, a, b any) (float64, error) {
	var sets [2]map[string]int
	for i, value := range []any{a, b} {
		list, err := elements(m, value)
		if err != nil {
			return 0, err
		}
		sets[i] = map[string]int{}
		for _, e := range list {
			sets[i][e] = 1
		}
	}
	both := common(sets[0], sets[1])
	return ratio(both, len(sets[0])+len(sets[1])-both, 1), m.two(a, b)
}

// elements returns the elements of a list, texts normalized, others as JSON; of a text its normalized words.
func elements(m *meter, value any) (list []string, err error) {
	if text, ok := value.(string); ok {
		if err := m.reading(2, text); err != nil {
			return nil, err
		}
		return words(normalize(text)), nil
	}
	for _, v := range listOf(value) {
		text, ok := v.(string)
		if !ok {
			list = append(list, jsonText(v))
			continue
		}
		if err := m.reading(1, text); err != nil {
			return nil, err
		}
		list = append(list, normalize(text))
	}
	return list, nil
}

// listOf returns a value as a list: nil is empty, and what is not a list becomes one of a single element.
func listOf(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	case []string:
		return anys(v)
	case []int: // a range
		list := make([]any, len(v))
		for i, n := range v {
			list[i] = n
		}
		return list
	}
	return []any{value}
}

// anys returns texts as the language has lists.
func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
