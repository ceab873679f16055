package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

const (
	// conformanceCandles are more than one chunk, so that a run is cut somewhere.
	conformanceCandles = wire.ChunkSteps + 1000
	// lockstepCandles bound the slow way of driving.
	lockstepCandles = 1500
	// randomRuns is how many parameter sets are drawn.
	randomRuns = 15
)

// Conformance checks what a host relies on, with candles from Synth and over the
// same gRPC link that a host uses:
//
//   - the description is complete and the schema of the parameters is valid;
//   - the defaults are valid, and bad parameters are refused with their pointers;
//   - two runs are equal, and so are the runs in this process, in co-simulation
//     (from a file and from messages) and in lockstep;
//   - parameters drawn at random within their bounds are refused in good order or
//     lead to a run without panic, error or impossible intent;
//   - every series that is plotted is published with the defaults;
//   - no goroutine is left.
//
// A strategy for several symbols gets its minimum.
func Conformance[P any](t *testing.T, spec sdk.Spec, construct func(P) (sdk.Strategy, error)) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	server, err := serve.NewServer(spec, construct)
	if err != nil {
		t.Fatal(err)
	}
	client, closeLink := connect(t, server)
	c := &conformance{client: client, build: func(raw string) (sdk.Strategy, error) {
		s, _, err := drive.Build(construct, []byte(raw))
		return s, err
	}}
	ok := t.Run("Description", c.description)
	ok = ok && t.Run("BadParameters", c.badParameters)
	ok = ok && t.Run("EqualRuns", c.equalRuns)
	ok = ok && (len(spec.Plots) == 0 || t.Run("Plots", c.plots))
	if ok {
		t.Run("RandomParameters", c.randomParameters)
	}
	closeLink()
	if err := goleak.Find(before); err != nil {
		t.Errorf("after the runs: %v", err)
	}
}

type conformance struct {
	client  strategypb.StrategyClient
	build   func(params string) (sdk.Strategy, error)
	spec    wire.Description
	schema  *jsonschema.Schema
	ranges  map[string]property // of the parameters
	symbols int
	tf      market.Timeframe
}

// connect serves the strategy over an in-memory link like a plugin process does.
func connect(t *testing.T, server strategypb.StrategyServer) (strategypb.StrategyClient, func()) {
	t.Helper()
	client, grpcServer := quietly(func() (*plugin.GRPCClient, *plugin.GRPCServer) {
		return plugin.TestPluginGRPCConn(t, false, wire.VersionedPlugins(server)[wire.ProtocolVersion])
	})
	raw, err := client.Dispense(wire.PluginName)
	if err != nil {
		t.Fatal(err)
	}
	return raw.(strategypb.StrategyClient), func() {
		// Closing also stops the server.
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		<-grpcServer.DoneCh
	}
}

// connecting guards the default output of hclog.
var connecting sync.Mutex

// quietly makes a link whose logger, which go-plugin takes from hclog's defaults and sets to debug, writes
// nowhere: an author whose test fails would read of streams that ended as they should.
func quietly(link func() (*plugin.GRPCClient, *plugin.GRPCServer)) (*plugin.GRPCClient, *plugin.GRPCServer) {
	connecting.Lock()
	defer connecting.Unlock()
	output := hclog.DefaultOutput
	hclog.DefaultOutput = io.Discard
	defer func() { hclog.DefaultOutput = output }()
	return link()
}

