package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// ReattachEnv is the variable that names strategies under a debugger. Programs
// pass its value in Options.Reattach.
const ReattachEnv = "ASSAY_REATTACH_STRATEGIES"

// underDebugger is why an attached strategy has no sandbox.
const underDebugger = "the strategy runs under a debugger (" + ReattachEnv + ")"

// reattachment is where one strategy under a debugger listens.
type reattachment struct {
	Protocol        string
	ProtocolVersion int
	Pid             int
	Test            bool
	Addr            struct{ Network, String string }

	name string
}

// parseReattach reads the variable; the result is sorted by name.
func parseReattach(value string) ([]reattachment, error) {
	if value == "" {
		return nil, nil
	}
	var byName map[string]reattachment
	if err := json.Unmarshal([]byte(value), &byName); err != nil {
		return nil, fmt.Errorf("%s: not a JSON object from names to addresses: %w", ReattachEnv, err)
	}
	list := make([]reattachment, 0, len(byName))
	for name, r := range byName {
		r.name = name
		switch {
		case !ValidName(name):
			return nil, fmt.Errorf("%s: %q is not a strategy's name", ReattachEnv, name)
		case r.Protocol != "grpc":
			return nil, fmt.Errorf("%s: %s: Protocol must be \"grpc\"", ReattachEnv, name)
		case r.ProtocolVersion != wire.ProtocolVersion:
			return nil, fmt.Errorf("%s: %s: ProtocolVersion must be %d", ReattachEnv, name,
				wire.ProtocolVersion)
		case r.Addr.Network != "unix" && r.Addr.Network != "tcp":
			return nil, fmt.Errorf("%s: %s: Addr.Network must be unix or tcp", ReattachEnv, name)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b reattachment) int { return cmp.Compare(a.name, b.name) })
	return list, nil
}

// Attached returns the part of a value of ASSAY_REATTACH_STRATEGIES that is about one
// strategy, "" if it is not in there. In names - and _ count as equal.
func Attached(value, name string) (string, error) {
	list, err := parseReattach(value)
	if err != nil {
		return "", err
	}
	for _, r := range list {
		if sameKey(r.name) == sameKey(name) {
			text, err := json.Marshal(map[string]reattachment{r.name: r})
			return string(text), err
		}
	}
	return "", nil
}

// reattachAll asks every strategy under a debugger what it is.
func (c *Catalog) reattachAll(ctx context.Context, debugged []reattachment) []Strategy {
	var list []Strategy
	for i := range debugged {
		s := c.reattach(ctx, &debugged[i])
		s.Debug, s.reattach = true, &debugged[i]
		list = append(list, s)
	}
	return list
}

func (c *Catalog) reattach(ctx context.Context, r *reattachment) Strategy {
	ctx, cancel := context.WithTimeout(ctx, c.opts.ProbeTimeout)
	defer cancel()
	conn, err := r.dial()
	if err != nil {
		return unavailable(r.name, proc.Faultf(CodeReattachFailed, "%v", err))
	}
	defer conn.Close()
	spec, err := strategypb.NewStrategyClient(conn).Describe(ctx, &strategypb.DescribeRequest{})
	if err != nil {
		return unavailable(r.name, proc.Faultf(CodeReattachFailed, "%v", err))
	}
	s, fault := describe(spec)
	if fault == nil && sameKey(s.Name) != sameKey(r.name) {
		fault = proc.Faultf(CodeBadName, "%s names %q, but the strategy there is %q", ReattachEnv, r.name,
			s.Name)
	}
	if fault != nil {
		return unavailable(r.name, fault)
	}
	return s
}

// dial connects without go-plugin, which would leave the connection open at Kill:
// the process belongs to the debugger.
func (r *reattachment) dial() (*grpc.ClientConn, error) {
	address := r.Addr.String
	network := r.Addr.Network
	return grpc.NewClient("passthrough:///"+r.name,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(wire.MaxMessageBytes), grpc.MaxCallSendMsgSize(wire.MaxMessageBytes)),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes))
}

// attach connects to a strategy under a debugger for a run.
func (c *Catalog) attach(ctx context.Context, s *Strategy) (*Process, error) {
	limited, cancel := context.WithTimeout(ctx, c.opts.LaunchTimeout)
	defer cancel()
	conn, err := s.reattach.dial()
	if err == nil {
		client := strategypb.NewStrategyClient(conn)
		if _, err = client.Describe(limited, &strategypb.DescribeRequest{}); err == nil {
			return c.admit(s.Name, client, proc.Attach(conn, s.reattach.Pid, underDebugger))
		}
		_ = conn.Close()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, &LaunchError{Strategy: s.Name, Code: CodeReattachFailed, Message: err.Error(),
		LogTail: []string{}}
}
