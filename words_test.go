package spangrove

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
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

// replacedInSQL are names that tables and columns used to have.
var replacedInSQL = map[string]string{
	"ev": "event", "tally": "event_count", "note": "log_part", "catalogue": "field_index", "stored": "stored_bytes",
	"arrival": "outbox", "arrival_later": "outbox_delayed", "revision": "document_version", "id_day": "id_filter_day", "id_far": "far_event",
	"sid": "session_rowid", "made": "implicit", "touched": "version", "born": "initial_version", "lane": "writer", "marks": "cursors",
	"n_model": "num_model_events", "n_error": "num_errors", "n_feedback": "num_feedback", "n_cost": "num_costs", "n_call": "num_calls",
	"off": "chunk_offset", "rev": "version", "twin": "duplicate_key", "z": "data", "former": "former_session_id",
}

var (
	// isSQL matches the strings that are statements, or beginnings and ends of such.
	isSQL = regexp.MustCompile(`\b(SELECT|INSERT INTO|DELETE FROM|FROM [a-z_]+|UPDATE [a-z_]+ SET|WHERE|JOIN|RETURNING|ON CONFLICT|ORDER BY)\b|= \$\d`)
	// sqlName matches the names in a statement, and its texts: these are no names.
	sqlName = regexp.MustCompile(`'[^']*'|\b[a-z_]+\b`)
)

// oldNames returns the names in a statement that were replaced.
func oldNames(statement string) (old []string) {
	for _, name := range sqlName.FindAllString(statement, -1) {
		if replacedInSQL[name] != "" {
			old = append(old, name)
		}
	}
	return old
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
		if err != nil || d.IsDir() || path == "words_test.go" {
			return err
		}
		if filepath.Ext(path) == ".sql" {
			return checkSQLFile(t, path)
		}
		if filepath.Ext(path) != ".go" {
			return nil
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
				if n.Kind != token.STRING {
					break
				}
				phrase(n.Pos(), n.Value)
				if strings.HasPrefix(path, "pkg/") && isSQL.MatchString(n.Value) {
					for _, name := range oldNames(n.Value) {
						t.Errorf("%s: %q: the name is %q", set.Position(n.Pos()), name, replacedInSQL[name])
					}
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

// checkSQLFile refuses names that were replaced in the statements of a file, and words in its comments.
func checkSQLFile(t *testing.T, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(text), "\n") {
		statement, comment, _ := strings.Cut(line, "--")
		for _, name := range oldNames(statement) {
			t.Errorf("%s:%d: %q: the name is %q", path, i+1, name, replacedInSQL[name])
		}
		for _, w := range wordsOf(comment) {
			now := replacedWords[w]
			if now == "" && strings.HasPrefix(path, "pkg/store/") {
				now = replacedInStore[w]
			}
			if now != "" {
				t.Errorf("%s:%d: %q: the word is %q", path, i+1, w, now)
			}
		}
	}
	return nil
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
