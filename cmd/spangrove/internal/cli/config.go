package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) config() *cobra.Command {
	return noun("config", "The settings of this program, and where they come from",
		a.configShow(), configSet(), configUnset(), newConfigPath())
}

func (a *app) configShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show",
		Short:   "Show each setting with where it came from",
		Example: "  spangrove config show\n  spangrove config show --output json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l := a.items([]column{{title: "setting", path: "name"}, {title: "value", path: "value"}, {title: "from", path: "from"}})
			for _, k := range known {
				s := a.settings[k.name]
				if k.name == settingKey {
					s.text = mask(s.text)
				}
				var b rawjson.Builder
				b.String("name", k.name)
				b.String("value", s.text)
				b.String("from", s.from)
				if err := l.add(b.Bytes()); err != nil {
					return err
				}
			}
			return l.end()
		},
	}
}

// settingArg reads the name of a setting.
func settingArg(name string) (check func(string) error, err error) {
	for _, k := range known {
		if k.name == name {
			return k.check, nil
		}
	}
	return nil, usage("unknown setting %q; must be one of %s", name, strings.Join(settingNames(), ", "))
}

func configSet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set NAME VALUE",
		Short: "Write a setting to the file that only you can read",
		Example: "  spangrove config set server https://grove.example.com\n" +
			"  spangrove config set api-key sg_0123456789abcdef\n" +
			"  pass show spangrove | spangrove config set api-key -",
		Long:        "The value - is read from standard input, so that a key does not stand in the shell's history.",
		Args:        arguments("NAME", "VALUE"),
		Annotations: noSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			check, err := settingArg(args[0])
			if err != nil {
				return err
			}
			value := args[1]
			if value == "-" {
				text, err := readFile(cmd, "-")
				if err != nil {
					return err
				}
				value = strings.TrimSpace(string(text))
			}
			if err := check(value); err != nil {
				return usage("%s: %s", args[0], err)
			}
			return changeConfig(cmd, func(f *configFile) string {
				f.set(args[0], value)
				return args[0] + " is set"
			})
		},
	}
	cmd.ValidArgsFunction = completeSetting
	return cmd
}

func configUnset() *cobra.Command {
	return &cobra.Command{
		Use:               "unset NAME",
		Short:             "Take a setting out of the file",
		Example:           "  spangrove config unset api-key",
		Args:              arguments("NAME"),
		Annotations:       noSettings,
		ValidArgsFunction: completeSetting,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := settingArg(args[0]); err != nil {
				return err
			}
			return changeConfig(cmd, func(f *configFile) string {
				if !f.unset(args[0]) {
					return args[0] + " was not set"
				}
				return args[0] + " is not set any more"
			})
		},
	}
}

func completeSetting(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return settingNames(), cobra.ShellCompDirectiveNoFileComp
}

// changeConfig changes the file and says what was done.
func changeConfig(cmd *cobra.Command, change func(*configFile) string) error {
	path, err := configPath()
	if err != nil {
		return err
	}
	file, err := readConfig(path)
	if err != nil {
		return err
	}
	done := change(file)
	if err := file.write(path); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s in %s\n", done, path)
	return nil
}

func newConfigPath() *cobra.Command {
	return &cobra.Command{
		Use:         "path",
		Short:       "Show where the file of settings is",
		Example:     "  spangrove config path",
		Args:        cobra.NoArgs,
		Annotations: noSettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := configPath()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
}
