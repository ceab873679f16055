package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/order/oms"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/host/upload"
)

// config is the effective configuration.
type config struct {
	bind       edge.Bind
	logLevel   hclog.Level
	stateDir   string
	database   string // of the registry, "" for its file
	strategies string
	lab        string
	maxUpload  int64
	sandbox    sandbox.Mode
	control    control
	trading    trading
	connectors connectors
	reattach   string
	demo       bool
}

// usageError is a configuration that is refused.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// setting is one option: a flag wins over its variable, the variable over the default.
type setting struct {
	flag, variable, fallback, help string
	set                            func(*config, string) error
}

func settings() []setting {
	return append([]setting{
		{"host", "SERVICE_API_HOST", "127.0.0.1", "address or name to listen on",
			func(c *config, v string) error {
				if v == "" {
					return fmt.Errorf("is empty: write an address or a name")
				}
				c.bind.Host = v
				return nil
			}},
		{"port", "SERVICE_API_PORT", "8000", "port to listen on; 0 takes any free one", setPort},
		{"log-level", "SERVICE_LOG_LEVEL", "info", "trace, debug, info, warn or error", setLogLevel},
		{"behind-proxy", "SERVICE_API_BEHIND_PROXY", "false",
			"an authenticating proxy stands in front: allow other than loopback addresses",
			func(c *config, v string) (err error) {
				c.bind.BehindProxy, err = strconv.ParseBool(v)
				if !slices.Contains([]string{"0", "1", "false", "true"}, v) {
					return fmt.Errorf("%q is not 1, 0, true or false", v)
				}
				return err
			}},
		{"state-dir", "SERVICE_STATE_DIR", file.StateFolder,
			"folder for candles, runs and the registry; the default is looked for in the folders above, too",
			setStateDir},
		{"database", postgres.Variable, "",
			"postgres://user@host:5432/name: the registry of runs is in this database, which a team shares " +
				"(default the file in the state folder)", setDatabase},
		{"strategies", "SERVICE_STRATEGIES", "",
			"folder of strategy plugins (default: strategies beside the executable)",
			besideUs("strategies", func(c *config) *string { return &c.strategies })},
		{"connectors", "SERVICE_CONNECTORS", "",
			"folder of exchange connectors (default: connectors beside the executable)",
			besideUs("connectors", func(c *config) *string { return &c.connectors.dir })},
		{"lab", "SERVICE_LAB", "", "the program lab, which makes jobs (default: lab beside the executable)",
			besideUs("lab", func(c *config) *string { return &c.lab })},
		{"max-upload", "SERVICE_MAX_UPLOAD", strconv.FormatInt(upload.DefaultLimits().Each>>20, 10),
			"largest file in MiB that may be sent to be imported; all together have 2048", setMaxUpload},
		{"sandbox", "SERVICE_SANDBOX", "auto", "sandbox of plugins: auto, off or require",
			parsed(sandbox.ParseMode, func(c *config) *sandbox.Mode { return &c.sandbox })},
		{"control-url", "SERVICE_CONTROL_URL", "",
			"address of the governance control plane (default " + defaultControlURL + " with a control key)",
			setControlURL},
		{"control-key", "SERVICE_CONTROL_KEY", "",
			"file of the control plane's public key, keys/statement.pub of its folder", setControlKey},
		{"deployment-policy", "SERVICE_DEPLOYMENT_POLICY", "auto",
			"what real money needs: enforce an entry of the deployable registry, warn, off, or auto: " +
				"enforce with a control plane, else warn",
			parsed(deploy.ParseMode, func(c *config) *deploy.Mode { return &c.control.policy })},
		{"control-sign-key", "SERVICE_CONTROL_SIGN_KEY", "",
			"file of this host's private key (role host): a risk kill opens a critical incident, and paper " +
				"and live runs are signed as they end", setSignKey},
		{"deployment-witness-quorum", "SERVICE_DEPLOYMENT_WITNESS_QUORUM", "",
			"how many of the witnesses must have cosigned the control plane's log (default all)", setQuorum},
	}, tradingSettings()...)
}

