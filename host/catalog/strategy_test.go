package catalog

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

func TestDescribeFillsIn(t *testing.T) {
	s, fault := describe(&strategypb.Spec{Name: "least"})
	if fault != nil {
		t.Fatal(fault)
	}
	if s.DisplayName != "least" || s.Version != "0.0.0" || s.ProtocolVersion != 1 || s.MinSymbols != 1 ||
		s.MaxSymbols != 1 {
		t.Errorf("got %+v", s)
	}
	if !reflect.DeepEqual(s.Modes, []string{"backtest", "paper", "live"}) || s.Timeframes != nil ||
		!s.SupportsTimeframe("7m") {
		t.Errorf("modes %v, timeframes %v", s.Modes, s.Timeframes)
	}
	if got, bad := s.ValidateParams(nil); string(got) != "{}" || bad != nil {
		t.Errorf("got %s, %v", got, bad)
	}
	if _, bad := s.ValidateParams([]byte(`{"x":1}`)); len(bad) != 1 || bad[0].Pointer != "/x" {
		t.Errorf("got %v", bad)
	}
}

func TestDescribeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*strategypb.Spec)
		code   string
	}{
		"empty name":     {func(s *strategypb.Spec) { s.Name = "" }, CodeBadName},
		"long name":      {func(s *strategypb.Spec) { s.Name = strings.Repeat("a", 64) }, CodeBadName},
		"other protocol": {func(s *strategypb.Spec) { s.ProtocolVersion = 2 }, proc.CodeWrongProtocol},
		"mode":           {func(s *strategypb.Spec) { s.Modes = []string{"Live"} }, CodeBadSpec},
		"timeframe":      {func(s *strategypb.Spec) { s.Timeframes = []string{"1h", "0h"} }, CodeBadSpec},
		"symbols":        {func(s *strategypb.Spec) { s.MinSymbols, s.MaxSymbols = 3, 2 }, CodeBadSpec},
		"negative":       {func(s *strategypb.Spec) { s.MaxSymbols = -1 }, CodeBadSpec},
		"long text": {func(s *strategypb.Spec) {
			s.Description = strings.Repeat("x", maxText+1)
		}, CodeBadSpec},
		"schema":   {func(s *strategypb.Spec) { s.ParamsSchema = "{" }, CodeBadSchema},
		"defaults": {func(s *strategypb.Spec) { s.DefaultParams = `{"slow":1}` }, CodeBadSchema},
	} {
		spec := goodSpec("good")
		test.change(spec)
		if _, fault := describe(spec); fault == nil || fault.Code != test.code || fault.Message == "" {
			t.Errorf("%s: got %+v, want %s", name, fault, test.code)
		}
	}
}

func TestMergePrefersTheFirstFileAndTheDebugger(t *testing.T) {
	entry := func(file, name string) Strategy {
		return Strategy{Name: name, origin: origin{File: file}, Status: Available}
	}
	broken := unavailable("x_y", proc.Faultf(CodeBadSpec, "bad"))
	debugged := Strategy{Name: "dbg", origin: origin{Debug: true}, Status: Available}
	list := (&Catalog{}).merge(
		[]Strategy{entry("a", "x-y"), entry("b", "x_y"), entry("c", "dbg"), broken, entry("d", "other")},
		[]Strategy{debugged})
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprintf("%s/%s/%t", s.Name, s.Status, s.Debug))
	}
	want := []string{"b/unavailable/false", "dbg/available/true", "other/available/false",
		"x-y/available/false", "x_y/unavailable/false"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func ExampleStrategy_ValidateParams() {
	s, fault := describe(&strategypb.Spec{
		Name:          "sma_cross",
		ParamsSchema:  `{"type":"object","additionalProperties":false,"properties":{"fast":{"type":"integer","minimum":1},"slow":{"type":"integer"}}}`,
		DefaultParams: `{"fast":10,"slow":30}`,
	})
	if fault != nil {
		fmt.Println(fault.Message)
		return
	}
	params, _ := s.ValidateParams([]byte(`{"fast": 20}`))
	fmt.Println(string(params))
	_, wrong := s.ValidateParams([]byte(`{"fast": 0, "slwo": 5}`))
	for _, w := range wrong {
		fmt.Println(w.Pointer, w.Message)
	}
	// Output:
	// {"fast":20,"slow":30}
	// /fast must be at least 1
	// /slwo is not a parameter of this strategy: did you mean slow? It has fast, slow
}
