package capsule

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// TestMain makes the test binary the sandbox's shim and each plugin, by its name.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "coin":
		serve.Strategy(sdk.Spec{Name: "coin"}, func(struct{}) (sdk.Strategy, error) { return coin{}, nil })
		exit(0)
	case "steady":
		serve.Strategy(sdk.Spec{Name: "steady"}, func(struct{}) (sdk.Strategy, error) {
			return steady{}, nil
		})
		exit(0)
	case "peeker":
		goplugin.Serve(&goplugin.ServeConfig{
			HandshakeConfig: wire.Handshake(), VersionedPlugins: wire.VersionedPlugins(&peeker{}),
			GRPCServer: goplugin.DefaultGRPCServer,
		})
		exit(0)
	}
	os.Exit(m.Run())
}

// coin decides by the clock.
type coin struct{}

func (coin) OnCandle(v sdk.View) (sdk.Intents, error) {
	if time.Now().UnixNano()/100%2 == 0 {
		return sdk.Buy(sdk.CashFraction(0.01)), nil
	}
	return nil, nil
}

// steady buys now and then.
type steady struct{}

func (steady) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index()%10 == 3 {
		return sdk.Buy(sdk.CashFraction(0.01)), nil
	}
	return nil, nil
}

// peeker is told how many steps there are and buys in the middle of them.
type peeker struct {
	strategypb.UnimplementedStrategyServer
}

func (*peeker) Describe(context.Context, *strategypb.DescribeRequest) (*strategypb.Spec, error) {
	return &strategypb.Spec{
		Name: "peeker", Version: "1", Language: "raw", ProtocolVersion: wire.ProtocolVersion,
		ParamsSchema:  `{"type":"object"}`,
		DefaultParams: `{}`, MinSymbols: 1, MaxSymbols: 1,
	}, nil
}

func (*peeker) Run(s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
	var total int64
	for {
		m, err := s.Recv()
		var answer *strategypb.PluginMessage
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.GetStart() != nil:
			answer = &strategypb.PluginMessage{
				Message: &strategypb.PluginMessage_Ready{Ready: &strategypb.Ready{}}}
		case m.GetBegin() != nil:
			total = m.GetBegin().GetTotalSteps()
			continue
		case m.GetStep() != nil:
			d := &strategypb.Decision{Step: m.GetStep().GetIndex()}
			if d.Step == total/2 {
				in := market.Intent{Size: market.Size{Kind: market.SizeCashFraction, Value: 0.5}}
				d.Intents = append(d.Intents, wire.IntentToProto(&in, []market.Symbol{"SYNTH/USD"}))
			}
			answer = &strategypb.PluginMessage{Message: &strategypb.PluginMessage_Decision{Decision: d}}
		default:
			return nil
		}
		if err := s.Send(answer); err != nil {
			return err
		}
	}
}

// theatre is a state directory with candles and one plugin.
type theatre struct {
	host   Host
	plugin string
	data   artifact.Dataset
}

func open(t *testing.T, name string) *theatre {
	t.Helper()
	dir := t.TempDir()
	store, err := candle.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	series := sdktest.Synth(1, 300, time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC), time.Hour)
	d, err := store.Put(t.Context(), candle.PutRequest{Exchange: "test", Series: series})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, name)
	if err := os.WriteFile(program, append(text, name...), 0o755); err != nil {
		t.Fatal(err)
	}
	return &theatre{plugin: program, data: artifact.Dataset{
		Symbol: string(d.Symbol), Timeframe: d.Timeframe.String(), SHA256: d.SHA256, Rows: int64(d.Rows),
		Start: d.Start(), End: d.End(), ID: d.ID,
	}, host: Host{StateDir: dir, Candles: store, Artifacts: artifact.NewStore(filepath.Join(dir, "runs")),
		Engine: artifact.Engine{Name: "test"}, Logger: hclog.NewNullLogger()}}
}

// about is what a capsule of a play of the first candles says.
func (th *theatre) about(t *testing.T, name string) Context {
	t.Helper()
	sum, err := digest.File(th.plugin)
	if err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(artifact.Request{
		StrategyName: name, Symbols: []string{th.data.Symbol}, Timeframe: th.data.Timeframe, Exchange: "test",
		InitialCash: json.RawMessage("10000"), StrategyParams: json.RawMessage("{}"),
		Execution: json.RawMessage("{}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	start := th.data.Start.String()
	return Context{
		Inputs: Inputs{
			RequestHash: strings.Repeat("0", 64), RunID: "run_x", Request: request,
			Data:   []artifact.Dataset{th.data},
			Plugin: &artifact.Plugin{SHA256: sum}, Engine: &artifact.Engine{Name: "lab", SHA256: "another"},
		},
		Take: Take{SplitID: "search", Start: &start, Params: json.RawMessage("{}"),
			Execution: json.RawMessage("{}"), Seed: "1", StepLimitMS: 10_000},
	}
}
