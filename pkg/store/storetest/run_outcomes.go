package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
)

// outcomes returns what a run came to in lines that tell all of it.
func (e *env) outcomes(r *run.Run, q query.Search) (lines []string) {
	e.Helper()
	o, err := e.s.RunOutcomes(e.ctx, e.project, r, q)
	e.ok(err)
	for _, s := range o.Sessions {
		line := fmt.Sprintf("%s %s took %v tokens %v", runSessions[s.ID], s.Datapoint, s.Duration, s.Tokens)
		if s.HasCost {
			line += fmt.Sprint(" cost ", s.Cost)
		}
		if s.HasError {
			line += " failed"
		}
		if s.Running {
			line += " runs"
		}
		lines = append(lines, line)
	}
	for i := range o.Metrics {
		m := &o.Metrics[i]
		line := m.Name + " of " + m.Kind.Type + " " + m.Kind.Name
		for j, at := range m.At {
			line += fmt.Sprintf(" %d:", at)
			if m.Texts != nil && m.Texts[j] != "" {
				line += m.Texts[j]
			} else {
				line += fmt.Sprint(m.Values[j])
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// runSessions are the names of the sessions in runOutcomes.
var runSessions = map[[16]byte]string{id("s"): "s", id("t"): "t", id("u"): "u", id("w"): "w", id("x"): "x"}

// runOutcomes reads what sessions of a run came to, again after each change of them: what is kept must not outlive a change.
func runOutcomes(e *env) {
	r := e.createRun(run.Update{SessionIDs: []string{id("u").String()}})
	call := scored(step("s", "call", 1), `{"m":0.5,"ok":true,"why":"good","long":"`+strings.Repeat("y", 300)+`"}`)
	call.Type = event.TypeModel
	call.Metadata = raw(`{"cost":0.25,"total_tokens":7}`)
	failed := step("t", "fails", 2)
	failed.Error = pointer("boom")
	e.put(of(r.ID, "d1", start("s", "session", 0, 4)), call, scored(step("s", "call again", 3), `{"m":1}`))
	e.put(of(r.ID, "d2", start("t", "session", 1, 5)), failed)
	e.put(start("u", "session", 2, 6), start("w", "not of the run", 0, 1))
	want := []string{
		"s d1 took 4000 tokens 7 cost 0.25", "t d2 took 5000 tokens 0 failed", "u  took 6000 tokens 0",
		"m of model call 0:0.5", "m of tool call again 0:1", "ok of model call 0:1", "why of model call 0:good",
	}
	check := func(what string) {
		e.Helper()
		for range 2 { // what is read, and what is kept
			if diff := cmp.Diff(want, e.outcomes(&r, query.Search{})); diff != "" {
				e.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
	}
	check("as stored")
	e.equal("those with a high score", []string{"s d1 took 4000 tokens 7 cost 0.25", "m of tool call again 0:1"},
		e.outcomes(&r, query.Search{Filters: []query.Filter{e.filter("metrics.m", "greater than", "number", "0.7")}}))

	_, err := e.s.Update(e.ctx, e.project, event.Update{EventID: id("call"), Metrics: raw(`{"m":0.75}`)})
	e.ok(err)
	want[3] = "m of model call 0:0.75"
	check("after a score changed")

	e.put(scored(step("w", "of another session", 4), `{"m":9}`))
	check("after another session changed")

	e.put(of(r.ID, "d3", start("x", "session", 3, 1)))
	want = slices.Insert(want, 3, "x d3 took 1000 tokens 0")
	check("after the run got a session")

	e.put(of(r.ID, "d4", step("w", "of the run", 5)))
	want = slices.Insert(want, 0, "w d4 took 1000 tokens 0")
	for i := 5; i < len(want); i++ {
		want[i] = strings.Replace(want[i], " 0:", " 1:", 1)
	}
	want = slices.Insert(want, 7, "m of tool of another session 0:9")
	check("after an event of another session named the run")

	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("call again")))
	want = slices.Delete(want, 6, 7)
	check("after an event was deleted")

	_, err = e.s.UpdateRun(e.ctx, e.project, run.Update{ID: r.ID, SessionIDs: []string{}})
	e.ok(err)
	r, err = e.s.Run(e.ctx, e.project, r.ID)
	e.ok(err)
	want = slices.DeleteFunc(want, func(line string) bool { return strings.HasPrefix(line, "u ") })
	check("after the run lists no session any more")

	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("w")))
	want = []string{"t d2 took 5000 tokens 0 failed", "x d3 took 1000 tokens 0"}
	check("after sessions were deleted")
}
