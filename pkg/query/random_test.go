package query

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Small words, so that random filters often hit random documents, and near misses abound.
var (
	randomKeys    = []string{"a", "b", "a.b", "0", "1", "0.1", "01", "-1", "a b", "ä", "run_id", "attributes", ""}
	randomScalars = []string{
		`null`, `true`, `false`, `0`, `-0`, `5`, `5.0`, `1e2`, `100`, `9007199254740993`, `-2.5`,
		`0e-20000`, `5e-324`, `1.7976931348623157e308`, `12345678901234567890123`, `0.1000000000000000055511151231257827`,
		`""`, `"a"`, `"A"`, `"ab"`, `"5"`, `"5.0"`, `"true"`, `"null"`, `"[1]"`, `"{}"`, `"é"`, `"\u00e9"`, `"a\nb"`, `"a\"b"`, `"2026-01-02"`,
		`"3f2504e0-4f89-41d3-9a0c-0305e82c3301"`, `"3F2504E0-4F89-41D3-9A0C-0305E82C3301"`,
	}
)

func randomJSON(rnd *rand.Rand, depth int) string {
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	switch n := rnd.IntN(10); {
	case n < 4 && depth > 0:
		var b rawjson.Builder
		seen := map[string]bool{}
		for range 1 + rnd.IntN(4) {
			if key := pick(randomKeys); !seen[key] {
				seen[key] = true
				b.Raw(key, []byte(randomJSON(rnd, depth-1)))
			}
		}
		return string(b.Bytes())
	case n < 6 && depth > 0:
		var list []string
		for range rnd.IntN(3) {
			list = append(list, randomJSON(rnd, depth-1))
		}
		return "[" + strings.Join(list, ",") + "]"
	default:
		return pick(randomScalars)
	}
}

// randomFilter returns a filter on metadata that the rules allow.
func randomFilter(rnd *rand.Rand) Filter {
	names := slices.Sorted(maps.Keys(operators))
	for {
		path := []string{"metadata"}
		for range 1 + rnd.IntN(4) {
			path = append(path, randomKeys[rnd.IntN(len(randomKeys))])
		}
		operator := names[rnd.IntN(len(names))]
		value := randomScalars[rnd.IntN(len(randomScalars))]
		if operators[operator].list {
			list := []string{value}
			for range rnd.IntN(4) {
				list = append(list, randomScalars[rnd.IntN(len(randomScalars))])
			}
			value = "[" + strings.Join(list, ",") + "]"
		}
		field := strings.Join(path, ".")
		if rnd.IntN(20) == 0 {
			field = textField
		}
		f, err := newFilter(Filter{
			Field: field, Operator: operator, Type: filterTypes[rnd.IntN(len(filterTypes))], Value: json.RawMessage(value),
		})
		if err == nil {
			return f
		}
	}
}

// randomAlternative returns a filter with up to three lists of up to three random filters.
func randomAlternative(rnd *rand.Rand) Filter {
	var f Filter
	for range 1 + rnd.IntN(3) {
		var list []Filter
		for range 1 + rnd.IntN(3) {
			list = append(list, randomFilter(rnd))
		}
		f.Any = append(f.Any, list)
	}
	return f
}