func (c *conformance) description(t *testing.T) {
	p, err := c.client.Describe(t.Context(), &strategypb.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if c.spec, err = wire.SpecFromProto(p); err != nil {
		t.Fatal(err)
	}
	c.symbols, c.tf = c.spec.MinSymbols, market.MustTimeframe("1h")
	if len(c.spec.Timeframes) > 0 {
		c.tf = c.spec.Timeframes[0]
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.spec.ParamsSchema))
	if err != nil {
		t.Fatalf("schema of the parameters: %v", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("params.json", document); err != nil {
		t.Fatalf("schema of the parameters: %v", err)
	}
	if c.schema, err = compiler.Compile("params.json"); err != nil {
		t.Fatalf("schema of the parameters: %v", err)
	}
	if c.ranges, err = properties(c.spec.ParamsSchema); err != nil {
		t.Fatalf("schema of the parameters: %v", err)
	}
	if err := c.validate(string(c.spec.DefaultParams)); err != nil {
		t.Errorf("the default parameters do not fit their own schema: %v", err)
	}
	for _, params := range []string{string(c.spec.DefaultParams), "{}"} {
		if _, err := c.build(params); err != nil {
			t.Errorf("the default parameters %s are refused: %v", params, err)
		}
	}
}

func (c *conformance) validate(params string) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(params)))
	if err != nil {
		return err
	}
	return c.schema.Validate(value)
}

// badParameters breaks each parameter in every way that the schema knows, and requires
// a refusal that points at it.
func (c *conformance) badParameters(t *testing.T) {
	for _, bad := range badValues(c.ranges) {
		if c.validate(bad.params) == nil {
			t.Errorf("%s fits the schema of the parameters", bad.params)
		}
		_, err := c.open(t.Context(), strategypb.DriveMode_DRIVE_MODE_LOCKSTEP, bad.params, c.candles(10, 1))
		var f *wire.Failure
		if !errors.As(err, &f) || f.Code != wire.InvalidStrategyParams {
			t.Errorf("%s: want a refusal, got %v", bad.params, err)
			continue
		}
		pointers := map[string]bool{}
		for _, e := range f.Errors {
			pointers[e.Pointer] = true
		}
		for _, want := range bad.pointers {
			if !pointers[want] {
				t.Errorf("%s: no error points at %s: %v", bad.params, want, f.Errors)
			}
		}
	}
}

// candles are series of equal length for every symbol of the strategy's minimum.
func (c *conformance) candles(n int, seed uint64) []*market.Series {
	step := c.tf.Approx().Truncate(time.Second)
	series := make([]*market.Series, c.symbols)
	for i := range series {
		s := Synth(seed+uint64(i)*1000, n, firstOpen(), step)
		s.Timeframe = c.tf
		if i > 0 {
			s.Symbol = market.Symbol("SYNTH" + string(rune('A'+i%26)) + string(rune('A'+i/26%26)) + "/USD")
		}
		series[i] = s
	}
	return series
}

func (c *conformance) inProcess(params string, series []*market.Series) (outcome, error) {
	s, err := c.build(params)
	if err != nil {
		return outcome{}, err
	}
	r, err := Run(series[0], s, append(c.inputs(series), More(series[1:]...), Extra(c.spec.Extra...),
		Bare())...)
	if err != nil {
		return outcome{}, err
	}
	return outcome{r.Digest, r.Steps}, nil
}

func (c *conformance) equalRuns(t *testing.T) {
	defaults := string(c.spec.DefaultParams)
	for _, n := range []int{conformanceCandles, lockstepCandles} {
		series := c.candles(n, 42)
		want, err := c.inProcess(defaults, series)
		if err != nil {
			t.Fatal(err)
		}
		ways := []struct {
			name string
			run  func(context.Context, string, []*market.Series) (outcome, error)
		}{
			{"a second time", func(_ context.Context, p string, s []*market.Series) (outcome, error) {
				return c.inProcess(p, s)
			}},
			{"in co-simulation from messages", c.fromMessages},
			{"in co-simulation from files",
				func(ctx context.Context, p string, s []*market.Series) (outcome, error) {
					return c.fromFiles(ctx, t.TempDir(), p, s)
				}},
			{"in lockstep", c.inLockstep},
		}
		if n > lockstepCandles {
			ways = ways[:3]
		}
		for _, way := range ways {
			got, err := way.run(t.Context(), defaults, series)
			if err != nil {
				t.Errorf("%s: %v", way.name, err)
			} else if got != want {
				t.Errorf("the run of %d candles differs %s: %x after %d steps, want %x after %d",
					n, way.name, got.digest[:4], got.steps, want.digest[:4], want.steps)
			}
		}
	}
}

