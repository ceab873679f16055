package run

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// snoopsWarmup is how many candles of warm-up the snooping plugin asks for.
const snoopsWarmup = 3

// snooped is what the snooping plugin has found out about the candles.
type snooped struct {
	Named, Beside []found // the files that it was told of, and those that it found near them
	InFolder      []string
	Denied        []string
}

// found is one candle file that could be read.
type found struct {
	Path, SHA256 string
	Told         string // the hash that the host told, of a named one
	First, Last  market.Time
	Rows         int
}

// snoop returns a plugin that opens the files it is told of as a whole, looks for others in
// their folder, above it and in the store of the host, and tells in its failure.
func snoop(_ int64, s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
	m, err := s.Recv()
	if err != nil {
		return err
	}
	var all snooped
	for _, f := range m.GetDataset().GetFiles() {
		for _, one := range all.read(f.GetPath()) {
			one.Told = f.GetSha256()
			all.Named = append(all.Named, one)
		}
	}
	for _, f := range m.GetDataset().GetFiles()[:1] {
		folder := filepath.Dir(f.GetPath())
		entries, _ := os.ReadDir(folder) // list says why not
		for _, e := range entries {
			all.InFolder = append(all.InFolder, e.Name())
		}
		for _, place := range []string{folder, filepath.Join(folder, ".."), folder + "/../../../../candles"} {
			all.list(place)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return s.Send(&strategypb.PluginMessage{Message: &strategypb.PluginMessage_Failed{
		Failed: &strategypb.Failed{Code: "STRATEGY_ERROR", Message: string(text)},
	}})
}

func (s *snooped) read(path string) []found {
	f, err := candlefile.Open(path)
	if err != nil {
		s.Denied = append(s.Denied, err.Error())
		return nil
	}
	defer f.Close()
	c := f.Series()
	return []found{{Path: path, SHA256: f.SHA256(), First: c.Time[0], Last: c.Time[c.Len()-1], Rows: c.Len()}}
}

// list reads every candle file below a folder that is none of those it was told of.
func (s *snooped) list(folder string) {
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		known := slices.ContainsFunc(s.Named, func(f found) bool { return f.Path == path })
		if err == nil && e.Type().IsRegular() && !known {
			s.Beside = append(s.Beside, s.read(path)...)
		}
		return err
	})
	if err != nil {
		s.Denied = append(s.Denied, err.Error())
	}
}

// snoopOn plays the snooping plugin on a window and returns what it found.
func (l *lab) snoopOn(split Split, from, to market.Time, symbols ...string) snooped {
	l.t.Helper()
	start, end := from.String(), to.String()
	req := request("snoops", nil, symbols...)
	req.StartDate, req.EndDate = &start, &end
	x, err := l.launcher.LaunchSplit(context.Background(), "run_snoop", req, split)
	if err != nil {
		l.t.Fatal(err)
	}
	o := x.Run(context.Background())
	if err := x.Close(); err != nil {
		l.t.Error(err)
	}
	if o.Failure == nil || o.Failure.Code != "STRATEGY_ERROR" {
		l.t.Fatalf("%+v %+v", o, o.Failure)
	}
	var s snooped
	if err := json.Unmarshal([]byte(o.Failure.Message), &s); err != nil {
		l.t.Fatal(err)
	}
	return s
}

// TestNoCandleOutsideTheWindowIsReadable: the file of a co-simulation holds the rows of
// the run and no other, and in the sandbox nothing else can be read or listed.
func TestNoCandleOutsideTheWindowIsReadable(t *testing.T) {
	ring.Undetected(t, "programs with the race detector have no sandbox")
	l := newLab(t, 2000, "snoops")
	s := l.candles(one)
	for _, test := range []struct{ from, to, drive, first int }{
		{500, 600, 0, 500 - snoopsWarmup},
		{500, 600, 7, 500 - 7*snoopsWarmup},
		{500, 600, AllHistory, 0},
		{0, 600, 7, 0},
		{1999, 2000, 0, 1999 - snoopsWarmup},
		{0, 2000, 0, 0},
	} {
		seen := l.snoopOn(Split{Drive: Drive{Warmup: test.drive}}, s.Time[test.from], s.CloseTime(test.to-1))
		if len(seen.Named) != 1 {
			t.Fatalf("%+v: read %+v, denied %q", test, seen.Named, seen.Denied)
		}
		got := seen.Named[0]
		if got.First != s.Time[test.first] || got.Last != s.Time[test.to-1] ||
			got.Rows != test.to-test.first {
			t.Errorf("%+v: the file has the %d candles from %s to %s", test, got.Rows, got.First, got.Last)
		}
		if got.SHA256 != got.Told {
			t.Errorf("%+v: the plugin was told of sha256 %s and got %s", test, got.Told, got.SHA256)
		}
		if l.confined() && (len(seen.Beside) > 0 || len(seen.Denied) < 3) {
			t.Errorf("%+v: beside its own file it could read %+v; denied %q", test, seen.Beside, seen.Denied)
		}
	}
}

// TestFolderOfARunHoldsNothingElse: without a sandbox, too, no other run's candles lie
// beside those of a run.
func TestFolderOfARunHoldsNothingElse(t *testing.T) {
	l := newLab(t, 2000, "snoops", "good")
	s := l.candles(one)
	other := request("good", nil)
	x := l.launch(other)
	seen := l.snoopOn(Split{}, s.Time[500], s.CloseTime(599), one, two)
	if len(seen.Named) != 2 || seen.Named[0].Last != s.Time[599] || seen.Named[1].Last != s.Time[599] {
		t.Fatalf("read %+v, denied %q", seen.Named, seen.Denied)
	}
	folder := filepath.Dir(seen.Named[0].Path)
	if folder != filepath.Dir(seen.Named[1].Path) || folder == x.data.folder.Path() {
		t.Errorf("the runs have the folders %s and %s", folder, x.data.folder.Path())
	}
	if len(seen.InFolder) != 2 && !l.confined() {
		t.Errorf("in its folder are %q", seen.InFolder)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder of a run that is over: %v", err)
	}
	if o := x.Run(context.Background()); o.Failure != nil {
		t.Errorf("%+v", o.Failure)
	}
}

// candles are those of a symbol.
func (l *lab) candles(symbol market.Symbol) *market.Series {
	l.t.Helper()
	d, err := l.store.Lookup(l.t.Context(), venue, symbol, market.MustTimeframe("1h"))
	if err != nil {
		l.t.Fatal(err)
	}
	f, err := l.store.OpenSeries(d)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { f.Close() })
	return f.Series()
}

// confined reports whether the sandbox of this machine confines files.
func (l *lab) confined() bool {
	l.t.Helper()
	s, err := l.catalog.Lookup("snoops")
	if err != nil {
		l.t.Fatal(err)
	}
	p, err := l.catalog.Launch(l.t.Context(), s, catalog.LaunchOptions{Plain: true})
	if err != nil {
		l.t.Fatal(err)
	}
	defer p.Kill("seen")
	return p.Level().String() == sandbox.LevelFull
}
