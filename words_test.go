package spangrove

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// replacedWords are words that the code used to have for things that have an ordinary name. No identifier
// has them as one of its words, and no comment.
var replacedWords = map[string]string{
	"lane": "writer", "lanes": "writers",
	"skeleton": "session tree", "skeletons": "tree cache",
	"reshape": "tree fixer", "reshaped": "changed session",
	"twin": "duplicate", "twins": "duplicates",
	"sieve":      "partial decoder",
	"gentleness": "backoff factor",
	"unasked":    "skipped",
	"unseat":     "clear",
	"lineage":    "OTLP fields",
}

// replacedInStore are those that are ordinary words elsewhere.
var replacedInStore = map[string]string{
	"catalogue": "field index",
	"tally":     "event counts", "tallied": "counted",
}

// replacedPhrases are turns of phrase that a reader takes twice, in comments and in messages.
var replacedPhrases = map[string]string{
	`\bis none of\b`:                  "must be one of",
	`\bare more than \d`:              "at most …",
	`\bthere is (a|an) \w+ already\b`: "… already exists",
	`\bnobody (has )?started\b`:       "implicit",
}

// TestWords refuses words that were replaced (docs/GLOSSARY.md has those that stay).
func TestWords(t *testing.T) {
	t.Parallel()
	var phrases []*regexp.Regexp
	for p := range replacedPhrases {
		phrases = append(phrases, regexp.MustCompile(p))
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || path == "words_test.go" {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		word := func(pos token.Pos, text string) {
			for _, w := range wordsOf(text) {
				now := replacedWords[w]
				if now == "" && strings.HasPrefix(path, "pkg/store/") {
					now = replacedInStore[w]
				}
				if now != "" {
					t.Errorf("%s: %q: the word is %q", set.Position(pos), w, now)
				}
			}
		}
		phrase := func(pos token.Pos, text string) {
			for _, p := range phrases {
				if found := p.FindString(text); found != "" {
					t.Errorf("%s: %q: say %q", set.Position(pos), found, replacedPhrases[p.String()])
				}
			}
		}
		for _, group := range file.Comments {
			word(group.Pos(), group.Text())
			phrase(group.Pos(), strings.Join(strings.Fields(group.Text()), " "))
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				word(n.Pos(), n.Name)
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					phrase(n.Pos(), n.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wordsOf returns the words of a text or an identifier in lower case: laneOf is lane and of.
func wordsOf(text string) (words []string) {
	begin := 0
	end := func(i int) {
		if i > begin {
			words = append(words, strings.ToLower(text[begin:i]))
		}
	}
	before := ' '
	for i, r := range text {
		switch {
		case !unicode.IsLetter(r):
			end(i)
			begin = i + 1
		case unicode.IsUpper(r) && unicode.IsLower(before):
			end(i)
			begin = i
		}
		before = r
	}
	end(len(text))
	return words
}
