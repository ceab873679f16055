package cmd

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// State is how far a command is. Done and Total count whatever the command counts;
// nothing is shown while Total is not known (0).
type State struct {
	Done, Total int64
	// Running is how many pieces of work are in flight, Failed how many have failed; 0 is
	// not shown.
	Running, Failed int
	// Best is the best result so far, Left what is still to be done, as text; empty is not shown.
	Best, Left string
}

// Progress shows on stderr how far a command is: on a terminal one line that is
// redrawn, else a plain line for every tenth of the way that took a second, or every ten seconds, with
// --quiet nothing. A line has the share, the rate, the best result, the failures and the
// time that is left. All methods may be called from several goroutines.
type Progress struct {
	mu       sync.Mutex
	out      *screen // nil: quiet
	terminal bool
	width    int
	now      func() time.Time
	what     string
	unit     string
	from     int64
	start    time.Time
	shown    time.Time
	tenth    int64
	full     bool
}

// How often a line is shown at most on a terminal, and at least elsewhere.
const (
	redrawEvery = 100 * time.Millisecond
	tellEvery   = 10 * time.Second
	tellAfter   = time.Second // what is over in less is shown once, at its end
)

// Progress begins to show a piece of work, named by what. End must be called.
func (a *App) Progress(what string) *Progress {
	p := &Progress{terminal: a.IO.Terminal, width: 80, now: a.now, what: what}
	if n, err := strconv.Atoi(a.IO.Getenv("COLUMNS")); err == nil && n > 0 {
		p.width = n
	}
	if !a.Quiet {
		p.out = a.screen
	}
	p.start = p.now()
	p.shown = p.start
	return p
}

// Count names what is counted, for the rate ("trials"), and sets how much of it was done
// before and so does not count for the speed. It returns p.
func (p *Progress) Count(unit string, from int64) *Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unit, p.from = unit, from
	return p
}

// Update shows that done of total is done.
func (p *Progress) Update(done, total int64) { p.Show(State{Done: done, Total: total}) }

// Show shows how far the work is. It is cheap: most calls show nothing.
func (p *Progress) Show(s State) {
	if p.out == nil || s.Total <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	s.Done = min(s.Done, s.Total)
	share := s.Done * 100 / s.Total
	if p.terminal {
		if now.Sub(p.shown) >= redrawEvery {
			p.shown = now
			p.out.draw(p.line(s, share, now))
		}
		return
	}
	// The end is shown once, whatever else happened in its second.
	ended := s.Done == s.Total && !p.full
	gone := now.Sub(p.shown)
	if share/10 > p.tenth && gone >= tellAfter || gone >= tellEvery || ended {
		p.shown, p.tenth, p.full = now, share/10, s.Done == s.Total
		fmt.Fprintln(p.out, p.line(s, share, now))
	}
}

func (p *Progress) line(s State, share int64, now time.Time) string {
	text := fmt.Sprintf("%s %d %%", p.what, share)
	if p.terminal { // what follows does not move as the number grows
		text = fmt.Sprintf("%s %3d %%", p.what, share)
	}
	rate, left := p.speed(s, now)
	parts := []string{text, rate, s.Best}
	if s.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", s.Failed))
	}
	if s.Running > 0 {
		parts = append(parts, fmt.Sprintf("%d running", s.Running))
	}
	parts = append(parts, s.Left, left)
	shown := parts[:0]
	for _, part := range parts {
		if part != "" {
			shown = append(shown, strings.Join(strings.Fields(part), " "))
		}
	}
	if p.terminal {
		shown[0] = text
		return cut(strings.Join(shown, ", "), p.width-1)
	}
	return strings.Join(shown, ", ")
}

// enough is how much has to be done before its pace says anything of the rest.
const enough = 3

// speed is how much is done in a second, once it can be said, and how long the rest
// takes at that speed, once enough is done.
func (p *Progress) speed(s State, now time.Time) (rate, left string) {
	gone := now.Sub(p.start)
	done := s.Done - p.from
	if done <= 0 || gone < time.Second {
		return "", ""
	}
	each := float64(done) / gone.Seconds()
	rate = strings.TrimSuffix(quantity(each)+" "+p.unit, " ") + "/s"
	if s.Done < s.Total && done >= enough {
		left = (time.Duration(float64(s.Total-s.Done) / each * float64(time.Second))).Round(
			time.Second).String() + " left"
	}
	return rate, left
}

// quantity is a number with about three digits: 0.42, 17.3, 512, 34k, 1.2M.
func quantity(x float64) string {
	switch {
	case x >= 999_500:
		return strconv.FormatFloat(x/1e6, 'f', 1, 64) + "M"
	case x >= 9_995:
		return strconv.FormatFloat(x/1e3, 'f', 0, 64) + "k"
	case x >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// cut shortens a text to so many characters: a line that wraps cannot be redrawn.
func cut(text string, width int) string {
	if width < 1 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// End removes the redrawn line.
func (p *Progress) End() {
	if p.out != nil {
		p.out.clear()
	}
}

// screen is stderr with at most one line on it that can be redrawn. Whatever else is
// written takes the place of that line.
type screen struct {
	mu    sync.Mutex
	w     io.Writer
	drawn bool
}

const wipe = "\r\x1b[K"

// Write writes text below what is there.
func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	return s.w.Write(text)
}

func (s *screen) draw(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = true
	fmt.Fprint(s.w, wipe+line) // a closed stderr is nothing to report to
}

func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
}

func (s *screen) wipe() {
	if s.drawn {
		s.drawn = false
		fmt.Fprint(s.w, wipe)
	}
}
