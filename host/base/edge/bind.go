package edge

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bind is where to listen.
type Bind struct {
	Host         string
	Port         int
	BehindProxy  bool
	AllowedHosts []string
	// Prefix begins the environment variables that a refusal names, such as SERVICE_API.
	Prefix string
}

// BindError is a configuration that is refused. It is not a failure of the system.
type BindError struct{ Message string }

// Error implements error.
func (e *BindError) Error() string { return e.Message }

var exactName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$`)

// Resolve finds the address to listen on. It refuses everything that is not
// loopback, unless the configuration names an authenticating proxy in front.
func (b Bind) Resolve(ctx context.Context) (netip.AddrPort, error) {
	if b.Port < 0 || b.Port > 65535 {
		return netip.AddrPort{}, &BindError{fmt.Sprintf("port %d is not between 0 and 65535", b.Port)}
	}
	for _, name := range b.AllowedHosts {
		if _, err := netip.ParseAddr(name); err != nil && !exactName.MatchString(name) {
			return netip.AddrPort{},
				&BindError{fmt.Sprintf(
					"allowed host %q is not an exact name: write it without scheme, port and wildcard", name)}
		}
	}
	addrs, err := b.lookup(ctx)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for _, a := range addrs {
		if !a.Unmap().IsLoopback() && !(b.BehindProxy && len(b.AllowedHosts) > 0) {
			return netip.AddrPort{},
				&BindError{fmt.Sprintf("refusing to listen on %s: the API has no authentication. "+
					"Put an authenticating proxy in front and set %s_BEHIND_PROXY=1 and "+
					"%[2]s_ALLOWED_HOSTS=<its name>", b.Host, b.Prefix)}
		}
	}
	// Of a name with addresses of both kinds the older one: more programs try it.
	i := max(0, slices.IndexFunc(addrs, func(a netip.Addr) bool { return a.Unmap().Is4() }))
	return netip.AddrPortFrom(addrs[i].Unmap(), uint16(b.Port)), nil
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

// URL returns the address of a listener as people type it.
func URL(ln net.Listener) string {
	addr := ln.Addr().(*net.TCPAddr)
	return "http://" + net.JoinHostPort(addr.IP.String(), strconv.Itoa(addr.Port))
}

// Hosts is the list of names that a Host header may carry. It is what stops DNS
// rebinding: a page of a foreign name that resolves to loopback sends that name.
type Hosts map[string]bool

// NewHosts allows the given names and addresses besides localhost, *.localhost and
// loopback literals.
func NewHosts(names ...string) Hosts {
	h := Hosts{}
	for _, n := range names {
		h[normalName(n)] = true
	}
	return h
}

var hostLabels = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// Allows reports whether the value of a Host header is one of ours. The port does not
// matter, but it must be one.
func (h Hosts) Allows(host string) bool {
	name, ok := hostName(host)
	if !ok {
		return false
	}
	if h[name] {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Zone() == "" && ip.Unmap().IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") && hostLabels.MatchString(name)
}

// hostName returns the normalised name of a Host header: lower case, without port,
// brackets and one trailing dot.
func hostName(host string) (string, bool) {
	name, port := host, ""
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return "", false
		}
		name, port = host[1:end], host[end+1:]
		if ip, err := netip.ParseAddr(name); err != nil || !ip.Is6() {
			return "", false
		}
	} else if i := strings.IndexByte(host, ':'); i >= 0 {
		name, port = host[:i], host[i:]
	}
	if port != "" && (port[0] != ':' || strings.Trim(port[1:], "0123456789") != "" || len(port) > 6) {
		return "", false
	}
	name = normalName(name)
	return name, name != ""
}

func normalName(name string) string {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.String()
	}
	return name
}
