package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
)

// LocalServer is a server in this process.
type LocalServer struct {
	URL, Key string
	Stop     func() error // returns when all is on disk and the folder is let go
}

// StartLocal starts a server in this process that keeps its data in dir, which exists. It listens on loopback alone, and logs on
// standard error what is at least of that level.
type StartLocal func(ctx context.Context, dir, logLevel string) (*LocalServer, error)

// optionLocal is the option by which a command starts a server of its own.
const optionLocal = "local"

// localChoice are the flags of commands that can do without a server.
type localChoice struct {
	local bool
	data  string
}

func (c *localChoice) flags(cmd *cobra.Command) {
	cmd.Flags().Var((*localFlag)(c), optionLocal, "with a server of its own, which ends with the command, instead of one that runs; a folder behind it is that of --data")
	cmd.Flags().Lookup(optionLocal).NoOptDefVal = "true"
	cmd.Flags().StringVar(&c.data, "data", "", "with --local, `DIR` of that server's data, which stays (default a temporary one, which is removed)")
	_ = cmd.MarkFlagDirname("data") // fails only if there is no such flag
}

// localFlag is the flag --local, which may have the folder of --data behind an equals sign.
type localFlag localChoice

func (f *localFlag) String() string { return strconv.FormatBool(f.local) }
func (f *localFlag) Type() string   { return "bool" }

func (f *localFlag) Set(text string) error {
	local, err := strconv.ParseBool(text)
	if f.local = local || err != nil; err != nil {
		f.data = text
	}
	return nil
}

// arguments takes one argument with --local as the folder of --data: what stands behind the flag without an equals sign is an argument.
func (c *localChoice) arguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	const names = "--dataset names the dataset, --data the folder of --local"
	extra := args[len(args)-1]
	if info, err := os.Stat(args[0]); !c.local || len(args) > 1 || c.data != "" || err == nil && !info.IsDir() {
		return usage("%q is one argument too many: %s", extra, names)
	}
	c.data = args[0]
	if c.data == "" {
		return usage("an argument is empty: %s", names)
	}
	return nil
}

// wanted reports whether the command is to start a server of its own.
func (c *localChoice) wanted(cmd *cobra.Command) (bool, error) {
	if !c.local {
		if cmd.Flags().Changed("data") {
			return false, usage("--data is of --local")
		}
		return false, nil
	}
	if cmd.Flags().Changed("data") && c.data == "" {
		return false, usage("--data is empty: a folder, or leave it out")
	}
	for _, option := range []string{settingServer, settingKey, optionKeyFile} {
		if f := cmd.Flags().Lookup(option); f != nil && f.Changed {
			return false, usage("--local and --%s do not go together", option)
		}
	}
	return true, nil
}

// startLocal starts the command's own server and makes it the one that is asked. What goes wrong when stop ends it is only remarked: the
// command's own outcome matters more.
func (a *app) startLocal(ctx context.Context, c localChoice) (stop func(), err error) {
	dir := c.data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "spangrove-local-"); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(dir, 0o700); err != nil { // prompts and answers are nobody else's
		return nil, usage("--data %s: %s", dir, cause(err))
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	remove := func() {
		if c.data != "" {
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			a.remark("remove %s: %s", dir, cause(err))
		}
	}
	level := "error"
	if a.options.verbose {
		level = "info"
	}
	s, err := a.start(ctx, dir, level)
	if err != nil {
		remove()
		return nil, err
	}
	where := fmt.Sprintf("the server of --local in %s", dir)
	a.settings[settingServer] = setting{s.URL, where}
	a.settings[settingKey] = setting{s.Key, where}
	stop = func() {
		if a.api != nil {
			a.api.CloseIdleConnections()
		}
		if err := s.Stop(); err != nil {
			a.remark("%s: %s", where, clean(err.Error()))
		}
		remove()
	}
	if err := a.connect(); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}
