package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress draws on the terminal of standard error how far a long command has come. A nil one
// draws nothing, as where standard error is no terminal.
type progress struct {
	out   *output
	fd    int
	verb  string // such as exporting
	unit  string // such as events
	total int64  // 0: not known
	begun time.Time
	drawn time.Time
}

// progress begins a bar.
func (o *output) progress(verb, unit string, total int64) *progress {
	fd, ok := terminal(o.errs)
	if !ok || os.Getenv("TERM") == "dumb" {
		return nil
	}
	p := &progress{out: o, fd: fd, verb: verb, unit: unit, total: total, begun: time.Now()}
	p.draw(0, 0)
	return p
}

// redraw is how often a bar is drawn.
const redraw = 100 * time.Millisecond

// at says that done of the total is done, and how many units that is.
func (p *progress) at(done, units int64) {
	if p != nil && time.Since(p.drawn) >= redraw {
		p.draw(done, units)
	}
}

// end draws the last state and leaves the line to what comes next.
func (p *progress) end(done, units int64) {
	if p == nil {
		return
	}
	p.draw(done, units)
	fmt.Fprint(p.out.errs, "\n")
}

func (p *progress) draw(done, units int64) {
	p.drawn = time.Now()
	width, _, err := term.GetSize(p.fd)
	if err != nil {
		return
	}
	// One column stays free: some terminals wrap when the last one is written.
	fmt.Fprint(p.out.errs, "\r"+barLine(p.verb, p.unit, done, p.total, units, p.drawn.Sub(p.begun), width-1))
}

// barLine is a line of exactly width columns.
func barLine(verb, unit string, done, total, units int64, took time.Duration, width int) string {
	tail := grouped(units) + " " + unit
	if s := took.Seconds(); s >= 1 {
		tail += ", " + grouped(int64(float64(units)/s)) + "/s"
		if total > 0 && done > 0 && done < total {
			tail += ", " + time.Duration(s*float64(total-done)/float64(done)*float64(time.Second)).Round(time.Second).String() + " left"
		}
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
	line += tail
	if len(line) > width {
		line = line[:max(0, width)]
	}
	return line + strings.Repeat(" ", max(0, width-len(line)))
}

// grouped is a number with commas between thousands.
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
