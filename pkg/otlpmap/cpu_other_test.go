//go:build !unix

package otlpmap

import "time"

// cpuTime is not told here.
func cpuTime() time.Duration { return 0 }
