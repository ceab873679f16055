package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/assay-run/assay/plugin-sdk/wire"
)

// attachAddress and attachment are the JSON that a host reads from
// ASSAY_REATTACH_STRATEGIES.
type attachAddress struct{ Network, String string }

type attachment struct {
	Protocol        string
	ProtocolVersion int
	Pid             int
	Test            bool
	Addr            attachAddress
}

// debug serves any number of runs until it is interrupted, and prints what the host
// needs to attach.
func debug(s *server, stdout io.Writer) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	s.anyRuns = true
	ready, closed := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	c := config(s, func(opts []grpc.ServerOption) *grpc.Server {
		return grpc.NewServer(append(opts, wire.ServerOptions()...)...)
	})
	c.Test = &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: ready, CloseCh: closed}
	go plugin.Serve(c)
	select {
	case <-closed:
		return 1
	case r := <-ready:
		text, err := json.Marshal(map[string]attachment{s.description.Name: {
			Protocol: string(r.Protocol), ProtocolVersion: wire.ProtocolVersion, Pid: r.Pid, Test: true,
			Addr: attachAddress{r.Addr.Network(), r.Addr.String()},
		}})
		if err != nil {
			fmt.Fprintln(stdout, err)
			return 1
		}
		fmt.Fprintf(stdout, "Start assay with this in its environment; stop this program with Ctrl-C:\n\n  ASSAY_REATTACH_STRATEGIES='%s'\n", text)
	}
	<-closed
	return 0
}
