package fetch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/fetch"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	childDir = "ASSAY_TEST_FETCH_DIR"
	childURL = "ASSAY_TEST_FETCH_URL"
)

// elsewhere is an exchange whose connector has passed no cards.
const elsewhere = "elsewhere"

type unlisted struct{ exchange.Connector }

func (u unlisted) Describe(ctx context.Context) (exchange.Description, error) {
	d, err := u.Connector.Describe(ctx)
	d.ID = elsewhere
	return d, err
}

// TestMain makes the test binary be each connector under its name, and a process that fetches until it
// is killed.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == binance.ID {
		wire.Serve(binance.New())
		return
	}
	if filepath.Base(os.Args[0]) == elsewhere {
		wire.Serve(exchange.Connection{Connector: unlisted{binance.New().Connector}})
		return
	}
	if dir := os.Getenv(childDir); dir != "" {
		r := rig{folder: os.Getenv("ASSAY_TEST_FETCH_CONNECTORS"), state: dir, url: os.Getenv(childURL),
			timeframe: market.MustTimeframe("1m")}
		_, err := r.run(context.Background(), r.request())
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// rig is a state directory, a connectors folder and an exchange.
type rig struct {
	folder, state, url string
	timeframe          market.Timeframe
}

func newRig(t *testing.T, url, timeframe string) rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := rig{folder: t.TempDir(), state: t.TempDir(), url: url, timeframe: market.MustTimeframe(timeframe)}
	text, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.folder, binance.ID), text, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r rig) request() fetch.Request {
	return fetch.Request{Exchange: "binance", Symbol: "BTC/USDT", Timeframe: r.timeframe, To: fetch.Never}
}

func (r rig) with(ctx context.Context, use func(*candle.Store, *fetch.Source) error) error {
	store, err := candle.Open(ctx, r.state)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := fetch.Open(ctx, fetch.Options{Dir: r.folder, StateDir: r.state, Connector: binance.ID,
		Endpoint: r.url, Symbol: "BTC/USDT", Timeframe: r.timeframe})
	if err != nil {
		return err
	}
	defer s.Close()
	return use(store, s)
}

func (r rig) run(ctx context.Context, req fetch.Request) (d candle.Dataset, err error) {
	err = r.with(ctx, func(store *candle.Store, s *fetch.Source) error {
		d, err = fetch.Run(ctx, store, r.state, s, req)
		return err
	})
	return d, err
}

func (r rig) update(ctx context.Context, d candle.Dataset,
	req fetch.Request) (out candle.Dataset, err error) {
	err = r.with(ctx, func(store *candle.Store, s *fetch.Source) error {
		out, err = fetch.Update(ctx, store, r.state, s, d, req)
		return err
	})
	return out, err
}
