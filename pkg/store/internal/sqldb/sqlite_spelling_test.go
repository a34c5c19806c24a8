package sqldb

import "testing"

func TestQuestion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SELECT 1":               "SELECT 1",
		"SELECT $1 + $12":        "SELECT ?1 + ?12",
		"SELECT a FROM b = $2":   "SELECT a FROM b = ?2",
		"SELECT json(a, '$.b')":  "",
		"SELECT a WHERE b = $":   "",
		"SELECT a WHERE b = $0":  "",
		"SELECT a WHERE b = $$1": "",
	} {
		got, err := question(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
