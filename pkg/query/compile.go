package query

import (
	"fmt"
	"maps"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
)

// Plan is how a store answers filters: a condition in SQL, and what is left to Go. There are two ways:
//
//  1. Without Residual filters, and if no row of the project has one of the bits of Reads in its spill column, the
//     rows that fulfil Where are the answer. The database then also sorts, counts and pages.
//  2. Otherwise the store walks over the rows that fulfil Candidates. On a row without these bits Match decides the
//     Residual filters. The head of a row with one of them lacks something that the filters need: it must be
//     read whole, and Match decides all filters on it.
//
// Where is exact for the filters that SQL decides, on rows that have none of the bits. Candidates is Where widened by
// the rows with a bit, narrowed by what even they must fulfil. Both use the same arguments and are "TRUE"
// where nothing is asked. Residual needs the whole event if NeedPayload(Residual).
type Plan struct {
	Where      string
	Candidates string
	// The filters that SQL does not decide.
	Residual []Filter
	// The spill bits of the fields that the filters look at.
	Reads uint32

	sessions sessions
}

// sessions says whether session events may be among the rows that filters let through.
type sessions uint8

const (
	someSessions sessions = iota
	noSessions
	onlySessions
)

// Compile turns filters into a plan for rows of event, alias e, of one project. A filter on the
// project that InProject has not decided matches nothing.
func Compile(b *Builder, projectID int64, fs []Filter) Plan {
	return compile(b, projectID, nil, fs)
}

// CompileSearch is Compile for a whole search: project, bounds of start time, run and filters. Page and limit are left
// to the store.
func CompileSearch(b *Builder, projectID int64, s *Search) Plan {
	project := b.Arg(projectID)
	base := []string{"e.project_id = " + project}
	if s.From != nil {
		base = append(base, "e.start_ms >= "+b.Arg(*s.From))
	}
	if s.To != nil {
		base = append(base, "e.start_ms <= "+b.Arg(*s.To))
	}
	if s.RunID != "" {
		id, _ := rawjson.ValidText(run.FoldID(s.RunID))
		arg := b.Arg(id)
		of := "e.run_id = " + arg + " OR " + b.dialect.sessionInRun(project, arg)
		if len(s.RunSessions) > 0 {
			of += " OR " + b.dialect.SessionIn(b, projectID, s.RunSessions)
		}
		base = append(base, "("+of+")")
	}
	if s.InRuns {
		base = append(base, b.dialect.inAnyRun(project))
	}
	return compile(b, projectID, base, s.Filters)
}

// compile puts base before the conditions of the filters.
//
//  1. Each filter gets its verdict. One that never holds ends it: nothing matches. One that always holds is left out.
//  2. Of those for SQL, conditions on columns hold for all rows, those on fields that may have spilled only for rows
//     that have not: columns and fields.
//  3. The filters on the type show whether session events are among the matches, since only they show sums of
//     their sessions.
//  4. Where joins all conditions; Candidates lets rows with a spill bit pass the conditions on fields.
func compile(b *Builder, projectID int64, base []string, fs []Filter) Plan {
	var plan Plan
	var decided []Filter           // by SQL
	types := map[event.Type]bool{} // that the filters let through
	for t := range typeCodes {
		types[t] = true
	}
	for _, f := range fs {
		maps.DeleteFunc(types, func(t event.Type, _ bool) bool { return !f.allows(t) })
		switch f.verdict() {
		case isNever:
			// Before any argument is added: PostgreSQL wants each of them used.
			return never(base)
		case isAlways:
		case byGo:
			plan.Residual = append(plan.Residual, f)
			plan.Reads |= f.reads()
		case bySQL:
			decided = append(decided, f)
		}
	}
	columns, fields := base, []string(nil)
	for i := range decided {
		if narrow := decided[i].narrowSQL(b); narrow != "" {
			columns = append(columns, narrow)
		}
		text, reads := decided[i].sql(b, projectID)
		plan.Reads |= reads
		if reads == 0 {
			columns = append(columns, text)
		} else {
			fields = append(fields, text)
		}
	}
	switch {
	case !types[event.TypeSession]:
		plan.sessions = noSessions
		plan.Reads &^= SpillRollup // only theirs have it
	case len(types) == 1:
		plan.sessions = onlySessions
	}
	plan.Where = all(append(columns[:len(columns):len(columns)], fields...))
	plan.Candidates = plan.Where
	if plan.Reads != 0 && len(fields) > 0 {
		spilled := fmt.Sprintf("(e.spill & %d) <> 0", plan.Reads)
		plan.Candidates = all(append(columns[:len(columns):len(columns)], "("+all(fields)+" OR "+spilled+")"))
	}
	return plan
}

// never returns the plan that no row fulfils. base is kept, since its arguments are added already and must be used.
func never(base []string) Plan {
	where := all(append(base[:len(base):len(base)], "FALSE"))
	return Plan{Where: where, Candidates: where}
}

// all joins conditions that must all hold. Each must be in brackets if it has an OR.
func all(conds []string) string {
	if len(conds) == 0 {
		return "TRUE"
	}
	return strings.Join(conds, " AND ")
}
