package trade

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/risk"
)

// TestAlarmsOfARun: an alarm is open while it holds, counts, has one line of the log when it is raised and
// one when it is cleared, is in the journal, and survives the end of the run where it is about money.
func TestAlarmsOfARun(t *testing.T) {
	d := newTestHost(t, 10, "good")
	d.launcher.opts.Risk = limited(t, risk.Enforce, map[string]string{"max-order-notional": "100"})
	var log bytes.Buffer
	x := d.launch(onSim(runner.ModePaper, "good", map[string]any{"every": 5}, ""))
	x.log = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Info})
	if o := until(x, 40, runner.ErrStopRequested); o.Failure != nil {
		t.Fatalf("%+v", o.Failure)
	}
	if p := x.Progress(); len(p.Alarms) != 0 || p.Rejects < 5 || p.LastCandle.IsZero() {
		t.Errorf("after the end %+v", p)
	}
	for _, line := range []string{"alarm raised: code=ORDER_NOTIONAL_EXCEEDED severity=error id=a-000001",
		"alarm cleared: code=ORDER_NOTIONAL_EXCEEDED"} {
		if n := strings.Count(log.String(), line); n != 1 {
			t.Errorf("%d lines %q:\n%s", n, line, log.String())
		}
	}
	rows := alarmRows(t, d, x.runID)
	if len(rows) != 2 || rows[0].Event != alarm.Raised || rows[1].Event != alarm.Cleared ||
		rows[1].Count < 5 || rows[1].ID != "a-000001" {
		t.Errorf("%+v", rows)
	}
}

func alarmRows(t *testing.T, d *testHost, runID string) (list []alarmRow) {
	t.Helper()
	err := journal.Each(func(p journal.Page) (journal.Rows[journal.Entry], error) {
		return d.journal.Log(t.Context(), runID, p, logAlarm)
	}, func(e journal.Entry) error {
		list = append(list, alarmRow{})
		return json.Unmarshal(e.Data.(json.RawMessage), &list[len(list)-1])
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAlarmsAreReadBack: after a crash those that the run left open are shown, but for what was about its
// trading.
func TestAlarmsAreReadBack(t *testing.T) {
	d := newTestHost(t, 10, "good")
	x := d.launch(onSim(runner.ModePaper, "good", map[string]any{"every": 5}, ""))
	stop := x.plugin.Watch(context.Background())
	defer stop()
	if err := x.beginJournal(); err != nil {
		t.Fatal(err)
	}
	x.writeLog(logAlarm, map[string]any{"code": "BALANCE_DRIFT", "message": "as of 1.0.0"})
	for _, code := range []string{"STREAM_RECONCILING", "FILL_CONFLICT", "BALANCE_DRIFT", "LATE_FILL"} {
		x.Raise(alarm.Occurrence{Code: code, Subject: "BTC/USDT", Text: "the text of " + code})
	}
	x.Clear("LATE_FILL", "BTC/USDT")
	if _, err := x.alarms.acknowledge("a-000003"); err != nil {
		t.Error(err)
	}
	if _, err := x.alarms.acknowledge("a-000009"); err == nil {
		t.Error("there is no such alarm")
	}
	x.plugin.Close("test")
	rep, _, err := d.launcher.Interrupted(t.Context())
	if err != nil || rep == nil {
		t.Fatal(rep, err)
	}
	got := rep.Snapshot.Progress.Alarms
	if len(got) != 2 || got[0].Code != "FILL_CONFLICT" || got[0].Acknowledged ||
		got[1].Code != "BALANCE_DRIFT" || !got[1].Acknowledged {
		t.Fatalf("%+v", got)
	}
	if a := got[0]; a.ID != "a-000002" || a.Severity != alarm.Error ||
		a.Text != "the text of FILL_CONFLICT" || a.Count != 1 ||
		time.Since(a.Since.Time()) > time.Hour || a.Last != a.Since {
		t.Errorf("%+v", a)
	}
}

// TestPolicyAlarms: of what the deployment policy tells one alarm stands at a time, and none when it is
// content again.
func TestPolicyAlarms(t *testing.T) {
	d := newTestHost(t, 10, "good")
	x := d.launch(onSim(runner.ModePaper, "good", map[string]any{"every": 5}, ""))
	x.plugin.Close("test")
	tell := func(act deploy.Act, code deploy.Code) {
		x.permit.onDeployment(nil, deploy.Event{Act: act, Notice: deploy.Notice{Code: code, Message: "told"}})
	}
	want := func(codes ...string) {
		t.Helper()
		var got []string
		for _, a := range x.Progress().Alarms {
			got = append(got, a.Code)
		}
		if !slices.Equal(got, codes) {
			t.Errorf("%v, want %v", got, codes)
		}
	}
	tell(deploy.Alarm, deploy.RegistryUnavailable)
	want("REGISTRY_UNAVAILABLE")
	tell(deploy.Alarm, deploy.DeploymentExpired)
	want("DEPLOYMENT_EXPIRED")
	tell(deploy.Clear, deploy.DeploymentExpired)
	want()
	x.permit.admission.Ungated = "nobody lets it"
	tell(deploy.Alarm, deploy.DeploymentRevoked)
	if a := x.Progress().Alarms; len(a) != 1 || a[0].Severity != alarm.Warning {
		t.Errorf("%+v", a)
	}
}