// parsed sets a field to what a parser reads.
func parsed[T any](parse func(string) (T, error), field func(*config) *T) func(*config, string) error {
	return func(c *config, v string) (err error) {
		*field(c), err = parse(v)
		return err
	}
}

const (
	allowedHostFlag     = "allowed-host"
	allowedHostVariable = "SERVICE_API_ALLOWED_HOSTS"
)

func setPort(c *config, v string) error {
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil {
		return fmt.Errorf("%q is not a port: write a number from 0 to 65535", v)
	}
	c.bind.Port = int(n)
	return nil
}

func setMaxUpload(c *config, v string) error {
	most := upload.DefaultLimits().All >> 20
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 || n > most {
		return fmt.Errorf("%q is not a size: write MiB, a whole number from 1 to %d", v, most)
	}
	c.maxUpload = n << 20
	return nil
}

func setDatabase(c *config, v string) (err error) {
	if c.database = v; v != "" {
		_, err = postgres.ParseConfig(v)
	}
	return err
}

func setStateDir(c *config, v string) (err error) {
	if v == "" {
		return fmt.Errorf("is empty: write a folder")
	}
	c.stateDir, err = filepath.Abs(v)
	return err
}

func setLogLevel(c *config, v string) error {
	if !slices.Contains([]string{"trace", "debug", "info", "warn", "error"}, v) {
		return fmt.Errorf("%q is not a level: write trace, debug, info, warn or error", v)
	}
	c.logLevel = hclog.LevelFromString(v)
	return nil
}

// besideUs returns a folder or a file, by default the one of this name beside the executable.
func besideUs(name string, into func(*config) *string) func(*config, string) error {
	return func(c *config, v string) (err error) {
		if v == "" {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("the folder of the executable is not known (%w): name one", err)
			}
			v = filepath.Join(filepath.Dir(self), name)
		}
		*into(c), err = filepath.Abs(v)
		return err
	}
}

// readConfig reads flags and environment. Done reports that help or version was
// printed and nothing is to be run.
func readConfig(args []string, w world) (cfg config, done bool, err error) {
	cfg.bind.Prefix = "SERVICE_API"
	ran := false
	cmd := &cobra.Command{
		Use: "assay", Short: "Runs trading strategies and tells you whether to believe them",
		Long:          helpText,
		Version:       strings.TrimSpace(version + " " + commit),
		SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ran = true
			return cfg.fill(cmd, w)
		},
	}
	cmd.SetArgs(args)
	cmd.SetOut(w.out)
	cmd.SetErr(w.err)
	flags := cmd.Flags()
	flags.SortFlags = false
	for _, s := range settings() {
		flags.String(s.flag, s.fallback, s.help+" ["+s.variable+"]")
	}
	flags.Lookup("behind-proxy").NoOptDefVal = "true"
	flags.StringArrayVar(&cfg.bind.AllowedHosts, allowedHostFlag, nil,
		"name that the Host header may carry, repeatable ["+allowedHostVariable+", commas]")
	flags.StringArrayVar(&cfg.control.given, familyFlag, nil,
		"family of a strategy at the control plane, name=family, repeatable (default the name with - for "+
			"_) ["+familyVariable+", commas]")
	flags.StringArrayVar(&cfg.control.witnesses, witnessFlag, nil,
		"verifier key of a witness that must have cosigned the control plane's log, repeatable ["+
			witnessVariable+", commas]")
	flags.StringArrayVar(&cfg.connectors.given, endpointFlag, nil,
		"base URL of a connector instead of its exchange's, id=url, repeatable; https unless on loopback ["+
			endpointVariable+", commas]")
	flags.BoolVar(&cfg.demo, "demo", false,
		"run one demonstration backtest through the API, print it and go on serving")
	if err := cmd.Execute(); err != nil {
		if ran {
			return cfg, false, err
		}
		return cfg, false, usagef("%v (see assay --help)", err)
	}
	return cfg, !ran, nil
}

