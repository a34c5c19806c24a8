package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// watchAgain is how long to wait before a server that is away is asked again.
const watchAgain = time.Second

func (a *app) sessionWatch() *cobra.Command {
	limit := 0
	cmd := command("watch [ID]", "Tell of sessions that change", `
		spangrove sessions watch
		spangrove sessions watch `+exampleEvent+`
		spangrove sessions watch --output jsonl | while read -r change; do spangrove sessions list --limit 5; done`,
		func(ctx context.Context, args []string) error {
			if limit < 0 {
				return usage("--limit must not be negative")
			}
			id := client.AllSessions
			if len(args) > 0 {
				id = args[0]
			}
			w := &watcher{app: a, limit: limit, out: a.stream(watchColumns, watchWidths)}
			err := w.watch(ctx, id)
			if ended := w.out.end(); err == nil {
				err = ended
			}
			return err
		})
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.Long = "Each line is a change of a session: `session` if it is new, was deleted, or gave events to another session or took " +
		"some; `event` if an event in it was added, changed or deleted. At most four lines come in a second; changes that come faster " +
		"share one, without a session if they are of several. `refusal` says that a request was refused. " +
		"The kind `reset` says that changes may have been missed, such as while the server was away. It goes on until Ctrl-C."
	cmd.Flags().IntVar(&limit, "limit", 0, "end after so many lines; 0: go on until Ctrl-C")
	return cmd
}

var watchColumns = []column{
	{title: "time", path: "touched", show: millis},
	{title: "change", path: "kind"},
	{title: "session", path: "session_id"},
}

// watchWidths are those of watchColumns in a table whose end is not known.
var watchWidths = []int{19, 7, 36}

// watcher shows changes as they come.
type watcher struct {
	*app
	limit int
	out   *streamOutput
	begun bool // the server has answered once
	away  bool
}

// watch goes on until ctx ends or as many changes as were wanted are shown.
func (w *watcher) watch(ctx context.Context, id string) error {
	for {
		err := w.once(ctx, id)
		switch {
		case err == nil || ctx.Err() != nil:
			return nil
		case !w.begun || !passing(err):
			return err
		case !w.away:
			w.remark("%s; trying again", w.failure(err).Line)
			w.away = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchAgain):
		}
	}
}

// once shows changes until there is an error, or enough is shown.
func (w *watcher) once(ctx context.Context, id string) error {
	for c, err := range w.api.Sessions.Watch(ctx, id) {
		if err != nil {
			return err
		}
		if w.away {
			w.remark("%s answers again", w.api.Server())
			w.away = false
		}
		if !w.begun { // nothing was shown before, so nothing was missed
			w.begun = true
			continue
		}
		if err := w.show(c); err != nil {
			return err
		}
		if w.limit > 0 && w.out.n == w.limit {
			return nil
		}
	}
	return nil
}

func (w *watcher) show(c client.SessionChange) error {
	var b rawjson.Builder
	if c.Reset {
		b.String("kind", "reset")
		return w.out.add(b.Bytes())
	}
	if c.SessionID != "" {
		b.String("session_id", c.SessionID)
	} else {
		b.Raw("session_id", []byte("null"))
	}
	b.Int("touched", int64(c.Touched))
	b.String("kind", c.Kind)
	return w.out.add(b.Bytes())
}