// plots requires every series that the description plots to be published: a misspelt name would be
// an empty chart.
func (c *conformance) plots(t *testing.T) {
	strategy, err := c.build(string(c.spec.DefaultParams))
	if err != nil {
		t.Fatal(err)
	}
	series := c.candles(lockstepCandles, 42)
	r, err := Run(series[0], strategy, append(c.inputs(series), More(series[1:]...),
		Extra(c.spec.Extra...))...)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range c.spec.Plots {
		for _, name := range []string{p.Series, p.Upper} {
			named := func(s wire.Series) bool { return s.Name == name }
			if name != "" && !slices.ContainsFunc(r.Annotations, named) {
				t.Errorf("Plots[%d]: the series %q is never published", i, name)
			}
		}
	}
}

func (c *conformance) open(ctx context.Context, mode strategypb.DriveMode, params string,
	series []*market.Series) (*link, error) {
	return open(ctx, c.client, mode, params, series, c.inputs(series)...)
}

// inputs are values of every input of the strategy for a run over these candles: one of every 20
// candles, between -1 and 1, known up to 30 candles later, each fifth one revised.
func (c *conformance) inputs(series []*market.Series) (list []Option) {
	closes := series[0]
	for i, in := range c.spec.Inputs {
		draw := rand.New(rand.NewPCG(uint64(i), uint64(closes.Len())))
		var rows []sdk.InputRow
		for k := 0; k < closes.Len(); k += 20 {
			row := sdk.InputRow{Time: closes.Time[k], Value: 2*draw.Float64() - 1,
				Known: closes.CloseTime(min(k+draw.IntN(30), closes.Len()-1))}
			if rows = append(rows, row); k%100 == 0 {
				row.Known, row.Value = row.Known+1, -row.Value
				rows = append(rows, row)
			}
		}
		list = append(list, Input(in.Name, rows...), MaxAge(in.Name, in.MaxAge))
	}
	return list
}

func (c *conformance) fromMessages(ctx context.Context, params string,
	series []*market.Series) (outcome, error) {
	l, err := c.open(ctx, strategypb.DriveMode_DRIVE_MODE_CO_SIMULATION, params, series)
	if err != nil {
		return outcome{}, err
	}
	wait := l.sendChunks()
	defer wait()
	return l.coSimulate()
}

func (c *conformance) fromFiles(ctx context.Context, dir, params string,
	series []*market.Series) (outcome, error) {
	l, err := c.open(ctx, strategypb.DriveMode_DRIVE_MODE_CO_SIMULATION, params, series)
	if err != nil {
		return outcome{}, err
	}
	paths := make([]string, len(series))
	for i, s := range series {
		paths[i] = filepath.Join(dir, string(rune('a'+i%26))+string(rune('a'+i/26))+".candles")
		if err := candlefile.Create(paths[i], s); err != nil {
			return outcome{}, err
		}
	}
	l.sendFiles(paths)
	return l.coSimulate()
}

func (c *conformance) inLockstep(ctx context.Context, params string,
	series []*market.Series) (outcome, error) {
	l, err := c.open(ctx, strategypb.DriveMode_DRIVE_MODE_LOCKSTEP, params, series)
	if err != nil {
		return outcome{}, err
	}
	return l.lockstep()
}

// randomParameters requires every parameter set within the bounds to be refused in
// good order or to run, with equal results in this process and over the link.
func (c *conformance) randomParameters(t *testing.T) {
	draw := newDraw(7)
	for i := range randomRuns {
		params := draw.params(c.ranges)
		if err := c.validate(params); err != nil {
			t.Fatalf("%s: drawn within the bounds, but %v", params, err)
		}
		series := c.candles(lockstepCandles, uint64(i))
		want, err := c.inProcess(params, series)
		var f *wire.Failure
		if errors.As(err, &f) && f.Code == wire.InvalidStrategyParams && f.Stack == "" {
			continue
		}
		var overflow *sim.LedgerError
		if errors.As(err, &overflow) {
			continue // amounts that no ledger holds: a matter of the data and the cash
		}
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		drive := c.fromMessages
		if i%5 == 0 {
			drive = c.inLockstep
		}
		got, err := drive(t.Context(), params, series)
		if err != nil {
			t.Errorf("%s: %v", params, err)
		} else if got != want {
			t.Errorf("%s: the run over the link differs from the one in this process", params)
		}
	}
}

