package main

import (
	"fmt"
	"slices"
)

func typeIs(kind string) filter { return filter{"event_type", "is", kind, "string"} }

// scaleQuestions returns what is asked about a load, whose days are whole.
func scaleQuestions(g *SmallGenerator) []question {
	all := scope{g.Base.UnixMicro(), g.Base.Add(g.Window).UnixMicro()}
	middle := all.from + (all.to-all.from)/2/dayMicros*dayMicros
	day := scope{middle, middle + dayMicros}
	model := func(c *smallColumns, i int) bool { return c.kind[i] == rowModel }
	span := func(c *smallColumns, i int) bool { return c.kind[i] != rowSession }
	every := func(*smallColumns, int) bool { return true }
	o3 := int8(slices.IndexFunc(smallModels, func(m smallModel) bool { return m.name == askedModel }))
	tier := func(name string) func(c *smallColumns, i int) bool {
		k := slices.IndexFunc(smallTiers, func(t struct {
			name  string
			share int
		}) bool {
			return t.name == name
		})
		return func(c *smallColumns, i int) bool { return c.kind[i] != rowSession && int(c.tier[i]) == k }
	}
	modelName := func(c *smallColumns, i int) string { return smallModels[c.model[i]].name }
	failed := func(c *smallColumns, i int) bool { return c.kind[i] != rowSession && c.failed[i] > 0 }
	isO3 := func(c *smallColumns, i int) bool { return c.model[i] == o3 }
	slow := func(c *smallColumns, i int) bool { return model(c, i) && c.duration[i] > slowCall*1000 }
	refund := func(c *smallColumns, i int) bool { return c.refund[i] }
	rare := func(c *smallColumns, i int) bool { return c.rare[i] }
	tokensOver := func(c *smallColumns, i int) bool { return c.tokens[i] > manyTokens }

	session := g.Sessions / 2
	filterSession := filter{"session_id", "is", uuidOf(g.traceID(session)), "id"}
	filterParent := filter{"parent_id", "is", g.eventID(session, 0), "id"}
	ofUser := func(user int) list {
		return list{filters: []filter{{"user_properties.user_id", "is", smallUser(user), "string"}}, limit: 100, total: true,
			match: func(c *smallColumns, i int) bool { return int(c.user[i]) == user }}
	}
	filterError := filter{"error", "exists", "", "string"}
	filterTokens := filter{"metadata.total_tokens", "greater than", fmt.Sprint(manyTokens), "number"}
	filterO3 := filter{"config.model", "is", askedModel, "string"}
	filterSlow := filter{"duration", "greater than", fmt.Sprint(slowCall), "number"}
	filterTier := func(v string) filter { return filter{"metadata.tier", "is", v, "string"} }

	tierName := func(c *smallColumns, i int) string { return smallTiers[c.tier[i]].name }
	eventName := func(c *smallColumns, i int) string { return c.names[c.name[i]] }
	tool := func(c *smallColumns, i int) bool { return c.kind[i] == rowTool }
	cost := func(c *smallColumns, row int) float64 { return float64(c.nanos[row]) / 1e9 }
	duration := func(c *smallColumns, row int) float64 { return float64(c.duration[row]) / 1000 }
	errors := func(c *smallColumns, row int) float64 { return float64(c.failed[row]) }
	tokens := func(c *smallColumns, row int) float64 { return float64(c.tokens[row]) }
	hour, aDay := hourMicros, dayMicros
	models, tools := []filter{typeIs("model")}, []filter{typeIs("tool")}
	countADay := chartOf{metric: "duration", aggregation: "count", bucket: "day", width: aDay, match: every}
	costByModel := chartOf{metric: "cost", aggregation: "sum", bucket: "day", group: "config.model", filters: models, width: aDay,
		match: model, groupOf: modelName, value: cost}
	tokensByModel := chartOf{metric: "total_tokens", aggregation: "sum", bucket: "day", group: "config.model", filters: models, width: aDay,
		match: model, groupOf: modelName, value: tokens}
	return []question{
		sessionList{sort: "start", value: func(c *smallColumns, row int) float64 { return float64(c.start[row]) / 1000 }}.
			question("sessions_newest_50", "newest 50 sessions", all),
		list{limit: 100, match: every}.question("newest_100", "newest 100 events", all),
		list{limit: 1000, match: every}.question("newest_1000", "newest 1,000 events", all),
		list{filters: []filter{filterSession}, limit: 100, total: true, match: func(_ *smallColumns, i int) bool { return i/smallRows == session }}.
			question("session_events", "events of a session, total", all),
		list{filters: []filter{filterParent}, limit: 100, total: true, match: func(_ *smallColumns, i int) bool {
			step := i%smallRows - 1 // the first row is the session's
			return i/smallRows == session && step >= 0 && smallSteps[step].parent == 0
		}}.question("children", "events below an event, total", all),
		ofUser(askedUser).question("user", "events of a user: newest 100, total", all),
		ofUser(ordinaryUser).question("ordinary_user", "events of an ordinary user: newest 100, total", all),
		list{filters: []filter{filterError}, limit: 100, total: true, match: withRoot(failed)}.
			question("errors", "errors: newest 100, total", all),
		list{filters: []filter{filterTokens}, limit: 100, total: true, match: tokensOver}.
			question("tokens_over", "metadata.total_tokens over 5,000, sessions included: newest 100, total", all),
		list{filters: []filter{typeIs("model"), filterTokens}, limit: 100, total: true,
			match: func(c *smallColumns, i int) bool { return model(c, i) && tokensOver(c, i) }}.
			question("model_tokens_over", "model calls over 5,000 tokens: newest 100, total", all),
		list{filters: []filter{filterO3}, limit: 100, total: true, match: isO3}.
			question("model_is_o3", "config.model is o3: newest 100, total", all),
		list{filters: []filter{filterTier("pro")}, limit: 100, total: true, match: tier("pro")}.
			question("attribute_of_3", "an attribute of three values: newest 100, total", all),
		list{filters: []filter{filterTier("platinum")}, limit: 100, total: true, match: func(*smallColumns, int) bool { return false }}.
			question("attribute_never", "a value that never occurs: newest 100, total", all),
		list{filters: []filter{typeIs("model"), filterSlow}, limit: 100, total: true, match: slow}.
			question("slow_calls", "model calls over 9 s: newest 100, total", all),
		list{limit: pageSize, page: pageNumber, total: true, match: every}.question("page_5000", "page 5,000 of all, 20 a page, total", all),
		countADay.question("count_a_day", "events a day", all),
		chartOf{metric: "duration", aggregation: "p95", bucket: "hour", group: "event_name", width: hour, match: span,
			groupOf: eventName, value: duration}.
			question("p95_by_name", "p95 of duration an hour by name", all),
		costByModel.question("cost_by_model", "cost a day by model", all),
		tokensByModel.question("tokens_by_model", "tokens a day by model", all),
		// The session's event shows inputs, outputs and the error of its root.
		list{filters: []filter{{"inputs", "contains", refundWord, "string"}}, limit: 100, total: true, match: withRoot(refund)}.
			question("inputs_contain", "inputs contain refund, one day: newest 100, total", day),
		list{filters: []filter{{"outputs", "contains", rareWord, "string"}}, limit: 100, total: true, match: withRoot(rare)}.
			question("rare_word", "outputs contain a word of 100 in 10 million: newest 100, total", all),
		sessionList{sort: "cost", value: cost}.question("sessions_by_cost", "sessions by cost: first 50", all),
		sessionList{sort: "cost", value: cost, events: []filter{filterO3}, match: isO3}.
			question("sessions_cost_o3", "sessions by cost with a call of o3: first 50", all),
		sessionList{sort: "duration", value: duration, events: []filter{filterError}, match: failed}.
			question("sessions_duration_errors", "sessions by duration with an error: first 50", all),
		sessionList{sort: "errors", value: errors, events: []filter{filterTier("enterprise")}, match: tier("enterprise")}.
			question("sessions_errors_tier", "sessions by errors with a tier: first 50", all),
		valuesOf("values_tier", "values of an attribute with counts", "metadata.tier", all, tierName),
		valuesOf("values_user", "values of the user's id with counts", "user_properties.user_id", all,
			func(c *smallColumns, i int) string { return smallUser(int(c.user[i])) }),
		valuesOf("values_model", "values of config.model with counts", "config.model", all, modelName),
		board{
			countADay,
			{metric: "duration", aggregation: "count", group: "config.model", filters: models, width: aDay, match: model, groupOf: modelName},
			{metric: "duration", aggregation: "count", filters: []filter{typeIs("model"), filterError}, width: aDay,
				match: func(c *smallColumns, i int) bool { return model(c, i) && failed(c, i) }},
			{metric: "duration", aggregation: "count", group: "event_name", filters: tools, width: aDay, match: tool, groupOf: eventName},
			{metric: "duration", aggregation: "p95", filters: models, width: aDay, match: model, value: duration},
			{metric: "duration", aggregation: "p95", group: "config.model", filters: models, width: aDay, match: model, groupOf: modelName, value: duration},
			{metric: "duration", aggregation: "p95", group: "event_name", filters: tools, width: aDay, match: tool, groupOf: eventName, value: duration},
			{metric: "cost", aggregation: "sum", filters: models, width: aDay, match: model, value: cost},
			costByModel,
			{metric: "cost", aggregation: "sum", group: "metadata.tier", filters: models, width: aDay, match: model, groupOf: tierName, value: cost},
			tokensByModel,
			{metric: "total_tokens", aggregation: "sum", group: "metadata.tier", filters: models, width: aDay, match: model, groupOf: tierName, value: tokens},
		}.question("board", "a dashboard of 12 charts by day: half of the days, with the half before", scope{middle, all.to}),
	}
}

// withRoot lets the event of a session match where its root does.
func withRoot(match func(c *smallColumns, i int) bool) func(c *smallColumns, i int) bool {
	return func(c *smallColumns, i int) bool {
		if c.kind[i] == rowSession {
			i++
		}
		return match(c, i)
	}
}
