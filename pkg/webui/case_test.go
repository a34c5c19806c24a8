package webui

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"regexp"
	"strings"
	"testing"
)

// The page of a case file loads nothing, its policy names its own script and styles, and nothing in its data ends an element.
func TestCasePage(t *testing.T) {
	t.Parallel()
	hostile := "</script><script>alert(1)</script><!--<style>\u2028 \x00 ]]>"
	var page bytes.Buffer
	if err := WriteCase(&page, func(w io.Writer) error { _, err := io.WriteString(w, hostile); return err }); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for what, want := range map[string]int{"<script": 2, "</script": 2, "<style": 1, "</style": 1, "<link": 1, "<!--": 0, " src=": 0, "@import": 0} {
		markup := regexp.MustCompile(`(?s)(<style>|<script type="module">).*?(</style>|</script>)`).ReplaceAllString(text, "$1$2")
		if got := strings.Count(markup, what); got != want {
			t.Errorf("%d times %s, want %d", got, what, want)
		}
	}
	if n := strings.Count(text, "</script"); n != 2 {
		t.Errorf("the script ends early: %d ends of scripts, want 2", n)
	}
	if regexp.MustCompile(`url\((?:["']?)(?:[^"'d]|d[^a])`).MatchString(strings.SplitN(text, "</style>", 2)[0]) {
		t.Error("the styles load something")
	}
	m := regexp.MustCompile(`(?s)id="case">\n([A-Za-z0-9+/=]+)\n</script>`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the data is not where it belongs")
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(m[1])))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != hostile {
		t.Errorf("the data is %q, %v", got, err)
	}
}