// property is the schema of one parameter.
type property struct {
	Type             string   `json:"type"`
	Enum             []any    `json:"enum"`
	Minimum          *float64 `json:"minimum"`
	Maximum          *float64 `json:"maximum"`
	ExclusiveMinimum *float64 `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64 `json:"exclusiveMaximum"`
	Default          any      `json:"default"`
}

func properties(schema json.RawMessage) (map[string]property, error) {
	var s struct {
		Properties map[string]property `json:"properties"`
	}
	return s.Properties, json.Unmarshal(schema, &s)
}

// badCase is a parameter object that must be refused.
type badCase struct {
	params   string
	pointers []string // each must be named by an error
}

// badValues lists every single way to break a parameter, and one object with all
// of them broken at once.
func badValues(ranges map[string]property) []badCase {
	cases := []badCase{{`{"no such parameter":1}`, []string{"/no such parameter"}}, {`[]`, []string{""}}}
	all := map[string]any{"no such parameter": true}
	pointers := []string{"/no such parameter"}
	for _, name := range slices.Sorted(maps.Keys(ranges)) {
		for _, value := range ranges[name].badValues() {
			cases = append(cases, badCase{encode(map[string]any{name: value}), []string{"/" + name}})
			all[name] = value
		}
		pointers = append(pointers, "/"+name)
	}
	return append(cases, badCase{encode(all), pointers})
}

func (p property) badValues() []any {
	bad := []any{nil, []int{1}}
	switch p.Type {
	case "string":
		bad = append(bad, 1)
	case "boolean":
		bad = append(bad, "true")
	case "integer":
		bad = append(bad, "1", 1.5)
	default:
		bad = append(bad, "1")
	}
	if len(p.Enum) > 0 && p.Type == "string" {
		bad = append(bad, "no such value")
	}
	if p.Minimum != nil {
		bad = append(bad, *p.Minimum-1)
	}
	if p.ExclusiveMinimum != nil {
		bad = append(bad, *p.ExclusiveMinimum)
	}
	if p.Maximum != nil && math.Abs(*p.Maximum) < 1e15 {
		bad = append(bad, *p.Maximum+1)
	}
	if p.ExclusiveMaximum != nil {
		bad = append(bad, *p.ExclusiveMaximum)
	}
	return bad
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of a schema
	}
	return string(text)
}

// draw draws parameters within their bounds.
type draw struct{ *rand.Rand }

func newDraw(seed uint64) draw { return draw{rand.New(rand.NewPCG(seed, 1))} }

func (d draw) params(ranges map[string]property) string {
	values := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(ranges)) {
		values[name] = d.value(ranges[name])
	}
	return encode(values)
}

func (d draw) value(p property) any {
	switch {
	case len(p.Enum) > 0:
		return p.Enum[d.IntN(len(p.Enum))]
	case p.Type == "boolean":
		return d.IntN(2) == 1
	case p.Type == "string":
		return p.Default
	}
	low, high := bound(p.Minimum, p.ExclusiveMinimum, -1000), bound(p.Maximum, p.ExclusiveMaximum, 1000)
	// Squared: small values, which are more often meant, come more often.
	u := d.Float64()
	x := low + float64(u*u*(high-low))
	if p.Type == "integer" {
		x = math.Floor(x)
	}
	outside := (p.ExclusiveMinimum != nil && x <= *p.ExclusiveMinimum) ||
		(p.ExclusiveMaximum != nil && x >= *p.ExclusiveMaximum)
	if outside || x < low || x > high {
		return p.Default
	}
	return x
}

func bound(inclusive, exclusive *float64, otherwise float64) float64 {
	switch {
	case inclusive != nil:
		return *inclusive
	case exclusive != nil:
		return *exclusive
	}
	return otherwise
}
