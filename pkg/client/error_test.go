package client

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// FuzzStatusMessage reads any bytes for a google.rpc.Status: nothing panics.
func FuzzStatusMessage(f *testing.F) {
	whole := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	whole = protowire.AppendString(protowire.AppendTag(whole, 2, protowire.BytesType), "bad span")
	if got := string(statusMessage(whole)); got != "bad span" {
		f.Fatalf("the message is %q", got)
	}
	for i := range whole {
		f.Add(whole[:i])
	}
	f.Add([]byte{0x12, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := statusMessage(text); len(got) > len(text) {
			t.Errorf("%d bytes of %d", len(got), len(text))
		}
	})
}
