package run

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// cpu returns what this process has used, and the plugins that it has reaped.
func cpu() (host, plugins time.Duration) {
	used := func(who int) time.Duration {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) != nil {
			return 0
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return used(syscall.RUSAGE_SELF), used(syscall.RUSAGE_CHILDREN)
}

// BenchmarkPlay is what a family pays for one play of sma_cross in a process of its
// own, and its battery: wall clock, and CPU of host and plugin together.
func BenchmarkPlay(b *testing.B) {
	folder := b.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(folder, "sma_cross"),
		"../../strategies/sma_cross").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	l := newLab(b, 10)
	c, err := catalog.Open(context.Background(),
		catalog.Options{Dir: folder, StateDir: b.TempDir(), Logger: hclog.NewNullLogger()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	s := sdktest.Synth(3, 58_419, time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC), time.Hour)
	s.Symbol = "BENCH/USD"
	put, err := l.store.Put(context.Background(), candle.PutRequest{Exchange: venue, Series: s})
	if err != nil {
		b.Fatal(err)
	}
	pins := map[market.Symbol]string{s.Symbol: put.SHA256}
	l.launcher.Catalog, l.launcher.Many = c, true
	for _, candles := range []int{1, 5800, 17_500, 46_735} {
		b.Run(fmt.Sprint(candles), func(b *testing.B) {
			req := request("sma_cross", nil, "BENCH/USD")
			from, to := market.Time(s.Time[5000]).String(), market.Time(s.Time[5000+candles]).String()
			req.StartDate, req.EndDate = &from, &to
			host, plugins := cpu()
			for b.Loop() {
				x, err := l.launcher.LaunchSplit(context.Background(), "run_bench", req,
					Split{Pins: pins, Drive: Drive{Procs: 1}})
				if err != nil {
					b.Fatal(err)
				}
				if o := x.Run(context.Background()); o.Failure != nil {
					b.Fatal(o.Failure.Message)
				}
				if r := x.Results(); r.DecisionHash == "" || r.Metrics == nil {
					b.Fatal("no results")
				}
				if err := x.Close(); err != nil {
					b.Fatal(err)
				}
			}
			hostNow, pluginsNow := cpu()
			b.ReportMetric(float64((hostNow-host).Microseconds())/1000/float64(b.N), "host-cpu-ms/op")
			b.ReportMetric(float64((pluginsNow-plugins).Microseconds())/1000/float64(b.N), "plugin-cpu-ms/op")
		})
	}
}
