package evidence

import (
	"io/fs"
	"math"
	"strings"
	"testing"
)

const header = "trade_id,symbol,quantity,entry_price,exit_price,pnl\n"

func TestEdge(t *testing.T) {
	files := map[string]string{
		// 3 - 0.6 of 400 + 200 bought and sold.
		"splits/wf-00/trades.csv": header + "t-1,A/Q,2,90,110,3\n",
		"splits/test/trades.csv":  header + "t-1,A/Q,1,100,100,-0.6\n",
		"splits/train/trades.csv": header + "t-1,A/Q,1,100,100,99\n",
	}
	read := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
	rep := &report{Splits: []reportSplit{
		{ID: "test", Role: roleTest}, {ID: "train", Role: "train"}, {ID: "wf-00", Role: roleWalkForward},
	}}
	e, err := edgeOf(rep, read)
	if err != nil || e == nil || e.Trades != 2 || math.Abs(e.Bps-40) > 1e-12 {
		t.Fatal(e, err)
	}
	for _, bad := range []string{"", "trade_id,pnl\n", header + "t-1,A/Q,1,1,1,NaN\n", header + "t-1\n"} {
		files["splits/test/trades.csv"] = bad
		if e, err := edgeOf(rep, read); err == nil || !strings.HasPrefix(err.Error(), "splits/test/trades.csv: ") {
			t.Errorf("%q: %v, %v", bad, e, err)
		}
	}
	delete(files, "splits/test/trades.csv")
	if e, err := edgeOf(rep, read); e != nil || err != nil {
		t.Error("one table is away", e, err)
	}
	files["splits/test/trades.csv"], files["splits/wf-00/trades.csv"] = header, header
	if e, err := edgeOf(rep, read); e != nil || err != nil {
		t.Error("nothing was traded", e, err)
	}
}

func TestImpact(t *testing.T) {
	of := func(id, params string) *attack {
		return &attack{Statistics: []testStatistic{{ID: "determinism"}, {ID: id, Params: []byte(params)}}}
	}
	i, err := impactOf(of("capacity", `{"max_scale":2,"impact":{"capital":10000,"bps":5}}`))
	if err != nil || i == nil || i.Capital != 10000 || i.Bps != 5 {
		t.Fatal(i, err)
	}
	for _, none := range []*attack{{}, of("regime", `{"impact":"x"}`), of("capacity", `{"max_scale":2}`),
		of("capacity", "")} {
		if i, err := impactOf(none); i != nil || err != nil {
			t.Errorf("%+v: %v, %v", none, i, err)
		}
	}
	for _, bad := range []string{`{"impact":7}`, `{"impact":{"capital":0,"bps":5}}`, `{"impact":{"capital":1}}`,
		`{"impact":{"capital":1e18,"bps":1}}`} {
		if _, err := impactOf(of("capacity", bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add([]byte(header + "t-1,A/Q,2,90,110,3\n"))
	f.Add([]byte("trade_id,quantity\nt-1,1e308\n\"\n"))
	rep := &report{Splits: []reportSplit{{ID: "test", Role: roleTest}}}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := edgeOf(rep, func(string) ([]byte, error) { return text, nil })
		if e != nil && (err != nil || e.Trades < 1 || math.IsNaN(e.Bps) || math.IsInf(e.Bps, 0)) {
			t.Error(e, err)
		}
	})
}
