package cmd

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tty is what a person sees: the lines above, and the one that the cursor is on.
type tty struct {
	mu    sync.Mutex
	above []string
	line  string
	seen  []string // every state of the line
}

func (x *tty) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for text := string(b); text != ""; {
		switch {
		case strings.HasPrefix(text, wipe):
			x.line, text = "", text[len(wipe):]
		case text[0] == '\n':
			x.above, x.line, text = append(x.above, x.line), "", text[1:]
		default:
			end := strings.IndexAny(text, "\r\n")
			if end < 0 {
				end = len(text)
			}
			x.line, text = x.line+text[:end], text[end:]
		}
	}
	x.seen = append(x.seen, x.line)
	return len(b), nil
}

// clock is a time that only the test moves.
type clock struct{ at time.Time }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func progressOn(w io.Writer, isTerminal bool, columns string) (*App, *clock) {
	c := &clock{time.Unix(1_700_000_000, 0)}
	a := &App{screen: &screen{w: w}, now: func() time.Time { return c.at }}
	a.IO = IO{Err: a.screen, Terminal: isTerminal, Getenv: func(name string) string {
		if name == "COLUMNS" {
			return columns
		}
		return ""
	}}
	return a, c
}

func TestALineThatIsRedrawn(t *testing.T) {
	x := &tty{}
	a, c := progressOn(x, true, "120")
	p := a.Progress("family run plan_a").Count("trials", 16)
	p.Show(State{Done: 16, Total: 64, Running: 2})
	if x.line != "" {
		t.Errorf("shown at once: %q", x.line)
	}
	c.pass(4 * time.Second)
	p.Show(State{Done: 24, Total: 64, Running: 2, Failed: 1, Best: "best sharpe_ratio 1.21 (#17)",
		Left: "40 trials left"})
	if want := "family run plan_a  37 %, 2.00 trials/s, best sharpe_ratio 1.21 (#17), 1 failed, 2 " +
		"running, 40 trials left, 20s left"; x.line != want {
		t.Errorf("got  %q\nwant %q", x.line, want)
	}
	c.pass(50 * time.Millisecond)
	p.Show(State{Done: 25, Total: 64})
	if !strings.Contains(x.line, "37 %") {
		t.Errorf("redrawn after 50 ms: %q", x.line)
	}

	// Somebody else has something to say: it stands above, and the line comes back.
	fmt.Fprintln(a.IO.Err, "warning: something")
	c.pass(time.Second)
	p.Show(State{Done: 64, Total: 64})
	if len(x.above) != 1 || x.above[0] != "warning: something" ||
		!strings.HasPrefix(x.line, "family run plan_a 100 %, 9.50 trials/s") ||
		strings.Contains(x.line, "left") {
		t.Errorf("above %q, line %q", x.above, x.line)
	}
	p.End()
	if x.line != "" || len(x.above) != 1 {
		t.Errorf("left behind: %q below %q", x.line, x.above)
	}
}

func TestALineIsNeverWiderThanTheTerminal(t *testing.T) {
	x := &tty{}
	a, c := progressOn(x, true, "30")
	p := a.Progress("a long name of what is done")
	c.pass(time.Second)
	p.Show(State{Done: 1, Total: 2, Best: "bést\nof all"})
	if n := len([]rune(x.line)); n != 29 || !strings.HasSuffix(x.line, "…") {
		t.Errorf("%d characters: %q", n, x.line)
	}
}

func TestPlainLines(t *testing.T) {
	var b bytes.Buffer
	a, c := progressOn(&b, false, "")
	p := a.Progress("run x")
	for i := range int64(1001) { // a tenth each: 11 lines at most
		p.Update(i, 1000)
		c.pass(10 * time.Millisecond)
	}
	p.End()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 10 || lines[0] != "run x 10 %, 100/s, 9s left" || lines[9] != "run x 100 %, 100/s" {
		t.Errorf("%q", lines)
	}

	// Work that is over in a moment is heard of once.
	b.Reset()
	p = a.Progress("importing")
	for i := range int64(101) {
		p.Update(i, 100)
		c.pass(2 * time.Millisecond)
	}
	if b.String() != "importing 100 %\n" {
		t.Errorf("%q", b.String())
	}

	// Work that is slow is heard of all ten seconds.
	b.Reset()
	p = a.Progress("verify").Count("runs", 0)
	for i := range int64(61) {
		p.Show(State{Done: i, Total: 10_000})
		c.pass(time.Second)
	}
	if got := strings.Count(b.String(), "\n"); got != 6 ||
		!strings.HasPrefix(b.String(), "verify 0 %, 1.00 runs/s, 2h46m30s left\n") {
		t.Errorf("%d lines: %s", got, b.String())
	}
}

func TestQuiet(t *testing.T) {
	var b bytes.Buffer
	a, c := progressOn(&b, true, "")
	a.Quiet = true
	p := a.Progress("run x")
	c.pass(time.Minute)
	p.Update(5, 10)
	p.End()
	if b.Len() != 0 {
		t.Errorf("%q", b.String())
	}
}

// Whatever is told in whatever order: every plain line is whole, shares are within 0 and 100,
// and between two lines lies a tenth or ten seconds, or it is the end.
func TestPlainLinesAreFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		a, c := progressOn(&b, false, "")
		p := a.Progress("w").Count("", rapid.Int64Range(0, 5).Draw(t, "before"))
		passed := 0
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			s := State{Done: rapid.Int64Range(0, 120).Draw(t, "done"),
				Total:  rapid.Int64Range(0, 100).Draw(t, "total"),
				Failed: rapid.IntRange(0, 3).Draw(t, "failed")}
			p.Show(s)
			wait := rapid.IntRange(0, 11_000).Draw(t, "ms")
			c.pass(time.Duration(wait) * time.Millisecond)
			passed += wait
		}
		p.End()
		for line := range strings.Lines(b.String()) {
			var share int
			if _, err := fmt.Sscanf(line, "w %d %%", &share); err != nil || share < 0 || share > 100 ||
				!strings.HasSuffix(line, "\n") {
				t.Fatalf("%q: %v", line, err)
			}
		}
	})
}

func TestProgressFromManyGoroutines(t *testing.T) {
	x := &tty{}
	a, _ := progressOn(x, false, "")
	p := a.Progress("trials")
	var wg sync.WaitGroup
	for i := range int64(20) {
		wg.Go(func() { p.Show(State{Done: i, Total: 20}) })
	}
	wg.Wait()
	p.Update(20, 20)
	p.End()
	if len(x.above) == 0 || x.above[len(x.above)-1] != "trials 100 %" {
		t.Errorf("%q", x.above)
	}
}

func TestQuantity(t *testing.T) {
	for x, want := range map[float64]string{0.421: "0.42", 9.994: "9.99", 9.996: "10.0", 17.34: "17.3",
		99.96: "100", 512.4: "512", 9994: "9994", 9996: "10k", 34_100: "34k", 999_400: "999k",
		1_234_567: "1.2M"} {
		if got := quantity(x); got != want {
			t.Errorf("%g: %s, want %s", x, got, want)
		}
	}
}
