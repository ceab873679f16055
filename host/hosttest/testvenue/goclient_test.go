package testvenue_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	gb "github.com/adshao/go-binance/v2"
	"github.com/adshao/go-binance/v2/common"
	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, o testvenue.Options) *testvenue.Venue {
	t.Helper()
	v, err := testvenue.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func client(t *testing.T, v *testvenue.Venue) *gb.Client {
	t.Helper()
	c := gb.NewClient(testvenue.DefaultKey, testvenue.DefaultSecret)
	c.BaseURL = v.URL()
	t.Cleanup(c.HTTPClient.CloseIdleConnections)
	return c
}

// TestGoBinanceREST lets the public library judge the dialect.
func TestGoBinanceREST(t *testing.T) {
	v := start(t, testvenue.Options{History: 300})
	c, ctx := client(t, v), t.Context()
	if err := c.NewPingService().Do(ctx); err != nil {
		t.Fatal(err)
	}
	if at, err := c.NewServerTimeService().Do(ctx); err != nil ||
		time.Since(time.UnixMilli(at)).Abs() > 5*time.Second {
		t.Fatalf("time %d: %v", at, err)
	}
	info, err := c.NewExchangeInfoService().Symbols("BTCUSDT", "ETHUSDT").Do(ctx)
	if err != nil || len(info.Symbols) != 2 || info.Symbols[0].LotSizeFilter().StepSize != "0.00001000" ||
		info.Symbols[0].PriceFilter().TickSize != "0.01000000" {
		t.Fatalf("exchangeInfo: %+v %v", info, err)
	}
	lines, err := c.NewKlinesService().Symbol("BTCUSDT").Interval("5m").Limit(10).Do(ctx)
	if err != nil || len(lines) != 10 {
		t.Fatalf("%d klines: %v", len(lines), err)
	}
	for i := 1; i < len(lines); i++ {
		if lines[i].OpenTime != lines[i-1].CloseTime+1 {
			t.Errorf("a hole before %d", lines[i].OpenTime)
		}
	}
	bought, err := c.NewCreateOrderService().Symbol("BTCUSDT").Side(gb.SideTypeBuy).Type(
		gb.OrderTypeMarket).Quantity("0.01").NewClientOrderID("first").Do(ctx)
	if err != nil || bought.Status != gb.OrderStatusTypeFilled || len(bought.Fills) != 1 ||
		bought.Fills[0].Commission != "0.00001000" {
		t.Fatalf("market order: %+v %v", bought, err)
	}
	o, err := c.NewGetOrderService().Symbol("BTCUSDT").OrigClientOrderID("first").Do(ctx)
	if err != nil || o.Status != gb.OrderStatusTypeFilled || o.ExecutedQuantity != "0.01000000" {
		t.Fatalf("asked for: %+v %v", o, err)
	}
	trades, err := c.NewListTradesService().Symbol("BTCUSDT").FromID(0).Do(ctx)
	if err != nil || len(trades) != 1 || trades[0].OrderID != o.OrderID ||
		trades[0].Commission != "0.00001000" || trades[0].CommissionAsset != "BTC" {
		t.Fatalf("trades: %+v %v", trades, err)
	}
	account, err := c.NewGetAccountService().Do(ctx)
	if err != nil || account.UID == 0 || account.Balances[0].Asset != "BTC" ||
		account.Balances[0].Free != "0.00999000" {
		t.Fatalf("account: %+v %v", account, err)
	}
	rest, err := c.NewCreateOrderService().Symbol("ETHUSDT").Side(gb.SideTypeBuy).Type(
		gb.OrderTypeLimit).TimeInForce(gb.TimeInForceTypeGTC).
		Quantity("0.1").Price("1000").NewClientOrderID("second").Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if open, err := c.NewListOpenOrdersService().Do(ctx); err != nil || len(open) != 1 ||
		open[0].OrderID != rest.OrderID {
		t.Fatalf("open orders: %+v %v", open, err)
	}
	if gone, err := c.NewCancelOrderService().Symbol("ETHUSDT").OrigClientOrderID("second").Do(
		ctx); err != nil || gone.Status != gb.OrderStatusTypeCanceled || gone.OrigClientOrderID != "second" {
		t.Fatalf("cancel: %+v %v", gone, err)
	}
}

func TestGoBinanceIsRefused(t *testing.T) {
	v := start(t, testvenue.Options{History: 300})
	order := func(c *gb.Client, quantity, price string) error {
		_, err := c.NewCreateOrderService().Symbol("BTCUSDT").Side(gb.SideTypeBuy).Type(
			gb.OrderTypeLimit).TimeInForce(gb.TimeInForceTypeGTC).
			Quantity(quantity).Price(price).NewClientOrderID("twice").Do(t.Context())
		return err
	}
	code := func(err error) int64 {
		var e *common.APIError
		if !errors.As(err, &e) {
			t.Errorf("%v is no answer of the exchange", err)
			return 0
		}
		return e.Code
	}
	wrongSecret, wrongKey, late := client(t, v), client(t, v), client(t, v)
	wrongSecret.SecretKey, wrongKey.APIKey, late.TimeOffset = "other", "other", 6000
	good := client(t, v)
	if err := order(good, "0.01", "20000"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name            string
		client          *gb.Client
		quantity, price string
		want            int64
	}{
		{"signature", wrongSecret, "0.01", "20000", -1022}, {"key", wrongKey, "0.01", "20000",
			-2015}, {"recvWindow", late, "0.01", "20000", -1021},
		{"step", good, "0.010001", "20000", -1013}, {"tick", good, "0.01", "20000.001", -1013},
		{"notional", good, "0.0001", "20000", -1013},
		{"percent", good, "0.01", "1000", -1013}, {"balance", good, "1", "20000", -2010}, {"duplicate", good,
			"0.01", "20000", -2010},
		{"precision", good, "0.0100000001", "20000", -1111},
	} {
		if got := code(order(c.client, c.quantity, c.price)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	for range 400 { // 20 each: the minute's weight is gone
		if _, err := good.NewGetAccountService().Do(t.Context()); err != nil {
			if code(err) != -1003 {
				t.Errorf("over the weight: %v", err)
			}
			return
		}
	}
	t.Error("the weight is not limited")
}

// TestGoBinanceUserData lets the library's own subscription hear about an order.
func TestGoBinanceUserData(t *testing.T) {
	v := start(t, testvenue.Options{History: 300})
	before := gb.BaseWsApiMainURL
	gb.BaseWsApiMainURL = "ws" + v.URL()[len("http"):] + "/ws-api/v3"
	defer func() { gb.BaseWsApiMainURL = before }()
	var mu sync.Mutex
	var seen []gb.WsOrderUpdate
	done, stop, err := gb.WsUserDataServeSignature(testvenue.DefaultKey, testvenue.DefaultSecret,
		common.KeyTypeHmac, 0, func(e *gb.WsUserDataEvent) {
			mu.Lock()
			defer mu.Unlock()
			if e.Event == gb.UserDataEventTypeExecutionReport {
				seen = append(seen, e.OrderUpdate)
			}
		}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	for v.Count("keyed") == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, err := client(t,
		v).NewCreateOrderService().Symbol("BTCUSDT").Side(gb.SideTypeBuy).Type(
		gb.OrderTypeMarket).QuoteOrderQty("100").NewClientOrderID("heard").Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		mu.Lock()
		n := len(seen)
		mu.Unlock()
		if n >= 2 || time.Now().After(end) {
			break
		}
	}
	mu.Lock()
	if len(seen) != 2 || seen[0].Status != "NEW" || seen[1].Status != "FILLED" ||
		seen[1].ClientOrderId != "heard" || seen[1].TradeId != 1 {
		t.Errorf("%+v", seen)
	}
	mu.Unlock()
	close(stop)
	if err := v.Do(testvenue.Script{Action: "stream_cut", Args: []string{"all"}}); err != nil {
		t.Fatal(err)
	}
	<-done
}
