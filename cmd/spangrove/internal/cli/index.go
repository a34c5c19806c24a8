package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) index() *cobra.Command {
	return noun("index", "Index: the segments that answer searches and charts", a.indexStatus(), a.indexRebuild())
}

func (a *app) indexStatus() *cobra.Command {
	var project *string
	cmd := command("status", "Show what a project has in segments, and how far a rebuild has come", `
		spangrove index status
		spangrove index status --project support --output json`,
		func(ctx context.Context, _ []string) error {
			id, err := a.theProject(ctx, *project)
			if err != nil {
				return err
			}
			answer, err := a.call(ctx, get(path("projects", id, "index")))
			if err != nil {
				return err
			}
			return a.one(answer)
		})
	cmd.Long = "Events that wait to be built, are not sealed yet or have changed since are read from rows instead, so that answers are the same."
	project = ofProject(cmd)
	return cmd
}

func (a *app) indexRebuild() *cobra.Command {
	var project *string
	var wait bool
	cmd := command("rebuild", "Build the segments of a project anew", `
		spangrove index rebuild
		spangrove index rebuild --project support --wait`,
		func(ctx context.Context, _ []string) error {
			id, err := a.theProject(ctx, *project)
			if err != nil {
				return err
			}
			r := post(path("projects", id, "index", "rebuild"), nil)
			r.Body, r.Repeatable = nil, true
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			if wait {
				if answer, err = a.indexBuilt(ctx, id, answer); err != nil {
					return after(err, "the rebuild goes on")
				}
				return a.changed(answer, "built %s", indexSize(answer))
			}
			return a.changed(answer, "building %s anew", indexSize(answer))
		})
	cmd.Long = "The server does it in the background, the newest segments first, also after a restart. Meanwhile the events are read from rows: " +
		"answers are the same, and may take longer. If it is asked for again, it begins anew."
	project = ofProject(cmd)
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until all is built; Ctrl-C ends only the waiting")
	return cmd
}

// Pauses between two looks at a rebuild: at least indexPause, and indexShare times as long as the last look took.
const (
	indexPause = time.Second
	indexShare = 10
)

// indexBuilt waits until no segment waits, and tells of the progress on a terminal. answer is the state as it is known.
func (a *app) indexBuilt(ctx context.Context, id string, answer json.RawMessage) (json.RawMessage, error) {
	bar := a.progress("building", "events", numberOf(answer, "events"))
	defer bar.clear()
	for took := time.Duration(0); numberOf(answer, "waiting_segments") > 0; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(max(indexPause, indexShare*took)):
		}
		began := time.Now()
		var err error
		if answer, err = a.call(ctx, get(path("projects", id, "index"))); err != nil {
			return nil, err
		}
		took = time.Since(began)
		bar.total = numberOf(answer, "events") // others store events meanwhile
		built := bar.total - numberOf(answer, "waiting_events")
		bar.at(built, built)
	}
	return answer, nil
}

// indexSize returns how much there is in segments, in words.
func indexSize(answer json.RawMessage) string {
	return fmt.Sprintf("%s segments of %s events", grouped(numberOf(answer, "segments")), grouped(numberOf(answer, "events")))
}

// numberOf returns a whole number of an answer; 0 if there is none.
func numberOf(answer json.RawMessage, member string) int64 {
	f, _ := rawjson.Number(rawjson.Get(answer, member))
	return int64(f)
}
