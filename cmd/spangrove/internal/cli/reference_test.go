package cli

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the reference in docs/cli.md")

// TestReference holds the second half of docs/cli.md and the commands together.
func TestReference(t *testing.T) {
	const page, begin = "../../../../docs/cli.md", "## Reference\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	written, got, ok := strings.Cut(string(text), begin)
	if !ok {
		t.Fatalf("%s has no %q", page, begin)
	}
	root := &cobra.Command{Use: "spangrove"}
	Add(root, nil)
	want := reference(root)
	if *update {
		if err := os.WriteFile(page, []byte(written+begin+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run go test ./cmd/spangrove/internal/cli -run TestReference -update (-want +got):\n%s", diff)
	}
}

func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("\nOptions of all nouns:\n\n" + flags(root.PersistentFlags()))
	for _, noun := range root.Commands() {
		if noun.Hidden || noun.GroupID == "" {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n", noun.Name(), noun.Short)
		verbs := noun.Commands()
		if len(verbs) == 0 { // it is one itself
			verbs = []*cobra.Command{noun}
		}
		for _, verb := range verbs {
			fmt.Fprintf(&b, "\n**`%s`** %s.", strings.TrimSuffix(verb.UseLine(), " [flags]"), verb.Short)
			if verb.Long != "" {
				b.WriteString(" " + verb.Long)
			}
			b.WriteString("\n\n")
			for line := range strings.Lines(verb.Example) {
				b.WriteString("    " + strings.TrimPrefix(line, "  "))
			}
			b.WriteString("\n")
			if verb.LocalNonPersistentFlags().HasAvailableFlags() {
				b.WriteString("\n" + flags(verb.LocalNonPersistentFlags()))
			}
		}
	}
	return b.String()
}

func flags(set *pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("| flag | meaning |\n|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		name, usage := pflag.UnquoteUsage(f)
		if f.Name == "help" {
			return
		}
		flag := "--" + f.Name
		if f.Shorthand != "" {
			flag = "-" + f.Shorthand + ", " + flag
		}
		if name != "" {
			flag += " " + name
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", flag, strings.ReplaceAll(usage, "|", "\\|"))
	})
	return b.String()
}
