package cli

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"
)

// bar is a line on a terminal that says how far things are; nothing where there is no terminal.
type bar struct {
	to    io.Writer // nil: nothing is shown
	width int
}

func newBar(errs io.Writer) *bar {
	fd, ok := terminal(errs)
	if !ok {
		return &bar{}
	}
	width, _, err := term.GetSize(fd)
	if err != nil || width < 1 {
		width = 80
	}
	return &bar{errs, width}
}

// show draws how many of a total are done.
func (b *bar) show(done, total int, note string) {
	const cells = 20
	full := cells
	if total > 0 {
		full = cells * done / total
	}
	b.line(fmt.Sprintf("[%s%s] %d of %d%s", strings.Repeat("=", full), strings.Repeat(" ", cells-full), done, total, note))
}

// line draws the line anew.
func (b *bar) line(text string) {
	if b.to != nil {
		_, _ = io.WriteString(b.to, "\r"+shorten(text, b.width-1)+"\x1b[K") // that it cannot be seen harms nothing
	}
}

// clear takes the line away.
func (b *bar) clear() {
	if b.to != nil {
		_, _ = io.WriteString(b.to, "\r\x1b[K") // as above
	}
}
