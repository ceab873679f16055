package serve_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// TestRunsOfAProcess: one after another, never two at a time, and only one of a strategy that wants
// a process to itself or is the same each time.
func TestRunsOfAProcess(t *testing.T) {
	shared := &warmScript{}
	same := func(scriptParams) (sdk.Strategy, error) { return shared, nil }
	for _, c := range []struct {
		name      string
		fresh     bool
		construct func(scriptParams) (sdk.Strategy, error)
		want      []codes.Code
	}{
		{"sessions", false, newScript, []codes.Code{codes.OK, codes.OK, codes.OK}},
		{"a process to itself", true, newScript, []codes.Code{codes.OK, codes.FailedPrecondition}},
		{"the same strategy again", false, same, []codes.Code{codes.OK, codes.FailedPrecondition}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := serve.NewServer(sdk.Spec{Name: "script", FreshProcess: c.fresh}, c.construct)
			if err != nil {
				t.Fatal(err)
			}
			serve.InProcess(s)
			client := dial(t, s)
			spec, err := client.Describe(t.Context(), &strategypb.DescribeRequest{})
			if err != nil || spec.GetSessions() == c.fresh {
				t.Errorf("the description says %v, %v", spec.GetSessions(), err)
			}
			for i, want := range c.want {
				h := newHost(t, client, synth(10))
				h.say(h.start(cosim, `{}`), h.begin(10), h.dataset())
				if out := h.hear(); status.Code(out.err) != want {
					t.Errorf("run %d: want %v, got %v", i, want, out.err)
				}
			}
		})
	}
}

// TestNoTwoRunsAtATime: a run that has not ended keeps the next one out, one that has failed does not.
func TestNoTwoRunsAtATime(t *testing.T) {
	s := testServer(t)
	serve.InProcess(s)
	client := dial(t, s)
	first := newHost(t, client, synth(10))
	first.say(first.start(cosim, `{"do":"panic","at":3}`))
	ready, err := first.stream.Recv()
	if err != nil || ready.GetReady() == nil {
		t.Fatalf("%v, %v", ready, err)
	}
	second := newHost(t, client, synth(10))
	second.say(second.start(cosim, `{}`))
	if out := second.hear(); status.Code(out.err) != codes.FailedPrecondition {
		t.Errorf("the second run: %v", out.err)
	}
	first.say(first.begin(10), first.dataset())
	if out := first.hear(); out.err != nil || out.failed == nil {
		t.Errorf("the first run: %+v", out)
	}
	third := newHost(t, client, synth(10))
	third.say(third.start(cosim, `{}`), third.begin(10), third.dataset())
	if out := third.hear(); out.err != nil || out.last().Watermark != 9 {
		t.Errorf("the third run: %v", out.err)
	}
}
