package harness

import "testing"

// Servers that tests start at the same time, or again after a kill, never meet on a port.
func TestFreeAddrIsGivenOnce(t *testing.T) {
	given := map[string]bool{}
	for range 500 {
		addr := FreeAddr(t)
		if given[addr] {
			t.Fatalf("%s was given twice", addr)
		}
		given[addr] = true
	}
}
