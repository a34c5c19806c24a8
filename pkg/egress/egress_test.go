package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"8.8.8.8": true, "104.18.6.192": true, "2606:4700::6812:6c0": true, "172.32.0.1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false,
		"224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false, "240.0.0.1": false,
		"::": false, "::1": false, "fe80::1": false, "fc00::1": false, "fd12::1": false, "ff02::1": false, "::ffff:127.0.0.1": false, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::7f00:1": false, "::ffff:0:8.8.8.8": false, "4000::1": false, "1000::1": false, "2620:4f:8000::1": false, "3fff::1": false,
		"192.31.196.1": false, "192.52.193.1": false, "192.175.48.1": false, "192.0.0.9": false, "168.63.129.16": false, "2a00:1450:4001:82a::200e": true, "2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false, "fec0::1": false,
	} {
		if got := Public(netip.MustParseAddr(s).Unmap()); got != want {
			t.Errorf("%s is public: %t", s, got)
		}
	}
}

// TestRebinding judges what a name has resolved to, each time that a connection is made.
func TestRebinding(t *testing.T) {
	t.Parallel()
	var g Guard
	for address, want := range map[string]string{
		"93.184.215.14:443": "", "127.0.0.1:443": "is not public", "[::1]:443": "is not public", "169.254.169.254:80": "is not public",
		"[fe80::1%eth0]:443": "is not public", "[::ffff:10.0.0.1]:443": "is not public", "no address": "is not an address",
	} {
		err := g.Control(t.Context(), "tcp", address, nil)
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}
