package llm

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
)

// A project's provider has a base URL that its administrator chose, and the server calls it: it must not lead into the
// network in which the server stands. This file tells the addresses of the public Internet from all others; outbound.go
// asks it for each address that a name resolves to, before it connects.

// special4 are the IPv4 networks that are no part of the public Internet, or that lead back into
// others, in addition to those that package netip knows: IANA's registry of special-purpose addresses, and the
// one public address at which a cloud serves its own machines.
var special4 = networks("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
	"192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32")

// global6 is all of IPv6 that is given out for the public Internet; special6 are those parts of it that
// are not, or that hold IPv4 addresses.
var (
	global6  = netip.MustParsePrefix("2000::/3")
	special6 = networks("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)

// networks returns networks that are written down here; it panics at one that is wrong.
func networks(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// public reports whether an address is on the public Internet. An IPv4 address inside an IPv6 one (::ffff:10.0.0.1) is
// judged as what it is.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.IsGlobalUnicast() && !a.IsPrivate() && !within(special4, a)
	}
	return global6.Contains(a) && !within(special6, a)
}

// within reports whether an address is in one of the networks.
func within(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(n netip.Prefix) bool { return n.Contains(a) })
}

// howToAllow tells operators which setting lets judges ask models elsewhere.
const howToAllow = "the operator of this server must allow it: " +
	"allow_addresses of spangrove_evaluate::llm, or SPANGROVE_ALLOW_MODEL_ADDRESSES"

// CheckAddress returns why an otherwise valid base URL of a provider can never be asked,
// as a fault.Invalid. Nothing is resolved: what a name leads to is judged when it is asked, and nobody
// is told.
func (e *Engine) CheckAddress(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil // others say what is wrong
	}
	literal, ok := literalOf(u.Hostname())
	switch {
	case ok && within(e.outbound.allowed, literal):
		return nil
	case ok && !public(literal):
		return fault.InvalidField("base_url", "%s is not on the public Internet; %s", u.Hostname(), howToAllow)
	case u.Scheme == "https":
		return nil
	case ok || len(e.outbound.allowed) == 0:
		return fault.InvalidField("base_url", "must begin with https://; http:// is for addresses that the operator allows only: %s",
			howToAllow)
	}
	return nil
}

// literalOf returns the address that a host is without asking anybody.
func literalOf(host string) (netip.Addr, bool) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	a, err := netip.ParseAddr(host)
	return a.Unmap().WithZone(""), err == nil
}

// unreachable reports whether an error of a call came before there was a connection: that a name leads
// nowhere, or to an address that is not allowed, or that nobody is there. Callers are not told which
// of them, since that would show them a network that they are not in.
func unreachable(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	return errors.Is(err, errAddress) || errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
}

// brokeOff reports whether a connection broke.
func brokeOff(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}
