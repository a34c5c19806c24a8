//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// inGroup makes the command the first of a process group, all of which ends when its context does.
// Ctrl-C in the terminal reaches this program only, which ends the group then.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endGroup ends what a command has left running.
func endGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // mostly there is nothing
}
