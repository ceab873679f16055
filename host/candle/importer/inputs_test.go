package importer_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func readInput(text string, o importer.InputOptions) ([]market.InputRow, error) {
	rows, _, err := importer.ReadInput(importer.Bytes("rate.csv", []byte(text)), o)
	return rows, err
}

func TestReadInput(t *testing.T) {
	hour := time.Hour
	want := []market.InputRow{
		{Time: 1577836800000, Known: 1577840400000, Value: 0.5},
		{Time: 1577840400000, Known: 1577844000000, Value: -1e-7},
	}
	for text, o := range map[string]importer.InputOptions{
		"time,known,value\n2020-01-01T00:00:00Z,1577840400,0.5\n1577840400000,2020-01-01T02:00:00Z,-0.0000001\n": {},
		"\ufeffValue;note;TIME\r\n-0.0000001;x;1577840400\r\n0.5;y;1577836800\r\n0.5;y;1577836800\r\n":           {KnownDelay: &hour},
		"time\tvalue\n2020-01-01 00:00:00\t0.5\n2020-01-01 01:00:00\t-1e-7\n": {
			KnownDelay: &hour, Zone: time.UTC},
	} {
		if rows, err := readInput(text, o); err != nil || !slices.Equal(rows, want) {
			t.Errorf("%q: %+v, %v", text, rows, err)
		}
	}
}

func TestRefusedInputs(t *testing.T) {
	hour, back := time.Hour, -time.Hour
	for _, test := range []struct {
		text string
		o    importer.InputOptions
		code importer.Code
		says string
	}{
		{"time,value\n2020-01-01,1\n", importer.InputOptions{}, importer.ColumnsMissing, "--known-delay"},
		{"time,known\n2020-01-01,1\n", importer.InputOptions{}, importer.ColumnsMissing, "value"},
		{"known,value\n2020-01-01,1\n", importer.InputOptions{}, importer.ColumnsMissing, "time"},
		{"", importer.InputOptions{}, importer.NoRows, "empty"},
		{"time,known,value\n", importer.InputOptions{}, importer.NoRows, "no row"},
		{"time,known,value\n2020-01-01,2020-01-02,\n", importer.InputOptions{}, importer.BadNumber, "line 2"},
		{"time,known,value\n2020-01-01,2020-01-02,NaN\n", importer.InputOptions{}, importer.BadNumber, "NaN"},
		{"time,known,value\n2020-01-01,2020-01-02,inf\n", importer.InputOptions{}, importer.BadNumber, "inf"},
		{"time,known,value\n2020-01-01,2020-01-02 10:00:00,1\n", importer.InputOptions{},
			importer.TimezoneRequired, "known"},
		{"time,known,value\n2020-01-01,yesterday,1\n", importer.InputOptions{}, importer.BadNumber, "known"},
		{"time,known,value\n2020-01-01,2020-01-02\n", importer.InputOptions{}, importer.Encoding, "line 2"},
		{"time,known,value\n2020-01-01,2020-01-02,1\n2020-01-01,2020-01-02,2\n", importer.InputOptions{},
			importer.ConflictingDuplicates, "1 and 2"},
		{"time,known,value\n2020-01-01,2020-01-02,1\n", importer.InputOptions{KnownDelay: &hour}, "", "leave"},
		{"time,value\n2020-01-01,1\n", importer.InputOptions{KnownDelay: &back}, "", "--known-delay"},
	} {
		_, err := readInput(test.text, test.o)
		var refused *importer.Error
		var option *importer.OptionError
		if errors.As(err, &refused) && refused.Code != test.code || test.code == "" && !errors.As(err, &option) ||
			err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: got %v, want %s that says %q", test.text, err, test.code, test.says)
		}
	}
}

// What is read is in order, finite and without contradiction, and comes back as it is stored, byte
// for byte; anything else is a refusal.
func FuzzReadInput(f *testing.F) {
	f.Add("time,known,value\n2020-01-01,2020-01-02T03:04:05.678Z,1.5\n2020-01-01,1577840400,-0\n", false)
	f.Add("time;value\n\"1577836800\";1e-300\n", true)
	f.Fuzz(func(t *testing.T, text string, delayed bool) {
		o := importer.InputOptions{Zone: time.UTC}
		if delayed {
			hour := time.Hour
			o.KnownDelay = &hour
		}
		rows, err := readInput(text, o)
		if err != nil {
			var refused *importer.Error
			var option *importer.OptionError
			if !errors.As(err, &refused) && !errors.As(err, &option) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for i, r := range rows {
			if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) ||
				i > 0 && market.CompareInputRows(rows[i-1], r) >= 0 {
				t.Fatalf("row %d is %+v", i, r)
			}
		}
		var once, twice bytes.Buffer
		if err := importer.WriteInput(&once, rows); err != nil {
			t.Fatal(err)
		}
		again, err := readInput(once.String(), importer.InputOptions{})
		if err == nil {
			err = importer.WriteInput(&twice, again)
		}
		if err != nil || !slices.Equal(again, rows) || once.String() != twice.String() {
			t.Fatalf("%+v came back as %+v: %v", rows, again, err)
		}
	})
}
