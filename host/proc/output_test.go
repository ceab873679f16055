package proc

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTailLines(t *testing.T) {
	for _, test := range []struct {
		writes []string
		lines  []string // passed on
		kept   []string
	}{
		{nil, nil, []string{}},
		{[]string{"a\nb\n"}, []string{"a", "b"}, []string{"a", "b"}},
		{[]string{"a", "b\n\n \nc"}, []string{"ab", "c"}, []string{"ab", "", " ", "c"}},
		{[]string{"\xff\n"}, []string{"\uFFFD"}, []string{"\uFFFD"}},
		{
			[]string{strings.Repeat("x", lineBytes) + "\ny\n"},
			[]string{strings.Repeat("x", lineBytes), "y"},
			[]string{strings.Repeat("x", lineBytes), "y"},
		},
		{
			[]string{strings.Repeat("x", lineBytes+1) + "\n"},
			[]string{strings.Repeat("x", lineBytes), "x"},
			[]string{strings.Repeat("x", lineBytes+1)},
		},
	} {
		var got []string
		tail := newTail(func(line string) { got = append(got, line) })
		for _, w := range test.writes {
			tail.readFrom(strings.NewReader(w))
		}
		tail.flush()
		if !reflect.DeepEqual(got, test.lines) {
			t.Errorf("%.40q: passed on %.80q", test.writes, got)
		}
		if kept := tail.lines(); !reflect.DeepEqual(kept, test.kept) {
			t.Errorf("%.40q: kept %.80q", test.writes, kept)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	tail := newTail(nil)
	for i := range 100_000 {
		tail.write(fmt.Appendf(nil, "line %d\n", i))
	}
	lines := tail.lines()
	if last := lines[len(lines)-1]; last != "line 99999" {
		t.Errorf("the last line is %q", last)
	}
	if !strings.HasPrefix(lines[0], "line ") || len(strings.Join(lines, "\n")) > tailBytes {
		t.Errorf("%d lines, the first is %q", len(lines), lines[0])
	}
	if cap(tail.ring) > 8*tailBytes {
		t.Errorf("it holds %d bytes", cap(tail.ring))
	}
}

func TestTailIsRateLimited(t *testing.T) {
	var got []string
	tail := newTail(func(line string) { got = append(got, line) })
	for range 10_000 {
		tail.write([]byte("x\n"))
	}
	if len(got) < lineBurst || len(got) > 2*lineBurst {
		t.Errorf("passed on %d lines", len(got))
	}
	tail.filled = time.Now().Add(-time.Second)
	tail.write([]byte("later\n"))
	end := got[len(got)-2:]
	if !strings.Contains(end[0], "lines left out") || end[1] != "later" {
		t.Errorf("it ends with %q", end)
	}
	before := len(got)
	tail.flush()
	if len(got) != before {
		t.Errorf("flush said %q", got[before:])
	}
}

func TestFirstLine(t *testing.T) {
	for _, test := range []struct{ in, line, rest string }{
		{"", "", ""},
		{"a\nb", "a", "b"},
		{"a", "a", ""},
		{"\n", "", ""},
	} {
		if line, rest := firstLine(strings.NewReader(test.in)); line != test.line ||
			string(rest) != test.rest {
			t.Errorf("%q: got %q and %q", test.in, line, rest)
		}
	}
	long := strings.Repeat("x", 3*maxFirstLine)
	if line, _ := firstLine(strings.NewReader(long)); len(line) < maxFirstLine ||
		len(line) > maxFirstLine+4096 {
		t.Errorf("a long line was cut at %d", len(line))
	}
}

// TestSettle: words on their way are waited for, a process that talks on is not
// waited for for ever, and one that is gone not at all.
func TestSettle(t *testing.T) {
	tail := newTail(func(string) {})
	running := make(chan struct{})
	go func() {
		time.Sleep(20 * time.Millisecond)
		tail.write([]byte("late\n"))
	}()
	tail.settle(running, 200*time.Millisecond, time.Minute)
	if got := tail.lines(); len(got) != 1 || got[0] != "late" {
		t.Errorf("%q", got)
	}
	chatter, stop := newTail(func(string) {}), make(chan struct{})
	var talk sync.WaitGroup
	talk.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				chatter.write([]byte("and\n"))
				time.Sleep(time.Millisecond)
			}
		}
	})
	chatter.settle(running, 100*time.Millisecond, 300*time.Millisecond) // returns at its limit
	close(stop)
	talk.Wait()
	close(running)
	tail.write([]byte("more\n"))
	tail.settle(running, time.Hour, time.Hour)
}
