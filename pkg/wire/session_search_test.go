package wire

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
)

func searchOf(t *testing.T, body string) (*SessionSearch, error) {
	t.Helper()
	return DecodeSessionSearch([]byte(body), time.UnixMilli(1_790_000_000_000))
}

// A cursor leads to its place, with the search that it is of and with no other.
func TestCursor(t *testing.T) {
	t.Parallel()
	const of = `"filters":[{"field":"event_name","operator":"is","value":"x"}],"sort":"cost","dateRange":"7d"`
	first, err := searchOf(t, "{"+of+"}")
	if err != nil {
		t.Fatal(err)
	}
	place := query.Place{Value: 0.1 + 0.2, ID: idOf("x")}
	cursor := cursorAfter(first.query, place)
	next, err := searchOf(t, fmt.Sprintf(`{%s,"limit":7,"total":"exact","cursor":%q}`, of, cursor))
	if err != nil || *next.Search.After != place {
		t.Fatalf("%+v, %v", next, err)
	}
	for name, body := range map[string]string{
		"another order":     `{%s,"order":"asc","cursor":%q}`,
		"another sort":      `{"sort":"tokens","x%s":1,"cursor":%q}`,
		"another condition": `{%s,"event_filters":[{"field":"error","operator":"exists"}],"cursor":%q}`,
	} {
		text := of
		if name == "another sort" {
			body, text = `{%s,"cursor":%q}`, strings.Replace(of, "cost", "tokens", 1)
		}
		if _, err := searchOf(t, fmt.Sprintf(body, text, cursor)); fault.Of(err) != fault.Invalid || !strings.Contains(err.Error(), "cursor") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, wrong := range []string{"NaN", "Inf", "-Inf", "x", ""} {
		forged := base64.RawURLEncoding.EncodeToString([]byte(first.query + " " + wrong + " " + idOf("x").String()))
		if _, err := searchOf(t, fmt.Sprintf(`{%s,"cursor":%q}`, of, forged)); fault.Of(err) != fault.Invalid {
			t.Errorf("a place at %q: %v", wrong, err)
		}
	}
}
