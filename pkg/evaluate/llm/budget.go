package llm

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Ledger keeps what providers' calls cost, so that a day's budget outlives the server and holds
// for all servers on one store.
type Ledger interface {
	// Spend adds dollars and calls to those of a project's provider on a UTC day, counted in days
	// since 1970, and gives the day's totals. Adding nothing only reads them. Project 0 is the
	// server itself, for providers that all projects share.
	Spend(ctx context.Context, projectID int64, provider string, day int64, usd float64, calls int64) (
		dayUSD float64, dayCalls int64, err error)
}

// budget bounds what a provider's calls of a UTC day cost, and how many they are. Calls under way
// count with the most they can cost, so that calls at the same time do not go over it together.
//
// The counts are this server's reading of the ledger: it is read when a day begins and after each booking, so that what
// other servers spend is seen with a delay. Two servers can thus go over a budget by what each spends between two
// readings.
type budget struct {
	project  int64   // 0: all share it
	provider string  // allProviders: it is the project's, for all of them together
	usd      float64 // 0: no bound; mu guards it in a project's, which changes
	calls    int64   // 0: no bound
	ledger   Ledger  // nil: the day counts from the start of the server
	now      func() time.Time

	mu sync.Mutex
	// The UTC day of the counts below, in days since 1970.
	day int64
	// What the calls of the day have cost, and how many were answered.
	spent float64
	made  int64
	// What calls under way may still cost, and how many they are.
	held     float64
	underWay int64
}

// allProviders stands in place of a provider's name, which it can never be, in the budget of a project.
const allProviders = "*"

// whose names the budget in a message.
func (b *budget) whose() string {
	if b.provider == allProviders {
		return "this project's judges"
	}
	return "the provider " + b.provider
}

// remedy returns who can change the budget, if that is not whoever set up the provider.
func (b *budget) remedy() string {
	if b.provider == allProviders {
		return " It is the project's limit judge_usd_per_day, which a key of scope admin can set."
	}
	return ""
}

// limit sets the bound: a project's may change between two calls.
func (b *budget) limit(usd float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usd = usd
}

const dayMillis = 24 * 60 * 60 * 1000

// Day returns the UTC day of a time as a Ledger counts it: in days since 1970.
func Day(t time.Time) int64 { return t.UnixMilli() / dayMillis }

// reserve holds what a call can cost at most. settle must be called once: with what it cost if it
// was made, to give the rest back. Errors are *failure, temporary where only calls under way stand in the way, which mostly cost less than
// they may. A budget in dollars refuses a call whose price is not known, but a
// project's: there such calls count by a guess (see endpoint.counted).
func (b *budget) reserve(ctx context.Context, most float64, priced bool) (settle func(usd float64, made bool), err error) {
	if b.provider != allProviders && b.usd > 0 && !priced {
		return nil, &failure{Budget, false, fmt.Sprintf("The provider %s has a daily_budget_usd, "+
			"which cannot hold for a model whose price is not known; set daily_calls instead.", b.provider)}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// A new day, or the first call since the server started: what others have spent on it so far.
	if day := Day(b.now()); day != b.day {
		spent, made := 0.0, int64(0)
		if b.ledger != nil && (b.usd > 0 || b.calls > 0 || b.provider == allProviders) {
			if spent, made, err = b.ledger.Spend(ctx, b.project, b.provider, day, 0, 0); err != nil {
				return nil, &failure{Budget, true, fmt.Sprintf("What %s cost today could not be read.", b.whose())}
			}
		}
		b.day, b.spent, b.made = day, spent, made
	}
	switch {
	case b.usd > 0 && b.spent+b.held+most > b.usd && b.spent+most <= b.usd:
		return nil, &failure{Budget, true, fmt.Sprintf("The budget of %s for today is taken by calls under way: $%.4f of $%.2f are spent, "+
			"they may cost $%.4f, and this call $%.4f.%s", b.whose(), b.spent, b.usd, b.held, most, b.remedy())}
	case b.usd > 0 && b.spent+b.held+most > b.usd:
		return nil, &failure{Budget, false, fmt.Sprintf("The budget of %s for today is used up: $%.4f of $%.2f are spent, "+
			"and the call may cost $%.4f.%s", b.whose(), b.spent, b.usd, most, b.remedy())}
	case b.calls > 0 && b.made < b.calls && b.made+b.underWay >= b.calls:
		return nil, &failure{Budget, true, fmt.Sprintf("The last of the %d calls of the provider %s for today are under way.", b.calls, b.provider)}
	case b.calls > 0 && b.made >= b.calls:
		return nil, &failure{Budget, false, fmt.Sprintf("The %d calls of the provider %s for today are used up.", b.calls, b.provider)}
	}
	b.held += most
	b.underWay++
	return func(usd float64, made bool) { b.charge(ctx, most, usd, made) }, nil
}

// charge ends the reservation of a call that may have cost most and, if the call was made, books what
// it did cost. A ledger that fails is not an error: the call was made, and this server has counted it.
func (b *budget) charge(ctx context.Context, most, usd float64, made bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= most
	if b.underWay--; b.underWay == 0 {
		b.held = 0 // no residue of fractions
	}
	if !made {
		return
	}
	b.spent += usd
	b.made++
	if b.ledger == nil || b.provider == allProviders && usd == 0 {
		return
	}
	// The money is spent, whoever has stopped waiting for the answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if spent, all, err := b.ledger.Spend(ctx, b.project, b.provider, b.day, usd, 1); err == nil {
		b.spent, b.made = max(b.spent, spent), max(b.made, all) // other servers' calls are in it
	}
}
