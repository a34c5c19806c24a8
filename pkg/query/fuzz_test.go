package query

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query/querytest"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The words of our SQL. Whatever else stands in a condition came from outside.
var (
	tokens   = regexp.MustCompile(`'[^']*'|"[^"]*"|[A-Za-z_][A-Za-z0-9_]*|[?$]?[0-9]+|[^\sA-Za-z0-9_]`)
	sqlWords = strings.Fields(`e s j h event session AND OR NOT IN IS NULL TRUE FALSE CASE WHEN THEN ELSE END EXISTS SELECT FROM WHERE AS CAST REAL COLLATE
		id project_id day event_id parent_id session_id session_rowid type name source error start_ms end_ms duration atom
		metadata metrics feedback user_properties children_ids run_id user_id spill s num_events num_model_events num_costs cost total_tokens prompt_tokens completion_tokens
		coalesce nullif round numeric lower substr hex instr strpos json_type json_typeof json_tree json_each unhex value uuid ANY jsonb_path_query jsonb text float8
		"C" 'text' 'integer' 'real' 'true' 'false' 'object' 'array' 'string' 'number' 'boolean' 'null' '-' '' '{}' '[]' '""'`)
	marks  = "().,=<>&|*#:-+?$~[]"
	empty  = `'^\s*(\{\s*\}|\[\s*\])\s*$'`
	void   = `'^\s*(null|""|\{\s*\}|\[\s*\])\s*$'`
	strict = `'strict $.** ? (@.type() == "string")'`
)

// foreign returns the first token of a condition that is not one of ours, "" if there is none.
func foreign(condition string) string {
	for _, tok := range tokens.FindAllString(condition, -1) {
		switch c := tok[0]; {
		case len(tok) == 1 && strings.Contains(marks, tok), tok == strict, tok == empty, tok == void, slices.Contains(sqlWords, tok):
		case len(tok) < 8 && strings.Trim(strings.TrimLeft(tok, "?$"), "0123456789") == "" && (c == '?' || c == '$' || (c >= '0' && c <= '9')):
		default:
			return tok
		}
	}
	return ""
}

// FuzzFilters holds that no text is too odd to be parsed or refused as the caller's fault, and
// that nothing of it stands in the SQL.
func FuzzFilters(f *testing.F) {
	for _, s := range shapes {
		f.Add([]byte(s.filters))
	}
	f.Add([]byte(`{"filterArray":[{"field":"metadata.'; DROP TABLE event; --","operator":"is","value":"' OR 1=1"}]}`))
	f.Add([]byte(`"[{\"field\":\"error\",\"operator\":\"exists\"}]"`))
	e := querytest.Cases()[0].Event
	f.Fuzz(func(t *testing.T, in []byte) {
		fs, err := ParseFilters(in, "filters")
		if err != nil {
			var fe *fault.Error
			if !errors.As(err, &fe) || fe.Kind != fault.Invalid || !strings.HasPrefix(fe.Field, "filters") {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		for _, d := range []Dialect{SQLite, Postgres} {
			b := NewBuilder(d)
			plan := Compile(b, 7, fs)
			for _, condition := range []string{plan.Where, plan.Candidates} {
				if tok := foreign(condition); tok != "" {
					t.Fatalf("%q: %q in %s", in, tok, condition)
				}
				for i := range b.Args() {
					if !strings.Contains(condition, d.Placeholder(i+1)) {
						t.Fatalf("%q: argument %d is not used in %s", in, i+1, condition)
					}
				}
			}
		}
		Match(&e, fs)
		NeedPayload(fs)
		Needle(fs)
	})
}

// FuzzWhere holds that the SQL answers as Match does, on SQLite and, where there is one, on
// PostgreSQL, for any document, path and value.
func FuzzWhere(f *testing.F) {
	for i, c := range querytest.Cases() {
		if c.Event.Metadata != nil && i%3 == 0 {
			f.Add([]byte(c.Event.Metadata), []byte(c.Filter))
		}
	}
	f.Add([]byte(`{"a":[{"b":[1,"x"]}]}`), []byte(`{"field":"metadata.a.0.b.1","operator":"is","value":"x"}`))
	for _, s := range shapes {
		f.Add([]byte(`{"a":{"b":"x"},"n":5,"t":true}`), []byte(s.filters))
	}
	engines := []*engine{openSQLite(f)}
	if postgresDSN() != "" {
		engines = append(engines, openPostgres(f))
	}
	f.Fuzz(func(t *testing.T, doc, filter []byte) {
		metadata, _, err := rawjson.Clean(doc)
		if err != nil || rawjson.KindOf(metadata) != '{' || manyDigits(metadata) || manyDigits(filter) {
			return
		}
		fs, err := ParseFilters(filter, "filters")
		if err != nil {
			return
		}
		e := event.Event{ID: uuid.New(), SessionID: uuid.New(), ParentID: uuid.New(), Type: event.TypeTool, Name: "x", Source: "y", Start: 5, Metadata: json.RawMessage(metadata)}
		want := Match(&e, fs)
		for _, en := range engines {
			en.insert(t, 1, &e, nil, 0)
			b := NewBuilder(en.dialect)
			plan := Compile(b, testProject, fs)
			got := en.matches(t, 1, b, plan.Where) && Match(&e, plan.Residual)
			if got != want {
				t.Fatalf("%s on %s: %v, want %v\n%s %q", filter, metadata, got, want, plan.Where, b.Args())
			}
			for _, table := range []string{"event", "session"} {
				if err := en.exec(t.Context(), "DELETE FROM "+table); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// manyDigits reports whether a number may have more digits than SQLite reads.
func manyDigits(raw []byte) bool { return longNumber.Match(raw) }

var longNumber = regexp.MustCompile(`[0-9.]{20}`)
