package listen

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
)

// Bind says where to listen.
type Bind struct {
	Host         string
	Port         int
	BehindProxy  bool
	AllowedHosts []string
	// Prefix begins the environment variables that a refusal tells of, such as SERVICE_API.
	Prefix string
}

// BindError is a configuration that is refused. It is not a failure of the system.
type BindError struct{ Message string }

// Error implements error.
func (e *BindError) Error() string { return e.Message }

var exactName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$`)

// Resolve finds the address to listen on. It refuses everything that is not
// loopback, unless an authenticating proxy is said to stand in front.
func (b Bind) Resolve(ctx context.Context) (netip.AddrPort, error) {
	if b.Port < 0 || b.Port > 65535 {
		return netip.AddrPort{}, &BindError{fmt.Sprintf("port %d is not between 0 and 65535", b.Port)}
	}
	for _, name := range b.AllowedHosts {
		if _, err := netip.ParseAddr(name); err != nil && !exactName.MatchString(name) {
			return netip.AddrPort{}, &BindError{fmt.Sprintf("allowed host %q is not an exact name: write it without scheme, port and wildcard", name)}
		}
	}
	addrs, err := b.lookup(ctx)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for _, a := range addrs {
		if !a.Unmap().IsLoopback() && !(b.BehindProxy && len(b.AllowedHosts) > 0) {
			return netip.AddrPort{}, &BindError{fmt.Sprintf("refusing to listen on %s: the API has no authentication. "+
				"Put an authenticating proxy in front and set %s_BEHIND_PROXY=1 and %[2]s_ALLOWED_HOSTS=<its name>", b.Host, b.Prefix)}
		}
	}
	// Of a name with addresses of both kinds the older one: more programs try it.
	chosen := addrs[0].Unmap()
	for _, a := range addrs {
		if a.Unmap().Is4() {
			chosen = a.Unmap()
			break
		}
	}
	return netip.AddrPortFrom(chosen, uint16(b.Port)), nil
}

func (b Bind) lookup(ctx context.Context) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(b.Host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if !exactName.MatchString(b.Host) {
		return nil, &BindError{fmt.Sprintf("host %q is neither an address nor a name", b.Host)}
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", b.Host)
	if err != nil || len(addrs) == 0 {
		return nil, &BindError{fmt.Sprintf("host %q does not resolve to an address", b.Host)}
	}
	return addrs, nil
}

// network is tcp4 or tcp6: with tcp alone a wildcard address would cover both.
func network(a netip.AddrPort) string {
	if a.Addr().Is4() {
		return "tcp4"
	}
	return "tcp6"
}

// Open opens the listener with all limits.
func Open(ctx context.Context, addr netip.AddrPort, refuse Refuse) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, network(addr), addr.String())
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return Limit(ln, MaxConnections, refuse), nil
}

// URL is the address of a listener as people type it.
func URL(ln net.Listener) string {
	addr := ln.Addr().(*net.TCPAddr)
	return "http://" + net.JoinHostPort(addr.IP.String(), strconv.Itoa(addr.Port))
}
