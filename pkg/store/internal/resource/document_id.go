package resource

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
	"time"
)

// ids of documents: seconds, then what differs between processes, then a count: 24 hex digits
// that grow, so that rows made together stand together. The part of the process is random, so that servers need not agree on
// anything.
var (
	idProcess = func() (b [5]byte) { _, _ = rand.Read(b[:]); return }()
	idCount   atomic.Uint32
)

// NewDocumentID makes an id of 24 hex digits. Ids made later sort after those made before, within
// a process and 16 million a second. Of two processes' ids of one second either may sort first.
func NewDocumentID(now time.Time) string {
	var b [12]byte
	n := idCount.Add(1)
	binary.BigEndian.PutUint32(b[:], uint32(now.Unix())) // until the year 2106
	copy(b[4:], idProcess[:])
	b[9], b[10], b[11] = byte(n>>16), byte(n>>8), byte(n)
	return hex.EncodeToString(b[:])
}
