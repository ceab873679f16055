package cli

import (
	"fmt"
	"io"
	"time"
)

// Progress shows how far a command is: one line that is redrawn on a terminal, else a
// plain line for every tenth of the way or every ten seconds.
type Progress struct {
	out      io.Writer // nil: quiet
	terminal bool
	what     string
	start    time.Time
	shown    time.Time
	tenth    int64
	drawn    bool
}

func (a *App) Progress(what string) *Progress {
	p := &Progress{out: a.IO.Err, terminal: a.IO.Terminal, what: what, start: time.Now(), shown: time.Now()}
	if a.Quiet {
		p.out = nil
	}
	return p
}

// Update says that done of total is done.
func (p *Progress) Update(done, total int64) {
	if p.out == nil || total <= 0 {
		return
	}
	now := time.Now()
	share := min(done, total) * 100 / total
	if p.terminal {
		if now.Sub(p.shown) >= 100*time.Millisecond {
			p.shown, p.drawn = now, true
			fmt.Fprintf(p.out, "\r%s %3d %%%s\x1b[K", p.what, share, p.eta(now, done, total))
		}
		return
	}
	if share/10 > p.tenth || now.Sub(p.shown) >= 10*time.Second {
		p.shown, p.tenth = now, share/10
		fmt.Fprintf(p.out, "%s %d %%%s\n", p.what, share, p.eta(now, done, total))
	}
}

// eta is the time that is left, when it is worth mentioning.
func (p *Progress) eta(now time.Time, done, total int64) string {
	gone := now.Sub(p.start)
	if done <= 0 || done >= total || gone < time.Second {
		return ""
	}
	left := time.Duration(float64(gone) / float64(done) * float64(total-done))
	return ", " + left.Round(time.Second).String() + " left"
}

// End removes the redrawn line.
func (p *Progress) End() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
