// Package egress is how the server calls addresses that its users chose: endpoints of models, and receivers of notices. They must not
// lead into the network in which the server stands.
//
// A Guard judges each address that a name has resolved to at the moment of the connection. To judge the name before the call would
// not do: it may resolve to another address a moment later (DNS rebinding).
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

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

// Public reports whether an address is on the public Internet. An IPv4 address inside an IPv6 one (::ffff:10.0.0.1) is
// judged as what it is.
func Public(a netip.Addr) bool {
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

// Networks reads networks, and addresses as networks of one. An element may name several with commas between them, or none.
func Networks(list []string) (out []netip.Prefix, err error) {
	for _, s := range Elements(list) {
		n, err := netip.ParsePrefix(s)
		if a, addrErr := netip.ParseAddr(s); err != nil && addrErr == nil {
			a = a.Unmap()
			n, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither a network such as 10.0.0.0/8 nor an address such as 127.0.0.1", s)
		}
		out = append(out, n.Masked())
	}
	return out, nil
}

// Elements returns the elements of a setting that lists who or what is allowed, in each of which several may stand with commas between them, or
// none: that of a variable of the environment that is not set.
func Elements(list []string) (out []string) {
	for _, element := range list {
		for s := range strings.SplitSeq(element, ",") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// Guard lets connections through to public addresses, if they are encrypted, and to those that the operator allows.
type Guard struct{ Allowed []netip.Prefix }

// ErrAddress is the cause of all refusals to connect.
var ErrAddress = errors.New("address refused")

// Control judges the address of a connection that is about to be made. A net.Dialer calls it for each address that it
// tries. Errors are ErrAddress.
func (g Guard) Control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address", ErrAddress, address)
	}
	a := ap.Addr().Unmap().WithZone("")
	if within(g.Allowed, a) {
		return nil
	}
	if !Public(a) {
		return fmt.Errorf("%w: the address %s is not public, and not in allow_addresses", ErrAddress, a)
	}
	if ctx.Value(plain{}) != nil {
		return fmt.Errorf("%w: http:// to the public address %s would show the key and the data to others; use https://", ErrAddress, a)
	}
	return nil
}

// plain marks the context of a request without TLS.
type plain struct{}

// Transport returns a transport whose connections the guard judges. It uses no proxy of the environment, which would connect in its
// stead. Requests must go through Mark.
func (g Guard) Transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, ControlContext: g.Control}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// Mark returns the request as a guarded transport takes it: the guard is told whether it goes without TLS.
func Mark(r *http.Request) *http.Request {
	if r.URL.Scheme != "https" {
		return r.WithContext(context.WithValue(r.Context(), plain{}, true))
	}
	return r
}

// Check returns why an otherwise valid address can never be called, as a fault.Invalid without a field. Nothing is resolved: what a
// name leads to is judged when it is called, and nobody is told. how tells operators which setting allows more.
func (g Guard) Check(address, how string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil // others say what is wrong
	}
	literal, ok := Literal(u.Hostname())
	switch {
	case ok && within(g.Allowed, literal):
		return nil
	case ok && !Public(literal):
		return fault.New(fault.Invalid, "%s is not on the public Internet; %s", u.Hostname(), how)
	case u.Scheme == "https":
		return nil
	case ok || len(g.Allowed) == 0:
		return fault.New(fault.Invalid, "must begin with https://; http:// is for addresses that the operator allows only: %s", how)
	}
	return nil
}

// Literal returns the address that a host is without asking anybody.
func Literal(host string) (netip.Addr, bool) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	a, err := netip.ParseAddr(host)
	return a.Unmap().WithZone(""), err == nil
}

// Unreachable reports whether an error of a call came before there was a connection: that a name leads
// nowhere, or to an address that is not allowed, or that nobody is there. Callers are not told which
// of them, since that would show them a network that they are not in.
func Unreachable(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	return errors.Is(err, ErrAddress) || errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
}

// BrokeOff reports whether a connection broke.
func BrokeOff(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}
