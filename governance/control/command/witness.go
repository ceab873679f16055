package command

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/witness"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/translog"
)

// witnessOptions are the flags of governance witness, in the order of its help.
type witnessOptions struct {
	Host     string `flag:"host" env:"SERVICE_WITNESS_HOST" default:"127.0.0.1" usage:"address or name to listen on"`
	Port     string `flag:"port" env:"SERVICE_WITNESS_PORT" default:"8011" usage:"port to listen on; 0 takes any free one"`
	LogLevel string `flag:"log-level" env:"SERVICE_WITNESS_LOG_LEVEL" default:"info" usage:"trace, debug, info, warn or error" values:"trace,debug,info,warn,error"`
	StateDir string `flag:"state-dir" env:"SERVICE_WITNESS_STATE_DIR" default:".assay/witness" usage:"folder of the witness's key and of what it has seen of each log"`
	passphraseOption
	Name        string   `flag:"name" env:"SERVICE_WITNESS_NAME" usage:"name of the witness, such as witness.example.com; fixed at the first start"`
	Logs        []string `flag:"log" usage:"verifier key of a log to follow, what its /trust/log.vkey answers, repeatable"`
	BehindProxy string   `flag:"behind-proxy" env:"SERVICE_WITNESS_BEHIND_PROXY" default:"false" usage:"a proxy stands in front: allow other than loopback addresses"`
	Hosts       []string `flag:"allowed-host" usage:"name that the Host header may carry, repeatable"`
}

func witnessCommand(w World) *cobra.Command {
	var o witnessOptions
	cmd := &cobra.Command{
		Use: "witness", Short: "Run a witness: cosign checkpoints of logs that have only grown",
		Args: cobra.NoArgs,
		Long: "Runs a witness by C2SP tlog-witness until a signal ends it. It keeps the last checkpoint of " +
			"each log and\ncosigns only what continues it, so that a log that was rewritten gets no " +
			"further cosignature.\nRun it where whoever runs the control plane cannot write: a witness of " +
			"the same owner shows nothing.",
		Example: "  governance witness --name witness.example.com --log " +
			"governance.local+1234abcd+AQ...\n" +
			"  governance serve --witness http://127.0.0.1:8011 --witness-key witness.example.com+5678cdef+BA...",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), w) },
	}
	cmd.Flags().SortFlags = false
	bind(cmd, w, &o)
	cmd.Flags().Lookup("behind-proxy").NoOptDefVal = "true"
	return cmd
}

// run serves until a signal ends it.
func (o *witnessOptions) run(ctx context.Context, w World) error {
	port, err := strconv.ParseUint(o.Port, 10, 16)
	if err != nil {
		return usagef("--port: %q is not a port: write a number from 0 to 65535", o.Port)
	}
	opts := witness.Options{Name: o.Name, Now: w.Now, Unlock: o.unlock(w)}
	if opts.Dir, err = filepath.Abs(o.StateDir); err != nil {
		return usagef("--state-dir: %v", err)
	}
	for _, text := range o.Logs {
		key, err := translog.ParseLogKey(strings.TrimSpace(text))
		if err != nil {
			return usagef("--log: %v", err)
		}
		opts.Logs = append(opts.Logs, key)
	}
	if len(opts.Logs) == 0 {
		return usagef("--log: name the logs to follow by their verifier keys")
	}
	address := edge.Bind{Host: o.Host, Port: int(port), Prefix: "SERVICE_WITNESS", AllowedHosts: o.Hosts,
		BehindProxy: o.BehindProxy == "true" || o.BehindProxy == "1"}
	addr, err := address.Resolve(ctx)
	if err != nil {
		return err
	}
	one, err := witness.Open(opts)
	if err != nil {
		return err
	}
	defer one.Close()
	ln, err := edge.Open(ctx, addr, witness.Refuse)
	if err != nil {
		return err
	}
	logger := hclog.New(&hclog.LoggerOptions{Name: "witness", Output: w.Err,
		Level: hclog.LevelFromString(o.LogLevel)})
	host, _, _ := strings.Cut(strings.TrimPrefix(edge.URL(ln), "http://"), ":")
	hosts := edge.NewHosts(append([]string{o.Host, host}, o.Hosts...)...)
	server := edge.NewServer(one.Handler(hosts, logger), logger.Named("http"))
	ctx, end := context.WithCancel(ctx)
	defer end()
	stop := watch(end, func() {})
	defer stop()
	fmt.Fprintf(w.Out, "witness key %s\ngovernance witness listening on %s\n", one.Key().VKey(),
		edge.URL(ln))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), witnessEnd)
	defer cancel()
	_ = server.Shutdown(last) // what is not finished by now is cut off
	return <-ended
}

// witnessEnd is how long answers that are under way may take at the end.
const witnessEnd = 5 * time.Second
