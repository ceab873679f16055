package run

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

func TestPublishedIsBounded(t *testing.T) {
	s := PluginOutput{Limits: Limits{Series: 2, Each: 5, All: 8}}
	points := func(name string, n int) wire.Series {
		return wire.Series{Name: name, Times: make([]market.Time, n), Values: make([]float64, n)}
	}
	for _, p := range []wire.Series{points("a", 4), points("a", 4), points("b", 4), points("c", 1)} {
		s.addPoints(p)
	}
	if len(s.series) != 2 || len(s.series[0].Time) != 5 || len(s.series[1].Time) != 3 || s.lost != 5 {
		t.Errorf("%d series, %d points, %d lost", len(s.series), s.points, s.lost)
	}
}

// What an author logs arrives with its keys and values, in the order in which they were
// given, in the service's log, on the stream and in the file of the run.
func TestLogKeepsKeysAndValues(t *testing.T) {
	var service bytes.Buffer
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &service, DisableTime: true})
	s := PluginOutput{}
	s.KeepFile("train", 1<<20)
	fields := market.Fields{{Key: "side", Value: "buy"}, {Key: "price", Value: "1.5"},
		{Key: "at\n[INFO]", Value: "\x1b[2J\nforged"}}
	s.addLine(logger,
		wire.LogLine{Step: 104, Time: 1706659200123, Level: "info", Message: "fill", Fields: fields})
	want := `strategy: fill: level=info step=104 candle=2024-01-31T00:00:00.123Z side=buy price=1.5 "at\n[INFO]"="\x1b[2J\nforged"` + "\n"
	if got := service.String(); !strings.HasSuffix(got, want) {
		t.Errorf("service log %q, want %q", got, want)
	}
	file := `{"split_id":"train","step":104,"time":"2024-01-31T00:00:00.123Z","level":"info","source":"plugin","message":"fill",` +
		`"fields":{"side":"buy","price":"1.5","at\n[INFO]":"\u001b[2J\nforged"}}` + "\n"
	if got := string(s.file.file()); got != file {
		t.Errorf("file %s, want %s", got, file)
	}
	if got := s.lines[0].Fields; len(got) != 4 || got[0].Key != "side" || got.Get("step") != "104" {
		t.Errorf("stream %v", got)
	}
}

func TestLogFileIsCutAndSaysSo(t *testing.T) {
	s := PluginOutput{}
	s.KeepFile("full", 1000)
	for i := range int64(100) {
		s.addLine(hclog.NewNullLogger(), wire.LogLine{Step: i, Level: "info", Message: "m"})
	}
	lines := strings.Split(strings.TrimSpace(string(s.file.file())), "\n")
	last := lines[len(lines)-1]
	left := fmt.Sprintf(`"fields":{"lines_left_out":"%d"}`, 100-(len(lines)-1))
	if len(lines) < 5 || !strings.Contains(last, "the log is cut here at 1000 bytes") ||
		!strings.Contains(last, left) {
		t.Errorf("%d lines, the last is %s, want %s in it", len(lines), last, left)
	}
	if !strings.Contains(lines[0], `"step":0`) {
		t.Errorf("first %s", lines[0])
	}
}
