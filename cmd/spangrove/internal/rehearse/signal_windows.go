package rehearse

import "os"

// interruptKills says that a server ends with an error: Windows has no signal that one process could send to another. The store survives it.
const interruptKills = true

func interrupt(p *os.Process) error { return p.Kill() }
