// Package capacity is the test capacity: the fills beside the volume of their candles. One
// test, one folder.
package capacity

import (
	"context"
	"fmt"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "capacity"

var entry = judge.Entry{
	Number: 20, ID: ID, Version: 1, Class: judge.Warning,
	Claim:  "the market has the volume for its orders",
	Method: "quantity of each fill over the volume of its candle; by how much the account could grow",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func(context.Context) (*battery.Finding, error) {
		c, why, err := null.CapacityOf(b.Run, b.Profile.Policy.Participation)
		if err != nil {
			return nil, err
		}
		f := &battery.Finding{Test: Judge(&b.Judge, c, why)}
		if c != nil && why == "" {
			f.Add(fileOf(c))
		}
		return f, nil
	})
}

// Judge judges whether the fills could have been had; why is the reason that null.CapacityOf gave.
func Judge(j *judge.Judge, c *null.Capacity, why stat.Reason) *judge.Test {
	p := j.Policy
	switch why {
	case stat.NotApplicable:
		return entry.Skip(judge.NoVolume)
	case "":
	default:
		t := j.Begin(entry, 0, nil)
		t.Measure("fills_within_limit", nil, why, ">=", &p.ParticipationFills)
		return t.End(judge.Inconclusive, string(why), "nothing was bought or sold")
	}
	t := j.Begin(entry, 0, map[string]any{"participation": p.Participation, "participation_fills": p.ParticipationFills})
	t.Params["max_scale"] = judge.Rounded(&c.MaxScale)
	t.Measure("fills_within_limit", &c.Within, "", ">=", &p.ParticipationFills)
	if c.Within >= p.ParticipationFills {
		return t.End(judge.Pass, "", "")
	}
	return t.End(judge.Fail, judge.AboveLimit, fmt.Sprintf("%s of its fills take more than %s of the volume of their "+
		"candle",
		judge.Percent(1-c.Within), judge.Percent(p.Participation)))
}

// fileOf is capacity.csv of capacity: a row per fill.
func fileOf(c *null.Capacity) judge.File {
	s := judge.NewSheet(entry.ID, "capacity.csv", "time", "symbol", "quantity", "volume", "participation")
	for _, x := range c.Fills {
		s.Row(x.Time.String(), string(x.Symbol), judge.Plain(x.Quantity), judge.Plain(x.Volume), judge.Optional(x.Share))
	}
	return s.File()
}
