package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// helpTemplate shows examples before everything else.
const helpTemplate = `{{.Short}}.
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{with .Long}}
{{. | trimTrailingWhitespaces}}
{{end}}
{{.UsageString}}`

// usageTemplate is cobra's without its examples, which helpTemplate has.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}
{{- if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Verbs:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{else}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
{{- if and .HasAvailableInheritedFlags (ne .GroupID "server")}}

Flags of all nouns:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
`

func shapeHelp(root *cobra.Command) {
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%s; see %s --help", err, cmd.CommandPath())
	})
}

// completes lets the shell complete what a flag takes.
func completes(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(
		flag,
		cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp),
	) // fails only if there is no such flag
}

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIRECTORY",
		Short:   "Write man pages",
		Example: "  spangrove man /usr/local/share/man/man1",
		Hidden:  true,
		Args:    arguments("DIRECTORY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("man pages: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // the day of the build must not be part of a page
			return doc.GenManTree(root, &doc.GenManHeader{Title: "SPANGROVE", Section: "1", Source: "Spangrove", Manual: "Spangrove"}, args[0])
		},
	}
}
