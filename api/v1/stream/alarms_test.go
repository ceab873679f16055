package stream_test

import (
	"testing"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/runner"
)

// Alarms are told when one changes, all that are open; a client that comes later has them from its snapshot,
// and when they end.
func TestAlarms(t *testing.T) {
	x := newScript()
	s := start(t, setup{prepare: hasty})
	c, _ := s.rich(t)
	x.mode(t, s, runner.ModeLive)
	bare := alarm.Alarm{ID: "a-000001", Code: "POSITION_UNPROTECTED", Severity: alarm.Critical,
		Text: "no stop", Since: epoch, Last: epoch, Count: 1}
	x.alarm(bare)
	var p struct{ Alarms []view.Alarm }
	c.await("alarms").into(t, &p)
	if len(p.Alarms) != 1 || p.Alarms[0] != view.AlarmsOf([]alarm.Alarm{bare})[0] {
		t.Fatalf("%+v", p)
	}
	late, first := s.rich(t)
	var seen struct{ Alarms []view.Alarm }
	first.into(t, &seen)
	if len(seen.Alarms) != 1 || seen.Alarms[0].Code != bare.Code {
		t.Errorf("%+v", seen)
	}
	again := bare
	again.Count, again.Acknowledged = 2, true
	x.alarm(again)
	for c.await("alarms").into(t, &p); len(p.Alarms) == 1 && p.Alarms[0].Count == 1; {
		c.await("alarms").into(t, &p)
	}
	if len(p.Alarms) != 1 || !p.Alarms[0].Acknowledged {
		t.Errorf("%+v", p)
	}
	x.alarm()
	for _, client := range []*socket{c, late} {
		for p.Alarms = nil; ; {
			if client.await("alarms").into(t, &p); len(p.Alarms) == 0 {
				break
			}
		}
	}
}