// Random filters on random documents: SQL answers as Match does, also on rows whose metadata is in the payload.
func TestEngineRandom(t *testing.T) {
	onEachEngine(t, func(t *testing.T, en *engine) {
		const documents, filters = 60, 60
		rnd := rand.New(rand.NewPCG(5, 6))
		hits := 0
		for n := range documents {
			doc := ""
			for rawjson.KindOf([]byte(doc)) != '{' {
				doc = randomJSON(rnd, 4)
			}
			e := event.Event{ID: uuid.New(), SessionID: uuid.New(), ParentID: uuid.New(), Type: event.TypeTool, Metadata: json.RawMessage(doc),
				Name: []string{"", "a", "A b"}[rnd.IntN(3)], Inputs: json.RawMessage(randomJSON(rnd, 3)), Outputs: json.RawMessage(randomJSON(rnd, 3))}
			if rnd.IntN(2) == 0 {
				text := []string{"", "ab", "5 é"}[rnd.IntN(3)]
				e.Error = &text
			}
			en.insert(t, 2*n, &e, nil, 0)
			spilled := e
			spilled.ID, spilled.SessionID = uuid.New(), uuid.New()
			en.insert(t, 2*n+1, &spilled, nil, SpillMetadata|SpillError)
			for i := range filters {
				fs := []Filter{randomFilter(rnd)}
				if i%2 == 1 {
					fs = append(fs[:i/2%2], randomAlternative(rnd))
				}
				b := NewBuilder(en.dialect)
				plan := Compile(b, testProject, fs)
				got := en.matches(t, 2*n, b, plan.Where) && Match(&e, plan.Residual)
				want := Match(&e, fs)
				if got != want {
					shown, _ := json.Marshal(fs)
					t.Errorf("%s on %s: %v, want %v\n%s %q", shown, doc, got, want, plan.Where, b.Args())
				} else if got {
					hits++
				}
				if want != holdsByParts(&e, fs) {
					shown, _ := json.Marshal(fs)
					t.Errorf("%s on %s: Match says %v, its parts otherwise", shown, doc, want)
				}
				// As the store does: a row with one of the bits is decided by all filters.
				left := plan.Residual
				if plan.Reads&(SpillMetadata|SpillError) != 0 {
					left = fs
				}
				b = NewBuilder(en.dialect)
				plan = Compile(b, testProject, fs)
				if got := en.matches(t, 2*n+1, b, plan.Candidates) && Match(&spilled, left); got != want {
					shown, _ := json.Marshal(fs)
					t.Errorf("%s on %s, spilled: %v, want %v\n%s %q", shown, doc, got, want, plan.Candidates, b.Args())
				}
			}
		}
		if hits < documents*filters/10 {
			t.Errorf("only %d hits: the generator tests little", hits)
		}
	})
}

// holdsByParts matches each filter alone, and each value of an array alone.
func holdsByParts(e *event.Event, fs []Filter) bool {
	for _, f := range fs {
		holds := false
		switch {
		case f.Any != nil:
			holds = slices.ContainsFunc(f.Any, func(list []Filter) bool { return holdsByParts(e, list) })
		case operators[f.Operator].list:
			for _, value := range rawjson.Array(f.Value) {
				one, err := newFilter(Filter{Field: f.Field, Operator: "is", Type: f.Type, Value: value})
				holds = holds || (err == nil && Match(e, []Filter{one}))
			}
		case f.Field == textField && f.Operator == "matches words":
			word, _ := rawjson.Text(f.Value)
			holds = true
			for word := range strings.FieldsSeq(cmp.Or(word, string(f.Value))) {
				holds = holds && hasWord(e, word)
			}
		case f.Field == textField:
			n := 0
			for _, field := range []string{"event_name", "error", "inputs", "outputs"} {
				if Match(e, []Filter{mustFilter(field, "contains", f.Value)}) {
					n++
				}
			}
			holds = (n > 0) == (f.Operator == "contains")
		default:
			holds = Match(e, []Filter{f})
		}
		if !holds {
			return false
		}
	}
	return true
}

// hasWord reports whether the texts of an event have all words of a text, by splitting all of them at a pattern.
func hasWord(e *event.Event, word string) bool {
	all := []string{e.Name}
	if e.Error != nil {
		all = append(all, *e.Error)
	}
	var collect func(raw json.RawMessage)
	collect = func(raw json.RawMessage) {
		if text, ok := rawjson.Text(raw); ok {
			all = append(all, text)
		}
		for _, m := range rawjson.Object(raw) {
			collect(m)
		}
		for _, m := range rawjson.Array(raw) {
			collect(m)
		}
	}
	collect(e.Inputs)
	collect(e.Outputs)
	for _, part := range notWord.Split(word, -1) {
		if part != "" && !slices.ContainsFunc(notWord.Split(strings.Join(all, "\n"), -1), func(w string) bool { return strings.EqualFold(w, part) }) {
			return false
		}
	}
	return true
}

var notWord = regexp.MustCompile(`[^\pL\pN\pM]+`)
