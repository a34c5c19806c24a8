package query

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query/querytest"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func TestEngineCases(t *testing.T) {
	onEachEngine(t, func(t *testing.T, en *engine) {
		for i, c := range querytest.Cases() {
			fs := caseFilters(t, c)
			en.insert(t, 2*i, &c.Event, nil, 0)

			b := NewBuilder(en.dialect)
			plan := Compile(b, testProject, fs)
			got := en.matches(t, 2*i, b, plan.Where) && Match(joined(c.Event), plan.Residual)
			if got != c.Want {
				t.Errorf("%s: %v, want %v\n%s %q", c.Name, got, c.Want, plan.Where, b.Args())
			}

			// The same event with its fields in the payload: the row must be a candidate, or
			// be rightly refused.
			e := c.Event
			e.ID, e.SessionID = uuid.New(), uuid.New()
			if c.Event.IsSession() {
				e.SessionID = e.ID
			}
			if c.Event.ParentID == c.Event.SessionID {
				e.ParentID = e.SessionID
			}
			spill := presentSpill(&e)
			en.insert(t, 2*i+1, &e, nil, spill)
			b = NewBuilder(en.dialect)
			plan = Compile(b, testProject, fs)
			left := plan.Residual
			if uint32(spill)&plan.Reads != 0 {
				left = fs
			}
			got = en.matches(t, 2*i+1, b, plan.Candidates) && Match(joined(e), left)
			if got != c.Want {
				t.Errorf("%s: spilled: %v, want %v\n%s %q", c.Name, got, c.Want, plan.Candidates, b.Args())
			}
		}
	})
}

// Filters on a case's own ids cannot stand in a table of fixed ids.
func TestEngineOwnIDs(t *testing.T) {
	onEachEngine(t, func(t *testing.T, en *engine) {
		session := uuid.New()
		parent := uuid.New()
		events := []event.Event{
			{ID: session, SessionID: session, Type: event.TypeSession},
			{ID: uuid.New(), SessionID: session, ParentID: session, Type: event.TypeChain},
			{ID: parent, SessionID: session, ParentID: session, Type: event.TypeChain},
			{ID: uuid.New(), SessionID: session, ParentID: parent, Type: event.TypeModel},
		}
		en.insertSession(t, 1, session, nil)
		for i := range events {
			en.insertHead(t, i, 1, &events[i], 0)
		}
		for _, field := range []string{"event_id", "session_id", "parent_id"} {
			for _, ids := range [][]uuid.UUID{{session, parent}, {parent, events[3].ID}, {session, events[1].ID, uuid.New()}, {uuid.New(), uuid.New()}} {
				value := []byte(`["none"`)
				for _, id := range ids {
					value = rawjson.AppendString(append(value, ','), id.String())
				}
				fs := []Filter{mustFilter(field, "is any of", append(value, ']'))}
				for i := range events {
					b := NewBuilder(en.dialect)
					plan := Compile(b, testProject, fs)
					if got, want := en.matches(t, i, b, plan.Where), Match(&events[i], fs); got != want {
						t.Errorf("event %d: %s is any of %v: %v, want %v\n%s", i, field, ids, got, want, plan.Where)
					}
				}
			}
			for _, operator := range []string{"is", "is not", "contains", "not contains", "greater than", "less than", "exists"} {
				for _, id := range []uuid.UUID{session, parent, events[1].ID, events[3].ID, uuid.New()} {
					for _, text := range []string{id.String(), strings.ToUpper(id.String())} {
						fs := []Filter{mustFilter(field, operator, rawjson.AppendString(nil, text))}
						for i := range events {
							b := NewBuilder(en.dialect)
							plan := Compile(b, testProject, fs)
							if got, want := en.matches(t, i, b, plan.Where), Match(&events[i], fs); got != want {
								t.Errorf("event %d: %s %s %s: %v, want %v\n%s", i, field, operator, text, got, want, plan.Where)
							}
						}
					}
				}
			}
		}
	})
}

