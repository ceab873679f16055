package command

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/governance/witness"
	"github.com/assay-run/assay/host/base/bucket"
	"github.com/assay-run/assay/host/base/cli"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/base/translog"
)

// variables is how the names of the plane's variables begin.
const variables = "SERVICE_GOVERNANCE"

// serveOptions are the flags of governance serve, in the order of its help.
type serveOptions struct {
	Host     string `flag:"host" env:"SERVICE_GOVERNANCE_HOST" default:"127.0.0.1" usage:"address or name to listen on"`
	Port     string `flag:"port" env:"SERVICE_GOVERNANCE_PORT" default:"8010" usage:"port to listen on; 0 takes any free one"`
	LogLevel string `flag:"log-level" env:"SERVICE_GOVERNANCE_LOG_LEVEL" default:"info" usage:"trace, debug, info, warn or error" complete:"trace,debug,info,warn,error"`
	stateOption
	passphraseOption
	Origin       string   `flag:"log-origin" env:"SERVICE_GOVERNANCE_LOG_ORIGIN" usage:"the log's name, a DNS name; fixed at the first start (default governance.local)"`
	ArtifactRoot string   `flag:"artifact-root" env:"SERVICE_GOVERNANCE_ARTIFACT_ROOT" default:"auto" usage:"what holds runs/: a folder, or s3://BUCKET/PREFIX; auto is the state folder's parent if it does, off reads none"`
	Policy       string   `flag:"policy" env:"SERVICE_GOVERNANCE_POLICY" usage:"promotion policy: a file, or default or solo, which are built in (default policy.json in the state folder, else default)"`
	Trust        string   `flag:"trust" env:"SERVICE_GOVERNANCE_TRUST" usage:"whose signatures count (default trust.json in the state folder, else none)"`
	Labs         []string `flag:"lab" usage:"lab program whose runs count, repeatable (default the lab beside this program, else any build)" complete:"file"`
	BehindProxy  string   `flag:"behind-proxy" env:"SERVICE_GOVERNANCE_BEHIND_PROXY" default:"false" usage:"an authenticating proxy stands in front: allow other than loopback addresses"`
	Witnesses    []string `flag:"witness" usage:"address of a witness that cosigns the log, repeatable; each needs its --witness-key"`
	WitnessKeys  []string `flag:"witness-key" usage:"verifier key of the witness at the same place, repeatable"`
	Quorum       int      `flag:"witness-quorum" usage:"how many cosignatures a checkpoint needs to be given out before newer ones (default all)"`
	Advertise    string   `flag:"advertise-url" env:"SERVICE_GOVERNANCE_ADVERTISE_URL" usage:"where other planes on the database say that this one answers, when it is the writer (default the address it listens on)"`
	Hosts        []string `flag:"allowed-host" usage:"name that the Host header may carry, repeatable [SERVICE_GOVERNANCE_ALLOWED_HOSTS, commas]"`
}

// serveConfig is the effective configuration.
type serveConfig struct {
	bind                                edge.Bind
	level                               hclog.Level
	stateDir, origin, policy, trustFile string
	database, databaseName, advertise   string
	artifacts                           *bucket.Root // nil reads none
	exposed                             bool         // the password is in the command line
	witnesses                           []witness.At
	quorum                              int
	unlock                              dsse.Unlock
	labs                                []string
}

func serveCommand(w World) *cobra.Command {
	var o serveOptions
	var set *cli.Flags
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the control plane", Args: cobra.NoArgs,
		Long: "Run the control plane until a signal ends it. SIGHUP reads policy and trust again.\n" +
			"Options win over their variables, variables over defaults; an empty variable counts as unset.",
		Example: "  governance serve\n  governance serve --state-dir /var/lib/governance --log-origin " +
			"log.example.com --artifact-root off",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := o.config(set, w)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, w)
		},
	}
	cmd.Flags().SortFlags = false
	set = bind(cmd, w, &o)
	cmd.Flags().Lookup("behind-proxy").NoOptDefVal = "true"
	return cmd
}

