package runner

import (
	"context"
	"errors"
	"fmt"
)

// A service starts a run, sees every change of status, and stops the run.
func ExampleRunner() {
	r := New(Options{Recorder: &fakeRecorder{}})
	changes, cancel := r.Subscribe()
	defer cancel()

	ctx := context.Background()
	launch := func(context.Context, string) (Execution, error) { return &fakeExec{run: untilStopped}, nil }
	_, err := r.Start(ctx, backtest(), launch)
	fmt.Println("started:", err)

	_, err = r.Start(ctx, backtest(), launch)
	var refusal *Error
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Code, "-", refusal)
	}
	now, err := r.Stop(ctx)
	fmt.Println(now.Status, now.StopReason, err)
	for range 2 {
		c := <-changes
		fmt.Println(c.Previous, "->", c.Snapshot.Status)
	}
	fmt.Println(r.Shutdown(ctx))
	// Output:
	// started: <nil>
	// RUN_ALREADY_ACTIVE - A run is already active (status: running). Stop it first.
	// completed stopped <nil>
	// idle -> running
	// running -> completed
	// <nil>
}
