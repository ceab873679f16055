package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// excerptSplit names an excerpt in its decision lines.
const excerptSplit = "challenge"

// Excerpt plays the part of a request that opens in [from, to) by itself: from a flat account, with
// the program's own warm-up before it, in lockstep, so that the process holds no later candle. It
// returns the decision hash and the level of the sandbox. Where a symbol has no candle in the part, the
// whole request is played. The error reports a program that has failed, too.
func (l *Launcher) Excerpt(ctx context.Context, runID string, req runner.StartRequest, split Split,
	from, to market.Time) (decisions, sandbox string, err error) {
	split.ID, split.Drive = excerptSplit, Drive{Lockstep: true}
	part := req
	start, end := from.String(), to.String()
	part.StartDate, part.EndDate = &start, &end
	x, err := l.LaunchSplit(ctx, runID, part, split)
	if codeOf(err) == CodeDataUnavailable {
		x, err = l.LaunchSplit(ctx, runID, req, split)
	}
	if err != nil {
		return "", "", err
	}
	outcome := x.Run(ctx)
	decisions, sandbox = x.Results().DecisionHash, x.Manifest().Sandbox
	if err := errors.Join(x.Close(), context.Cause(ctx)); err != nil {
		return "", "", err
	}
	if outcome.Failure != nil {
		return "", "", fmt.Errorf("the program failed: %s: %s", outcome.Failure.Code, outcome.Failure.Message)
	}
	return decisions, sandbox, nil
}
