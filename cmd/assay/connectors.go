package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/exchange"
	children "github.com/assay-run/assay/host/exchange/wire/launch"
	"github.com/assay-run/assay/host/proc"
	live "github.com/assay-run/assay/host/trade"
)

// connectors is what the operator says about executable connectors.
type connectors struct {
	dir       string
	given     []string // values of --connector-endpoint
	endpoints map[string]string
}

const (
	endpointFlag     = "connector-endpoint"
	endpointVariable = "SERVICE_CONNECTOR_ENDPOINTS"
)

func setConnectors(c *config, v string) error {
	if v == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("the folder of the executable is not known (%w): name one", err)
		}
		v = filepath.Join(filepath.Dir(self), "connectors")
	}
	abs, err := filepath.Abs(v)
	c.connectors.dir = abs
	return err
}

// complete reads the endpoints.
func (c *connectors) complete(w world) error {
	source := "--" + endpointFlag
	if v, ok := w.env(endpointVariable); ok && v != "" && len(c.given) == 0 {
		source = endpointVariable
		c.given = strings.Split(v, ",")
	}
	c.endpoints = map[string]string{}
	for _, one := range c.given {
		id, address, found := strings.Cut(strings.TrimSpace(one), "=")
		if !found || id == "" {
			return usagef("%s: %q is not id=url", source, one)
		}
		if _, twice := c.endpoints[id]; twice {
			return usagef("%s: %q is given twice", source, id)
		}
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || (u.Scheme != "http" && u.Scheme != "https"):
			return usagef("%s: %q has no base URL: write %s=https://host", source, one, id)
		case u.Scheme == "http" && !onLoopback(u.Hostname()):
			return usagef("%s: %q is plain http and not on loopback: use https", source, one)
		}
		c.endpoints[id] = strings.TrimRight(address, "/")
	}
	return nil
}

func onLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// openConnectors probes the folder and lists what is there.
func (s *service) openConnectors(ctx context.Context, cfg config) ([]live.Connector, error) {
	m, err := children.Open(ctx, children.Options{Dir: cfg.connectors.dir, StateDir: cfg.stateDir, Sandbox: cfg.sandbox, Logger: s.logger.Named("connectors")})
	if err != nil {
		return nil, fmt.Errorf("connectors: %w", err)
	}
	s.closers = append(s.closers, func() error { m.Close(); return nil })
	var list []live.Connector
	unknown := maps.Clone(cfg.connectors.endpoints)
	for _, c := range m.Connectors() {
		entry := live.Connector{Description: c.Description, Certified: exchange.Certified(c.Description), Endpoint: cfg.connectors.endpoints[c.ID]}
		entry.LoopbackEndpoint = endpointOnLoopback(entry.Endpoint)
		delete(unknown, c.ID)
		if c.Fault != nil {
			entry.Description = exchange.Description{ID: c.ID, Name: c.File, Kind: "native", DeadMan: "lease", ConfigSchema: exchange.ConfigSchema(nil)}
			entry.Fault, entry.Certified = &proc.Fault{Code: c.Fault.Code, Message: c.Fault.Message}, false
		}
		entry.Connect = func(ctx context.Context, folder string) (*exchange.Connection, error) {
			return connect(ctx, m, c.ID, folder)
		}
		list = append(list, entry)
	}
	for _, id := range slices.Sorted(maps.Keys(unknown)) {
		list = append(list, missingConnector(id, cfg.connectors.dir))
		s.logger.Warn("an endpoint is given for a connector that is not there: that exchange is not available",
			"option", "--"+endpointFlag, "connector", id, "folder", cfg.connectors.dir)
	}
	return list, nil
}

// missingConnector is listed as unavailable: whoever starts a run there is told why.
func missingConnector(id, dir string) live.Connector {
	return live.Connector{
		Description: exchange.Description{
			ID: id, Name: id, Kind: "native", DeadMan: "lease", ConfigSchema: exchange.ConfigSchema(nil),
		},
		Fault: &proc.Fault{
			Code: "missing", Message: "--" + endpointFlag + " names it, and there is no connector " + id + " in " + dir,
		},
	}
}

func endpointOnLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && onLoopback(u.Hostname())
}

// connect starts a process for one run, which may write to the folder. Who has it ends it with
// Release or Leave.
func connect(ctx context.Context, m *children.Manager, id, folder string) (*exchange.Connection, error) {
	p, err := m.Launch(ctx, id, children.LaunchOptions{Writable: folder})
	if err != nil {
		return nil, err
	}
	conn := p.Connection()
	conn.Gone, conn.Release, conn.Leave, conn.Sandbox = p.Crashed(), p.End, p.Leave, p.Sandbox().String()
	return &conn, nil
}
