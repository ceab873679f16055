package cmd

import (
	"errors"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

func TestWhatIsNotExecutedAgain(t *testing.T) {
	for _, c := range []struct {
		v    verified
		code string
	}{
		{verified{OK: true, Kind: artifact.KindRun, Status: artifact.StatusCompleted}, ""},
		{verified{OK: true, Kind: artifact.KindTrial, Status: artifact.StatusCompleted}, ""},
		{verified{OK: true, Kind: artifact.KindService, Status: artifact.StatusCompleted}, ""},
		{verified{OK: true, Kind: artifact.KindService, Status: artifact.StatusCompleted, mode: "paper"},
			skipped},
		{verified{OK: true, Kind: artifact.KindService, Status: artifact.StatusCompleted, mode: "live"},
			skipped},
		{verified{OK: true, Kind: artifact.KindRun, Status: artifact.StatusFailed}, skipped},
		{verified{OK: true, Kind: artifact.KindRun, Status: artifact.StatusRunning}, skipped},
		{verified{OK: true, Kind: registry.KindLegacy, Status: artifact.StatusCompleted}, skipped},
		{verified{OK: true, Kind: artifact.KindFalsification, Status: artifact.StatusCompleted}, skipped},
		{verified{Kind: artifact.KindRun, Status: artifact.StatusCompleted}, "ARTIFACT_MISMATCH"},
	} {
		got := notRerun(&c.v)
		if (got == nil) != (c.code == "") || got != nil && (got.Code != c.code || got.Message == "") {
			t.Errorf("%+v: %+v, want %q", c.v, got, c.code)
		}
	}
}

func TestTheVerdictIsTheWorst(t *testing.T) {
	yes, no := true, false
	good := verified{OK: true, Reproduced: &yes}
	only := verified{OK: true, Rerun: &withheld{skipped, "it is failed"}}
	gone := verified{OK: true, Rerun: &withheld{"INPUTS_MISSING", "the plugin"}}
	other := verified{OK: true, Reproduced: &no, Problems: []string{"result a, stored b"}}
	changed := verified{Problems: []string{"request.json is missing"}}
	for _, c := range []struct {
		list  []verified
		named bool
		code  string
	}{
		{nil, false, ""},
		{[]verified{good, only}, true, ""},
		{[]verified{only}, false, ""},
		{[]verified{only, only}, true, "INCONCLUSIVE"},
		{[]verified{good, gone, only}, true, "INPUTS_MISSING"},
		{[]verified{gone, other, good}, true, "NOT_REPRODUCED"},
		{[]verified{other, gone, changed}, true, "ARTIFACT_MISMATCH"},
	} {
		err := verdict(c.list, c.named)
		var known *Error
		if errors.As(err, &known) != (c.code != "") || known != nil && known.Code != c.code {
			t.Errorf("%+v: %v, want %q", c.list, err, c.code)
		}
	}
	for want, v := range map[string]verified{"": good, "it is failed": only,
		"INPUTS_MISSING: the plugin": gone, "result a, stored b": other, "request.json is missing": changed} {
		if got := wrongWith(v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	many := verified{Problems: []string{"a is missing", "b", "c"}}
	if got := wrongWith(many); got != "a is missing, and 2 more" || stateOf(many) != "changed" {
		t.Errorf("%q, %q", got, stateOf(many))
	}
}
