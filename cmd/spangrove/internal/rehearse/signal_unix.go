//go:build !windows

package rehearse

import (
	"os"
	"syscall"
)

const interruptKills = false

func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
