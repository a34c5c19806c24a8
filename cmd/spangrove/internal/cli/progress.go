package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress is the line on the terminal of standard error that says how far a long command has
// come. It is drawn over itself, and remarks stand above it. The zero one draws nothing, as where
// standard error is not a terminal.
type progress struct {
	to    io.Writer
	fd    int
	verb  string // such as exporting
	unit  string // such as events
	total int64  // 0: not known
	note  string // behind the rest; empty: none
	begun time.Time
	drawn time.Time
}

// wipe takes away the line that the cursor is in.
const wipe = "\r\x1b[K"

// progress begins a bar, which is to be cleared in the end.
func (o *output) progress(verb, unit string, total int64) *progress {
	fd, ok := terminal(o.errs)
	if !ok || os.Getenv("TERM") == "dumb" {
		return &progress{}
	}
	o.wipe = wipe
	p := &progress{to: o.errs, fd: fd, verb: verb, unit: unit, total: total, begun: time.Now()}
	p.at(0, 0)
	return p
}

// redraw is how often a bar is drawn.
const redraw = 100 * time.Millisecond

// at sets the progress: done of the total, and how many units that is.
func (p *progress) at(done, units int64) {
	if done != p.total && time.Since(p.drawn) < redraw {
		return
	}
	p.drawn = time.Now()
	p.draw(func(width int) string {
		return barLine(p.verb, p.unit, done, p.total, units, p.drawn.Sub(p.begun), p.note, width)
	})
}

// line draws a text instead of the bar.
func (p *progress) line(text string) {
	p.draw(func(width int) string { return shorten(text, width) })
}

// draw draws what there is to be in so many columns, which can change. One stays free: some
// terminals wrap when the last one is written.
func (p *progress) draw(text func(width int) string) {
	if p.to == nil {
		return
	}
	if width, _, err := term.GetSize(p.fd); err == nil && width > 1 {
		_, _ = io.WriteString(p.to, wipe+text(width-1)) // that it cannot be seen harms nothing
	}
}

// clear takes the line away.
func (p *progress) clear() { p.draw(func(int) string { return "" }) }

// barLine returns a line of at most width columns.
func barLine(verb, unit string, done, total, units int64, took time.Duration, note string, width int) string {
	tail := grouped(units) + " " + unit
	if s := took.Seconds(); s >= 1 {
		tail += ", " + grouped(int64(float64(units)/s)) + "/s"
		if total > 0 && done > 0 && done < total {
			tail += ", " + time.Duration(s*float64(total-done)/float64(done)*float64(time.Second)).Round(time.Second).String() + " left"
		}
	}
	if note != "" {
		tail += ", " + note
	}
	line := verb + " "
	if total > 0 {
		part := min(1, float64(done)/float64(total))
		tail = fmt.Sprintf(" %3.0f%% ", 100*part) + tail
		if room := min(40, width-len(line)-len(tail)-len("[]")); room >= 5 {
			full := int(part * float64(room))
			line += "[" + strings.Repeat("#", full) + strings.Repeat(".", room-full) + "]"
		}
	}
	return shorten(line+tail, width)
}

// grouped returns a number with commas between thousands.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && d != '-' && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
