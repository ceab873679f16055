package edge

import (
	"net/netip"
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	h := NewHosts("Proxy.Example.", "10.0.0.7", "FE80::1")
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost:8000": true, "localhost.": true, "localhost.:1": true,
		"localhost..": false, "a.localhost": true,
		"a.b.localhost:80": true, ".localhost": false, "a..localhost": false, "xlocalhost": false,
		"localhost.evil": false,
		"127.0.0.1":      true, "127.255.0.1:9": true, "127.0.0.1.": true, "127.1": false,
		"2130706433": false, "0.0.0.0": false, "0x7f.0.0.1": false,
		"[::1]": true, "[::1]:8000": true, "::1": false, "[::1": false, "[::1]x": false,
		"[0:0:0:0:0:0:0:1]": true, "[::ffff:127.0.0.1]": true,
		"[::1%25lo]": false, "[localhost]": false, "[127.0.0.1]": false, "[::2]": false,
		"proxy.example": true, "PROXY.EXAMPLE:443": true, "a.proxy.example": false, "10.0.0.7:1": true,
		"10.0.0.8": false, "[fe80::1]": true,
		"": false, ":8000": false, "localhost:": true, "localhost:x": false, "localhost:-1": false,
		"localhost:123456": false,
		"user@localhost":   false, "localhost/x": false, "localhost#": false, "evil.example": false,
		"ａ.localhost": false,
	} {
		if got := h.Allows(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

// FuzzHost: whatever is allowed is one of the few forms there are, and case, port
// and one trailing dot make no difference.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"localhost", "a.localhost:1", "127.0.0.1", "[::1]:8000", "evil.example", "[",
		"]:", "127.0.0.1.evil"} {
		f.Add(s)
	}
	h := NewHosts()
	f.Fuzz(func(t *testing.T, host string) {
		if !h.Allows(host) {
			return
		}
		if !h.Allows(strings.ToUpper(host)) {
			t.Fatalf("%q is allowed, but not in upper case", host)
		}
		name, _ := hostName(host)
		ip, err := netip.ParseAddr(name)
		if err == nil && ip.Unmap().IsLoopback() || name == "localhost" ||
			strings.HasSuffix(name, ".localhost") {
			return
		}
		t.Fatalf("%q is allowed", host)
	})
}

func TestBind(t *testing.T) {
	proxy := []string{"assay.example"}
	for _, c := range []struct {
		bind Bind
		want string // address, or part of the refusal
	}{
		{Bind{Host: "127.0.0.1", Port: 8000}, "127.0.0.1:8000"},
		{Bind{Host: "127.9.9.9", Port: 0}, "127.9.9.9:0"},
		{Bind{Host: "::1", Port: 1}, "[::1]:1"},
		{Bind{Host: "0.0.0.0", Port: 1}, "refusing to listen on 0.0.0.0: the API has no authentication."},
		{Bind{Host: "::", Port: 1}, "refusing to listen on ::"},
		{Bind{Host: "192.0.2.1", Port: 1, BehindProxy: true}, "refusing"},
		{Bind{Host: "192.0.2.1", Port: 1, AllowedHosts: proxy}, "refusing"},
		{Bind{Host: "192.0.2.1", Port: 1, BehindProxy: true, AllowedHosts: proxy}, "192.0.2.1:1"},
		{Bind{Host: "0.0.0.0", Port: 1, BehindProxy: true, AllowedHosts: proxy}, "0.0.0.0:1"},
		{Bind{Host: "127.0.0.1", Port: 70000}, "port 70000"},
		{Bind{Host: "127.0.0.1", AllowedHosts: []string{"a:80"}}, "exact name"},
		{Bind{Host: "http://x"}, "neither an address nor a name"},
	} {
		got, err := c.bind.Resolve(t.Context())
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c.bind, err)
			}
			continue
		}
		if got.String() != c.want {
			t.Errorf("%+v: %s", c.bind, got)
		}
	}
	if addr, err := (Bind{Host: "localhost"}).Resolve(t.Context()); err != nil || !addr.Addr().IsLoopback() {
		t.Errorf("localhost: %v %v", addr, err)
	}
}