// fill takes every option from its flag, its variable or its default.
func (c *config) fill(cmd *cobra.Command, w world) error {
	for _, s := range settings() {
		value, source := s.fallback, "--"+s.flag
		if value == file.StateFolder {
			value = file.FindState(".")
		}
		if v, ok := w.env(s.variable); ok && v != "" {
			value, source = v, s.variable
		}
		if cmd.Flags().Changed(s.flag) {
			value, source = cmd.Flag(s.flag).Value.String(), "--"+s.flag
		}
		if err := s.set(c, value); err != nil {
			return usagef("%s: %v", source, err)
		}
	}
	w.fillList(&c.bind.AllowedHosts, allowedHostFlag, allowedHostVariable)
	c.reattach, _ = w.env("ASSAY_REATTACH_STRATEGIES")
	if err := c.connectors.complete(w); err != nil {
		return err
	}
	return c.control.complete(w)
}

// fillList takes a repeatable option from its variable, parted by commas, if no flag has it.
// It returns which of the two it is from.
func (w world) fillList(list *[]string, flag, variable string) (source string) {
	v, _ := w.env(variable)
	if v == "" || len(*list) > 0 {
		return "--" + flag
	}
	for one := range strings.SplitSeq(v, ",") {
		*list = append(*list, strings.TrimSpace(one))
	}
	return variable
}

const helpText = `Assay runs trading strategies and tells you whether to believe them.

This is the run-control service: it serves the API under /api/v1 and the
dashboard under /ui. Options come from flags, else from the environment, else
from defaults; an empty variable counts as unset.`

// trading are the operator's options of paper and live runs; no request can change it.
type trading struct {
	ends  trade.Ends
	given map[string]string // risk options by name
	risk  risk.Options
}

// tradingSettings are its options: how live runs end, and the limits of risk.
func tradingSettings() []setting {
	list := []setting{
		{"on-stop", "SERVICE_ON_STOP", "leave",
			"what a stop of a live run does once entries are cancelled: leave exits at the exchange, " +
				"cancel them, " +
				"or flatten: sell what is held",
			parsed(engine.ParseOnStop, func(c *config) *engine.OnStop { return &c.trading.ends.OnStop })},
		{"on-shutdown", "SERVICE_ON_SHUTDOWN", "leave",
			"what the end of the service does to a live run: leave, cancel or flatten",
			parsed(engine.ParseOnStop, func(c *config) *engine.OnStop { return &c.trading.ends.OnShutdown })},
		{"on-lease-loss", "SERVICE_ON_LEASE_LOSS", "entries",
			"what a connector cancels after 10 s without the service: entries, all or none",
			parsed(exchange.ParseLeaseLoss, func(c *config) *exchange.LeaseLoss {
				return &c.trading.ends.OnLeaseLoss
			})},
		{"unprotected", "SERVICE_UNPROTECTED", "hold",
			"what becomes of a live position whose exits cannot be placed: hold it and tell, " +
				"or close it within the price collar",
			parsed(oms.ParseUnprotected, func(c *config) *oms.Unprotected {
				return &c.trading.ends.Unprotected
			})},
	}
	options := append(risk.List(),
		risk.Option{Name: "paper", Default: string(risk.Shadow),
			Help: "what the limits do in paper: shadow or enforce"})
	for _, o := range options {
		help := fmt.Sprintf("%s (default %s)", o.Help, o.Default)
		list = append(list,
			setting{o.Flag()[len("--"):], o.Env(), "", help, func(c *config, v string) error {
				return c.trading.take(o.Name, v)
			}})
	}
	return list
}

// take keeps one limit; all that were given so far are read, so that the error names the one at fault.
func (t *trading) take(name, value string) (err error) {
	if value == "" {
		return nil
	}
	if t.given == nil {
		t.given = map[string]string{}
	}
	t.given[name] = value
	t.risk, err = risk.Parse(func(o risk.Option) (string, string) { return t.given[o.Name], o.Flag() })
	if bad, ok := errors.AsType[*risk.OptionError](err); ok {
		return fmt.Errorf("%q: %s", bad.Value, bad.Want)
	}
	return err
}

// limits are those of live runs with real money in the stream's hello.
func (t *trading) limits() map[string]any { return trade.ShowLimits(t.risk.For(true), risk.Enforce) }
