package events

import (
	"context"

	"github.com/google/uuid"
)

// totals is what one or several events add to their session. All are sums, so that an event that is deleted or changed takes off what it
// had added. costs counts the events that have a cost: while it is 0, the session has no cost, which is not a cost of 0.
type totals struct {
	n, models, errors, feedback, costs int64
	calls                              int64 // models, and what else its sender told as a model call
	tools, unfinished                  int64 // events of type tool, and those of which only the begin is known
	prompt, completion, total, cost    float64
}

// totalsColumns are the columns of a session's row that targets takes.
const totalsColumns = `
	num_events,
	num_model_events,
	num_calls,
	num_tool_events,
	num_unfinished,
	num_errors,
	num_feedback,
	prompt_tokens,
	completion_tokens,
	total_tokens,
	cost,
	num_costs`

// targets returns where totalsColumns are scanned to.
func (t *totals) targets() []any {
	return []any{
		&t.n,
		&t.models,
		&t.calls,
		&t.tools,
		&t.unfinished,
		&t.errors,
		&t.feedback,
		&t.prompt,
		&t.completion,
		&t.total,
		&t.cost,
		&t.costs,
	}
}

func (t *totals) add(o totals) {
	t.n += o.n
	t.models += o.models
	t.errors += o.errors
	t.feedback += o.feedback
	t.costs += o.costs
	t.calls += o.calls
	t.tools += o.tools
	t.unfinished += o.unfinished
	t.prompt += o.prompt
	t.completion += o.completion
	t.total += o.total
	t.cost += o.cost
}

func (t totals) minus(o totals) totals {
	// Costs are sums of doubles: taking off what was added may leave a rest far below a cent, which RoundCost cuts
	// off where a cost is shown.
	return totals{t.n - o.n, t.models - o.models, t.errors - o.errors, t.feedback - o.feedback, t.costs - o.costs, t.calls - o.calls,
		t.tools - o.tools, t.unfinished - o.unfinished, t.prompt - o.prompt, t.completion - o.completion, t.total - o.total, t.cost - o.cost}
}

// addTotals changes a session's row by what an event of it changed. The session's times become wider where start and end,
// Unix milliseconds, are outside them; they are never narrowed here (recount).
func (s *Store) addTotals(ctx context.Context, tx *Commit, project int64, session uuid.UUID, t totals, start, end float64) error {
	// Relative to what the row has, so that two transactions that change different events of a session need not
	// know of each other. No row, no change: the session was deleted meanwhile.
	_, err := tx.Exec(ctx, `
		UPDATE session SET
			num_events = num_events + $3,
			num_model_events = num_model_events + $4,
			num_errors = num_errors + $5,
			num_feedback = num_feedback + $6,
			prompt_tokens = prompt_tokens + $7,
			completion_tokens = completion_tokens + $8,
			total_tokens = total_tokens + $9,
			cost = cost + $10,
			num_costs = num_costs + $11,
			first_ms = CASE WHEN first_ms > $12 THEN $12 ELSE first_ms END,
			last_ms = CASE WHEN last_ms < $13 THEN $13 ELSE last_ms END,
			num_calls = num_calls + $14,
			num_tool_events = num_tool_events + $15,
			num_unfinished = num_unfinished + $16
		WHERE project_id = $1 AND session_id = $2`,
		project,
		tx.ID(session),
		t.n,
		t.models,
		t.errors,
		t.feedback,
		t.prompt,
		t.completion,
		t.total,
		t.cost,
		t.costs,
		start,
		end,
		t.calls,
		t.tools,
		t.unfinished,
	)
	return err
}
