package listen

import (
	"net/netip"
	"regexp"
	"strings"
)

// Hosts is the list of names that a Host header may carry. It is what stops DNS
// rebinding: a page of a foreign name that resolves to loopback sends that name.
type Hosts struct {
	names map[string]bool
}

// NewHosts allows the given names and addresses besides localhost, *.localhost and
// loopback literals.
func NewHosts(names ...string) Hosts {
	h := Hosts{names: map[string]bool{}}
	for _, n := range names {
		h.names[normalName(n)] = true
	}
	return h
}

var hostLabels = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// Allows says whether the value of a Host header is one of ours. The port does not
// matter, but it must be one.
func (h Hosts) Allows(host string) bool {
	name, ok := hostName(host)
	if !ok {
		return false
	}
	if h.names[name] {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Zone() == "" && ip.Unmap().IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") && hostLabels.MatchString(name)
}

// hostName is the normalised name of a Host header: lower case, without port,
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