// config checks the options. A refusal names the flag or the variable that is to blame.
func (o *serveOptions) config(set *cli.Flags, w World) (cfg serveConfig, err error) {
	bad := func(flag, format string, args ...any) error {
		return usagef("%s: "+format, append([]any{set.Source(flag)}, args...)...)
	}
	port, err := strconv.ParseUint(o.Port, 10, 16)
	switch {
	case o.Host == "":
		return cfg, bad("host", "is empty")
	case err != nil:
		return cfg, bad("port", "%q is not a port: write a number from 0 to 65535", o.Port)
	case !slices.Contains([]string{"trace", "debug", "info", "warn", "error"}, o.LogLevel):
		return cfg, bad("log-level", "%q is not a level: write trace, debug, info, warn or error", o.LogLevel)
	case o.StateDir == "":
		return cfg, bad("state-dir", "is empty")
	case o.ArtifactRoot == "":
		return cfg, bad("artifact-root", "is empty")
	case !slices.Contains([]string{"1", "true", "0", "false"}, o.BehindProxy):
		return cfg, bad("behind-proxy", "%q is not 1, 0, true or false", o.BehindProxy)
	}
	cfg = serveConfig{
		level: hclog.LevelFromString(o.LogLevel), origin: o.Origin,
		policy: o.Policy, labs: o.Labs, database: o.Database, advertise: o.Advertise,
		trustFile: o.Trust, bind: edge.Bind{
			Host: o.Host, Port: int(port), Prefix: variables, AllowedHosts: o.Hosts,
			BehindProxy: o.BehindProxy == "1" || o.BehindProxy == "true",
		},
	}
	if o.Database != "" {
		at, err := postgres.ParseConfig(o.Database)
		if err != nil {
			return cfg, bad("database", "%v", err)
		}
		cfg.databaseName = at.String()
		cfg.exposed = set.Source("database") == "--database" && postgres.HasPassword(o.Database)
	}
	if cfg.witnesses, err = witnessesOf(o.Witnesses, o.WitnessKeys); err != nil {
		return cfg, err
	}
	cfg.quorum, cfg.unlock = o.Quorum, o.unlock(w)
	if cfg.stateDir, err = filepath.Abs(o.dir(set)); err != nil {
		return cfg, bad("state-dir", "%v", err)
	}
	if v, ok := w.Env(variables + "_ALLOWED_HOSTS"); ok && v != "" && len(o.Hosts) == 0 {
		for name := range strings.SplitSeq(v, ",") {
			cfg.bind.AllowedHosts = append(cfg.bind.AllowedHosts, strings.TrimSpace(name))
		}
	}
	return cfg, cfg.findArtifacts(o.ArtifactRoot, w)
}

// witnessesOf pairs addresses and keys.
func witnessesOf(urls, keys []string) (list []witness.At, err error) {
	if len(urls) != len(keys) {
		return nil, usagef("--witness, --witness-key: %d addresses and %d keys: give each witness one key, "+
			"in the same order", len(urls), len(keys))
	}
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" ||
			u.User != nil {
			return nil, usagef("--witness: write an address such as https://witness.example.com, without " +
				"credentials")
		}
		key, err := translog.ParseWitnessKey(strings.TrimSpace(keys[i]))
		if err != nil {
			return nil, usagef("--witness-key: %v", err)
		}
		list = append(list, witness.At{URL: text, Key: key})
	}
	return list, nil
}

// findArtifacts finds what holds runs/; auto is none where there is no such folder.
func (c *serveConfig) findArtifacts(root string, w World) (err error) {
	switch {
	case root == "off":
		return nil
	case root == "auto":
		root = filepath.Dir(c.stateDir)
		if info, err := os.Stat(filepath.Join(root, "runs")); err != nil || !info.IsDir() {
			return nil
		}
	case !bucket.Is(root):
		if root, err = filepath.Abs(root); err != nil {
			return err
		}
	}
	if c.artifacts, err = bucket.NewRoot(root, w.getenv); err == nil {
		err = c.artifacts.Check(context.Background())
	}
	if err != nil {
		return usagef("--artifact-root: %v", err)
	}
	return nil
}

// rules reads policy and trust. A file that an option names must be there; the ones in the
// state folder need not.
func (c *serveConfig) rules(w World) (p *policy.Policy, t *bundle.Trust, err error) {
	var text []byte
	if p = namedPolicy(c.policy); p == nil {
		if text, err = readRule(c.policy, filepath.Join(c.stateDir, "policy.json")); err != nil {
			return nil, nil, usagef("policy: %v", err)
		}
	}
	if text != nil {
		if p, err = policy.Parse(text); err != nil {
			return nil, nil, usagef("policy: %v", err)
		}
	}
	if text, err = readRule(c.trustFile, filepath.Join(c.stateDir, "trust.json")); err != nil {
		return nil, nil, usagef("trust: %v", err)
	}
	if text != nil {
		var refused *bundle.Error
		if t, refused = bundle.ParseTrust(text); refused != nil {
			return nil, nil, usagef("trust: %v", refused)
		}
	}
	if p != nil && p.Solo {
		t, err = c.ownerTrust(t, w)
	}
	return p, t, err
}

func readRule(named, fallback string) ([]byte, error) {
	if named != "" {
		return os.ReadFile(named)
	}
	text, err := os.ReadFile(fallback)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return text, err
}

