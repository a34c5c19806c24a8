package seal

import (
	"bytes"
	"strings"
	"testing"
)

func TestBox(t *testing.T) {
	t.Parallel()
	secret := []byte(strings.Repeat("s", MinSecret))
	if _, err := New(secret[1:], "p"); err == nil {
		t.Error("a short secret is taken")
	}
	box := func(secret []byte, purpose string) *Box {
		b, err := New(secret, purpose)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := box(secret, "p")
	sealed := b.Seal("the text", []byte("1"))
	if text, ok := b.Open(sealed, []byte("1")); !ok || text != "the text" {
		t.Errorf("opened: %q, %v", text, ok)
	}
	if again := b.Seal("the text", []byte("1")); bytes.Equal(again, sealed) || bytes.Contains(again, []byte("the text")) {
		t.Error("the same text is sealed to the same bytes, or can be read")
	}
	for name, open := range map[string]func() (string, bool){
		"another binding": func() (string, bool) { return b.Open(sealed, []byte("2")) },
		"another purpose": func() (string, bool) { return box(secret, "q").Open(sealed, []byte("1")) },
		"another secret":  func() (string, bool) { return box(bytes.Repeat([]byte("t"), 40), "p").Open(sealed, []byte("1")) },
		"cut":             func() (string, bool) { return b.Open(sealed[:5], []byte("1")) },
		"changed": func() (string, bool) {
			return b.Open(append(bytes.Clone(sealed[:len(sealed)-1]), sealed[len(sealed)-1]^1), []byte("1"))
		},
		"nothing": func() (string, bool) { return b.Open(nil, nil) },
	} {
		if text, ok := open(); ok || text != "" {
			t.Errorf("%s opens: %q", name, text)
		}
	}
}
