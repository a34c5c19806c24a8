package rawjson

import "testing"

func TestCountValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{``: 0, `1`: 0, `"a,b:[{"`: 0, `"\"[,\\"`: 0, `[]`: 1, `[1,2]`: 2, `{"a":1,"b":[{},[]]}`: 8, `{"a\"":",","b`: 3} {
		if got := CountValues(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