func TestEngineSearch(t *testing.T) {
	onEachEngine(t, func(t *testing.T, en *engine) {
		at := func(ms float64, metadata string) *event.Event {
			return &event.Event{ID: uuid.New(), SessionID: uuid.New(), ParentID: uuid.New(), Type: event.TypeTool, Start: ms, Metadata: []byte(metadata)}
		}
		en.insert(t, 0, at(1000, `{"run_id":"run-1"}`), nil, 0)
		en.insert(t, 1, at(2000, ``), "run-1", 0)
		en.insert(t, 2, at(3000, `{"run_id":"run-2"}`), nil, 0)
		en.insert(t, 3, at(3000.5, ``), nil, 0)
		listed := at(500, ``)
		en.insert(t, 4, listed, nil, 0)
		f := func(ms float64) *float64 { return &ms }
		for _, tt := range []struct {
			name string
			s    Search
			want int
		}{
			{"all", Search{}, 5},
			{"from", Search{From: f(2000)}, 3},
			{"to", Search{To: f(3000)}, 4},
			{"both included", Search{From: f(3000), To: f(3000)}, 1},
			{"inverted", Search{From: f(3000), To: f(1000)}, 0},
			{"run", Search{RunID: "run-1"}, 2},
			{"run and a session of its", Search{RunID: "run-1", RunSessions: []uuid.UUID{listed.SessionID, uuid.New()}}, 3},
			{"unknown run", Search{RunID: "run-3"}, 0},
			{"run with NUL", Search{RunID: "run\x00"}, 0},
			{"run and filter", Search{RunID: "run-1", Filters: []Filter{mustFilter("metadata.run_id", "exists", nil)}}, 1},
			{"filter", Search{Filters: []Filter{mustFilter("metadata", "not exists", nil)}}, 3},
			{"never", Search{From: f(0), RunID: "run-1", Filters: []Filter{
				mustFilter("metadata.x", "is", []byte(`"y"`)), mustFilter("event_type", "is", []byte(`"none"`))}}, 0},
			{"broken filter", Search{Filters: []Filter{{Field: "metadata.x", Operator: "is"}}}, 0},
		} {
			for _, project := range []int64{testProject, testProject + 1} {
				want := tt.want
				if project != testProject {
					want = 0
				}
				b := NewBuilder(en.dialect)
				plan := CompileSearch(b, project, &tt.s)
				for _, where := range []string{plan.Where, plan.Candidates} {
					query := "SELECT count(*) FROM " + en.dialect.From() + " WHERE " + where
					got, err := en.count(t.Context(), query, b.Args()...)
					if err != nil || got != want {
						t.Errorf("%s: %d, %v; want %d\n%s", tt.name, got, err, want, query)
					}
				}
			}
		}
	})
}

// Numbers of any spelling compare in SQL as in Go, up to the nineteenth digit.
func TestEngineNumbers(t *testing.T) {
	onEachEngine(t, func(t *testing.T, en *engine) {
		rnd := rand.New(rand.NewPCG(1, 2))
		wrong := 0
		for i := range 1000 {
			spelled := randomNumber(rnd)
			want, err := strconv.ParseFloat(spelled, 64)
			if err != nil || (en.dialect == SQLite && significant(spelled) > 19) {
				continue
			}
			for _, tt := range []struct {
				sign string
				num  float64
				want bool
			}{
				{"=", want, true},
				{"<", math.Nextafter(want, math.Inf(1)), true},
				{"<", want, false},
				{">", want, false},
				{">", math.Nextafter(want, math.Inf(-1)), true},
			} {
				if math.IsInf(tt.num, 0) {
					continue
				}
				b := NewBuilder(en.dialect)
				doc := b.Arg(`{"x":` + spelled + `}`)
				test := en.dialect.jsonNumber("d.j", en.dialect.jsonPaths(b, []string{"x"})[0], tt.sign+" "+b.Arg(tt.num))
				cast := ""
				if en.dialect == Postgres {
					cast = "::text::json"
				}
				n, err := en.count(t.Context(), "SELECT count(*) FROM (SELECT "+doc+cast+" AS j) AS d WHERE "+test, b.Args()...)
				if err != nil {
					t.Fatal(err)
				}
				if (n == 1) != tt.want {
					wrong++
					if wrong < 10 {
						t.Errorf("%d: %s %s %v: %v, want %v", i, spelled, tt.sign, tt.num, n == 1, tt.want)
					}
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%d wrong", wrong)
		}
	})
}

// significant counts a number's digits without leading zeros.
func significant(spelled string) int {
	mantissa, _, _ := strings.Cut(spelled, "e")
	return len(strings.TrimLeft(strings.ReplaceAll(strings.TrimLeft(mantissa, "-"), ".", ""), "0"))
}

func randomNumber(rnd *rand.Rand) string {
	digits := func(n int) string {
		b := []byte{byte('1' + rnd.IntN(9))}
		for range n {
			b = append(b, byte('0'+rnd.IntN(10)))
		}
		return string(b)
	}
	switch rnd.IntN(6) {
	case 0: // a double as programs print it
		return strconv.FormatFloat(math.Float64frombits(rnd.Uint64()&^(1<<62)), 'g', -1, 64)
	case 1:
		return strconv.FormatFloat(rnd.Float64(), 'f', -1, 64)
	case 2:
		return digits(rnd.IntN(25))
	case 3:
		return "-" + digits(rnd.IntN(6)) + "." + digits(rnd.IntN(20))
	case 4:
		return digits(rnd.IntN(3)) + "." + digits(rnd.IntN(20)) + "e" + strconv.Itoa(rnd.IntN(600)-300)
	default:
		return strconv.FormatFloat(rnd.NormFloat64()*1e6, 'f', rnd.IntN(10), 64)
	}
}
