package wire

import (
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
)

func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	known := []string{"filters", "dateRange", "limit", "page", "evaluation_id"}
	for in, want := range map[string]string{
		"":                       "",
		"filters[0][field]=a":    "",
		"filters[]=a&limit=1":    "",
		"dateRange[$gte]=1":      "",
		"project=p&tenant=t":     "",
		"project_id=p":           "",
		"filter=x":               `unknown parameter "filter"; did you mean "filters"?`,
		"filter[field]=x":        `unknown parameter "filter"; did you mean "filters"?`,
		"date_range=7d":          `unknown parameter "date_range"; did you mean "dateRange"?`,
		"daterange=7d&Page=2":    `unknown parameter "Page"; did you mean "page"?`,
		"evaluationId=7":         `unknown parameter "evaluationId"; did you mean "evaluation_id"?`,
		"offset=7":               `unknown parameter "offset"; must be one of filters, dateRange, limit, page, evaluation_id`,
		"x=1&zzzzzzzzzzzzzz=2":   `unknown parameter "x"; must be one of filters, dateRange, limit, page, evaluation_id`,
		"%00limit=1&limit[x]y=2": `unknown parameter "\x00limit"; did you mean "limit"?`,
	} {
		p, err := ParseParams(in)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := p.Known(known); err != nil {
			got = err.Error()
			if fault.Of(err) != fault.Invalid {
				t.Errorf("%s: kind %v", in, fault.Of(err))
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	p, _ := ParseParams("limit=1")
	if err := p.Known(nil); err == nil || err.Error() != `unknown parameter "limit"; none is allowed here` {
		t.Errorf("where there are none: %v", err)
	}
}

func TestUnknownSearchFields(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"filters":[],"project":"p","tenant":"t","ignore_order":true,"page":1}`: "",
		`{"filter":null}`:                      "",
		`{"filter":[]}`:                        `unknown field "filter"; did you mean "filters"?`,
		`{"date_range":"7d"}`:                  `unknown field "date_range"; did you mean "dateRange"?`,
		`{"projection":["a"]}`:                 `unknown field "projection"; did you mean "projections"?`,
		`{"evaluationId":"7","metric":"cost"}`: `unknown field "evaluationId"; did you mean "evaluation_id"?`,
	} {
		_, err := DecodeSearch([]byte(in), query.SearchPages, time.Now())
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
