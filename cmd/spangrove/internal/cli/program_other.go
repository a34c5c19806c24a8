//go:build !unix

package cli

import "os/exec"

// inGroup does nothing where there are no process groups: the command itself ends with its context.
func inGroup(*exec.Cmd) {}

func endGroup(int) {}
