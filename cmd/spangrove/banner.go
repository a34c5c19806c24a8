package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/mount"
)

// banner gathers what components announce while they start, and shows it once all of them run.
type banner struct {
	to      io.Writer
	version string
	// secrets says that to is a terminal, where a key may be shown: elsewhere, such as in a
	// journal, it would stay for ever.
	secrets bool

	mu      sync.Mutex
	notices map[mount.Topic][]string
}

// post takes a notice; it may be called by any goroutine.
func (b *banner) post(n mount.Notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notices == nil {
		b.notices = map[mount.Topic][]string{}
	}
	b.notices[n.Topic] = append(b.notices[n.Topic], n.Text)
}

// lookEvery is how often showWhen looks: seldom enough to cost nothing, often enough that
// nobody waits for the banner.
const lookEvery = 5 * time.Millisecond

// showWhen shows the banner as soon as ready says so, or nothing if ctx ends first. The
// collector tells its state but calls nobody when it changes.
func (b *banner) showWhen(ctx context.Context, ready func() bool) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if ready() {
				fmt.Fprint(b.to, b.text())
				return
			}
		}
	}
}

// text returns the banner: where it listens, where the data is, and, once and on a terminal, the key.
func (b *banner) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out strings.Builder
	fmt.Fprintf(&out, "Spangrove %s is ready.\n", b.version)
	if len(b.notices) == 0 {
		return out.String()
	}
	out.WriteString("\n")
	line := func(label, text string) { fmt.Fprintf(&out, "  %-10s %s\n", label, text) }
	for _, row := range []struct {
		topic mount.Topic
		label string
	}{{mount.TopicAPI, "API"}, {mount.TopicOTLPGRPC, "OTLP gRPC"}, {mount.TopicOTLPHTTP, "OTLP HTTP"}} {
		for _, text := range b.notices[row.topic] {
			line(row.label, text)
		}
	}
	for _, place := range b.notices[mount.TopicData] {
		line("Data", absolute(place))
	}
	file := ""
	for _, file = range b.notices[mount.TopicKeyFile] {
		file = absolute(file)
	}
	keys := b.notices[mount.TopicKey]
	shown := ""
	switch {
	case len(keys) > 0 && b.secrets:
		shown = keys[0]
		line("API key", shown)
		line("", "generated now and shown once; it is kept in "+file)
	case len(keys) > 0:
		shown = "$(cat " + file + ")"
		line("API key", "generated now, in "+file)
	case file != "":
		line("API key", "in "+file)
	}
	if links := b.notices[mount.TopicSignIn]; len(links) > 0 && b.secrets {
		fmt.Fprintf(&out, "\nOpen in a browser (works once, for 15 minutes):\n\n  %s\n", links[0])
	}
	if apis := b.notices[mount.TopicAPI]; len(keys) > 0 && len(apis) > 0 {
		fmt.Fprintf(
			&out,
			"\nStart a session:\n\n  curl %s/session/start -H \"Authorization: Bearer %s\" \\\n    -d '{\"session\": {\"session_name\": \"hello\"}}'\n",
			apis[0],
			shown,
		)
	}
	return out.String() + "\n"
}

// absolute makes a path one that means the same anywhere. What is not a path stays as it is.
func absolute(place string) string {
	if strings.HasPrefix(place, "PostgreSQL") {
		return place
	}
	if abs, err := filepath.Abs(place); err == nil {
		return abs
	}
	return place
}
