package wire

import (
	"math"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeProvider reads the body of a change of a project's model provider. Null is absent and
// unknown fields are ignored; whether the values are a provider's is provider.Validate's to say.
func DecodeProvider(body []byte, name string) (provider.Update, error) {
	u := provider.Update{Name: name}
	err := eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "type":
			err = setTextPointer(&u.Type, raw)
		case "base_url":
			err = setTextPointer(&u.BaseURL, raw)
		case "model":
			err = setTextPointer(&u.Model, raw)
		case "api_key":
			err = setTextPointer(&u.APIKey, raw)
		case "daily_budget_usd":
			var f float64
			f, err = readDouble(raw)
			u.DailyBudgetUSD = &f
		case "daily_calls":
			var f float64
			if f, err = readDouble(raw); err == nil && (f != math.Trunc(f) || math.Abs(f) > 1<<53) {
				err = fault.New(fault.Invalid, "must be a whole number")
			}
			n := int64(f)
			u.DailyCalls = &n
		}
		return err
	})
	return u, err
}

// AppendProvider appends a provider as answers show it: of its key only whether there is one.
func AppendProvider(dst []byte, p *provider.Provider, dialect Dialect) []byte {
	var b rawjson.Builder
	b.String("name", p.Name)
	b.String("type", p.Type)
	b.String("base_url", p.BaseURL)
	b.String("model", p.Model)
	b.Number("daily_budget_usd", p.DailyBudgetUSD)
	b.Int("daily_calls", p.DailyCalls)
	b.Bool("has_key", p.SealedKey != nil)
	var today rawjson.Builder
	today.Number("usd", p.TodayUSD)
	today.Int("calls", p.TodayCalls)
	b.Raw("today", today.Bytes())
	addTimes(&b, p.Created, p.Updated, dialect)
	return append(dst, b.Bytes()...)
}
