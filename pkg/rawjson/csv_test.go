package rawjson

import "testing"

func TestAppendCSV(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``: ``, `null`: `null`, `"text"`: `text`, `""`: ``, `-1.50`: `-1.50`, `true`: `true`,
		`"=1+1"`: `'=1+1`, `"-1"`: `'-1`, `"+1"`: `'+1`, `"@x"`: `'@x`, `"\t1"`: "'\t1", `"\r1"`: "\"'\r1\"", `"a=1"`: `a=1`,
		`"a,b"`: `"a,b"`, `"say \"a\""`: `"say ""a"""`, `"a\nb"`: "\"a\nb\"", `"=a,b"`: `"'=a,b"`, `"ä"`: `ä`,
		`{"a":"b"}`: `"{""a"":""b""}"`, `[-1]`: `[-1]`,
	} {
		if got := string(AppendCSV([]byte("x,"), []byte(raw))); got != "x,"+want {
			t.Errorf("%s is %q, want %q", raw, got, "x,"+want)
		}
	}
}
