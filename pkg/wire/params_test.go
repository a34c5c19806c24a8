package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParamsRead(t *testing.T) {
	type question struct {
		Name    string   `query:"name"`
		Tags    []string `query:"tags"`
		Purge   bool     `query:"purge"`
		Enabled *bool    `query:"enabled"`
		Version int64    `query:"version"`
		Other   string
	}
	no := false
	for query, c := range map[string]struct {
		want question
		err  string
	}{
		"": {},
		"name=a&tags=b,c&purge=1&enabled=no&version=3&other=x": {want: question{"a", []string{"b", "c"}, true, &no, 3, ""}},
		"enabled=":                {},
		"version=0&name=a&name=b": {err: "name: is given more than once"}, // the first of the struct
		"version=0":               {err: "version: must be a whole number, 1 or more"},
		"enabled=perhaps":         {err: `enabled: "perhaps" is not a boolean`},
	} {
		t.Run(query, func(t *testing.T) {
			params, err := ParseParams(query)
			if err != nil {
				t.Fatal(err)
			}
			var got question
			err = params.Read(&got)
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("got error %v, want %s", err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
