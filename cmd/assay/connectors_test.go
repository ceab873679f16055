package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestConnectorEndpoints(t *testing.T) {
	read := func(args []string, env ...string) (config, error) {
		c, _, err := readConfig(args, world{env: variables(env...), out: io.Discard, err: io.Discard})
		return c, err
	}
	c, err := read([]string{"--connectors", "/somewhere", "--connector-endpoint", "binance=http://127.0.0.1:5/", "--connector-endpoint", "b=https://x.example/base"})
	if err != nil || c.connectors.dir != "/somewhere" || c.connectors.endpoints["binance"] != "http://127.0.0.1:5" || c.connectors.endpoints["b"] != "https://x.example/base" {
		t.Fatalf("%+v %v", c.connectors, err)
	}
	if c, err = read(nil, "SERVICE_CONNECTOR_ENDPOINTS=binance=http://[::1]:5, b=http://localhost:6"); err != nil || len(c.connectors.endpoints) != 2 {
		t.Fatalf("%+v %v", c.connectors, err)
	}
	if !strings.HasSuffix(c.connectors.dir, "/connectors") {
		t.Errorf("the default folder is %s", c.connectors.dir)
	}
	for _, bad := range []string{"binance", "=http://127.0.0.1", "b=", "b=http://10.0.0.1", "b=http://api.example", "b=ftp://x", "b=https://user:pw@x", "b=https://x?y", "b=127.0.0.1:5"} {
		var usage *usageError
		if _, err := read([]string{"--connector-endpoint", bad}); !errors.As(err, &usage) ||
			!strings.HasPrefix(err.Error(), "--connector-endpoint") {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := read(nil, "SERVICE_CONNECTOR_ENDPOINTS="+bad); !errors.As(err, &usage) ||
			!strings.HasPrefix(err.Error(), "SERVICE_CONNECTOR_ENDPOINTS") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := read([]string{"--connector-endpoint", "b=https://x", "--connector-endpoint", "b=https://y"}); err == nil {
		t.Error("an endpoint given twice")
	}
}