// serve runs the plane until a signal ends it.
func serve(ctx context.Context, cfg serveConfig, w World) error {
	logger := hclog.New(&hclog.LoggerOptions{Name: "governance", Output: w.Err, Level: cfg.level})
	addr, err := cfg.bind.Resolve(ctx)
	if err != nil {
		return err
	}
	rulesOf, trust, err := cfg.rules(w)
	if err != nil {
		return err
	}
	labs, err := cfg.engines()
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Options{
		Dir: cfg.stateDir, Origin: cfg.origin, Policy: rulesOf, Trust: trust, Engines: labs, Now: w.Now,
		Unlock: cfg.unlock, Database: cfg.database, Report: reportStanding(logger),
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := s.Close(); err != nil {
			logger.Error("the log did not close cleanly", "error", err)
		}
	}()
	ln, err := edge.Open(ctx, addr, control.Refuse)
	if err != nil {
		return err
	}
	if err := s.Announce(ctx, cmp.Or(cfg.advertise, edge.URL(ln))); err != nil {
		return err
	}
	if err := cfg.report(ctx, logger, edge.URL(ln), s, w.Now()); err != nil {
		return err
	}
	var asked *witness.Witnesses
	if len(cfg.witnesses) > 0 && s.Damage() == nil {
		if asked, err = control.OpenWitnesses(s, cfg.stateDir, cfg.witnesses, cfg.quorum); err != nil {
			return err
		}
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(edge.URL(ln), "http://"), ":")
	plane := control.New(control.Options{
		Store: s, Artifacts: cfg.artifacts,
		Hosts: append([]string{cfg.bind.Host, host}, cfg.bind.AllowedHosts...), Now: w.Now, Logger: logger,
		Witnesses: asked,
	})
	ctx, end := context.WithCancel(ctx)
	defer end()
	stop := watch(end, func() { cfg.reload(ctx, s, logger, w) })
	defer stop()
	fmt.Fprintf(w.Out, "governance listening on %s\n", edge.URL(ln))
	return plane.Serve(ctx, ln)
}

// witnessKeys are the verifier keys of the witnesses that are asked.
func (c *serveConfig) witnessKeys() (list []string) {
	for _, w := range c.witnesses {
		list = append(list, w.Key.VKey())
	}
	return list
}

// reportStanding logs when this plane becomes the writer of a shared database, and when it is no longer.
func reportStanding(logger hclog.Logger) func(store.Standing) {
	return func(s store.Standing) {
		if s.Writer {
			logger.Info("this plane is the writer of the log", "epoch", s.Epoch)
			return
		}
		logger.Warn("this plane is not the writer of the log", "error", s.Err)
	}
}

// report logs what the plane came up with: where it is, and by whose word it goes.
func (c *serveConfig) report(
	ctx context.Context, logger hclog.Logger, url string, s *store.Store, now time.Time,
) error {
	if c.exposed {
		logger.Warn("the password of the database is in its address, where whoever lists processes may read "+
			"it", "hint", "leave it out there: PGPASSFILE names a file that has it")
	}
	if standing, shared := s.Standing(ctx); shared && !standing.Writer {
		logger.Info("this plane only reads, until it is the writer", "writer", standing.Address)
	}
	logger.Info("configuration", "state_dir", c.stateDir, "database",
		cmp.Or(c.databaseName, store.DatabaseFile), "artifact_root", c.artifacts,
		"log_level", c.level.String(),
		"behind_proxy", c.bind.BehindProxy, "allowed_hosts", c.bind.AllowedHosts)
	if d := s.Damage(); d != nil {
		logger.Error("the log is read only: nothing is taken and no registry is given", "code", d.Code,
			"detail", d.Detail,
			"hint", "governance verify --log; rebuild helps where only projections differ")
		return nil
	}
	return s.Look(func(w *promotion.World, log ledger.View) error {
		p := w.Policy()
		logger.Info("control plane", "address", url, "log_origin", s.Origin(), "log_size", log.Head.Size,
			"policy", fmt.Sprintf("%s v%d %s", p.ID, p.Version, p.Digest), "labs", len(promotion.Engines(w)))
		for _, x := range p.Witnesses.Unasked(c.witnessKeys()) {
			logger.Warn("the policy asks for a witness that this plane does not ask: no seal gets its "+
				"cosignature", "witness", x, "hint", "governance serve --witness URL --witness-key KEY")
		}
		if p.Solo {
			logger.Warn("one person alone", "limit", policy.SoloNote)
		}
		switch t := w.Trust(); {
		case t == nil:
			logger.Warn("open mode: no trust.json, no replay or approval counts", "hint",
				"governance keys trust")
		case t.Expired(now):
			logger.Warn("trust.json has expired: only stops are taken", "version", t.Version, "expired_at",
				t.ExpiresAt)
		default:
			logger.Info("trust.json is in force", "version", t.Version, "keys", len(t.Keys), "expires_at",
				t.ExpiresAt)
		}
		return nil
	})
}

// reload reads policy and trust again. What may not follow what is in force changes nothing.
func (c *serveConfig) reload(ctx context.Context, s *store.Store, logger hclog.Logger, w World) {
	p, t, err := c.rules(w)
	if err == nil {
		err = s.Reconfigure(ctx, p, t)
	}
	if err != nil {
		logger.Error("policy and trust stay as they are", "error", err)
		return
	}
	logger.Info("policy and trust were read again", "log_size", s.Size())
}

// watch calls end at the first SIGINT or SIGTERM, ends the process at the second, and calls
// reload at each SIGHUP.
func watch(end context.CancelFunc, reload func()) (stop func()) {
	events, done := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(events, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		defer close(done)
		ending := false
		for event := range events {
			switch {
			case event == syscall.SIGHUP:
				reload()
			case ending:
				os.Exit(exitSignals)
			default:
				ending = true
				end()
			}
		}
	}()
	return func() {
		signal.Stop(events)
		close(events)
		<-done
	}
}
