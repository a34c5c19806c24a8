package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// QueueItems is where the events of queues are, and what people do with them.
type QueueItems interface {
	// FillQueue lets events that match a queue's filters enter it: of those that it has not looked at,
	// each look takes the oldest queue.FillSlice. entered counts those that match, some of which it may have
	// already; more reports whether there are others to look at. While queue.MaxWaiting
	// items wait, none enter. fault.NotFound if there is no such queue.
	FillQueue(ctx context.Context, p project.Project, id string) (entered int, more bool, err error)
	// FindQueueItems lists the ids of the events of a queue in the order in which they entered, a page
	// of them, and counts all; only those in a state, or if that is empty all but the removed ones.
	// fault.NotFound if there is no such queue.
	FindQueueItems(ctx context.Context, projectID int64, id string, state queue.State, limit, page int) (events []string, total int, err error)
	// FindDifferences lists the ids of the events of a queue whose annotators differ and that nobody has settled, or of those that somebody has
	// settled, in the order in which they entered, a page of them, and counts all. fault.NotFound if there is no such queue.
	FindDifferences(ctx context.Context, projectID int64, id string, d queue.Differences, limit, page int) (events []string, total int, err error)
	// FindAnnotators says what each annotator of a queue has done, by name, a page of them, and counts all. fault.NotFound if there is no
	// such queue.
	FindAnnotators(ctx context.Context, projectID int64, id string, limit, page int) (list []queue.AnnotatorCounts, total int, err error)
	// QueueProgress says how far an annotator is with a queue.
	QueueProgress(ctx context.Context, projectID int64, id, annotator string) (queue.Progress, error)
	// LoadQueueItems reads items of a queue in the order of the ids of their events. Those that are
	// gone are left out.
	LoadQueueItems(ctx context.Context, projectID int64, id string, events []string) ([]queue.Item, error)
	// ClaimItem claims the item that has waited longest for an annotator: it takes a slot of it
	// until the queue's lease runs out. Who has such a claim already gets it again, for a new lease.
	// found is false if there is none: each item has the annotations it needs, is claimed by others,
	// or was annotated or skipped by this annotator. Items whose events are gone go, too.
	// fault.NotFound if there is no such queue.
	ClaimItem(ctx context.Context, projectID int64, id, annotator string) (item queue.Item, found bool, err error)
	// OpenItem gives an annotator a claim on one item, or renews it; whoever has annotated the item gets it without one, with own, what was
	// said then. fault.NotFound if there is no such queue or item, fault.Conflict if others have all slots.
	OpenItem(ctx context.Context, projectID int64, id string, event uuid.UUID, annotator string) (item queue.Item, own *queue.Annotation, err error)
	// ReleaseItem gives back an annotator's claim. With skip the item is not offered to that annotator
	// again. fault.NotFound if there is no such queue, item or claim.
	ReleaseItem(ctx context.Context, projectID int64, id string, event uuid.UUID, annotator string, skip bool) (queue.Item, error)
	// AnnotateItem stores an annotator's scores and comment of an item, in place of those that the annotator gave it
	// before, and if it has what it needs then, the scores on its event, in the same transaction.
	// fault.NotFound if there is no such queue, item or event, fault.Conflict if others have all slots.
	AnnotateItem(ctx context.Context, projectID int64, id string, event uuid.UUID, a queue.Annotation) (queue.Item, error)
	// WithdrawAnnotation takes back what an annotator said of an item, with what it came to on the event, and gives the annotator a claim on
	// it again. fault.NotFound if there is no such queue, item or annotation, fault.Conflict if the item is settled.
	WithdrawAnnotation(ctx context.Context, projectID int64, id string, event uuid.UUID, annotator string) (queue.Item, error)
	// SettleItem stores what a person decides of an item, and its scores on the event. fault.NotFound if there is no such queue or item,
	// fault.Conflict if nobody has annotated it, fault.Invalid if a metric is left out over which the annotators are tied.
	SettleItem(ctx context.Context, projectID int64, id string, event uuid.UUID, s queue.Settlement) (queue.Item, error)
	// UnsettleItem takes a settlement back. fault.NotFound if there is no such queue, item or settlement.
	UnsettleItem(ctx context.Context, projectID int64, id string, event uuid.UUID) (queue.Item, error)
}

func (s *Server) listQueueItems(c *call) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	var params struct {
		State  string `query:"state"`
		Differ string `query:"differ"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	state, ok := queue.StateOf(params.State)
	if params.State != "" && !ok {
		return fault.InvalidField("state", "must be one of waiting, done, disputed, removed, not %.40q", params.State)
	}
	differ, ok := queue.DifferencesOf(params.Differ)
	switch {
	case params.Differ != "" && !ok:
		return fault.InvalidField("differ", "must be one of unsettled, settled, not %.40q", params.Differ)
	case params.Differ != "" && params.State != "":
		return fault.InvalidField("differ", "must not be given with state")
	}
	id := c.text("id")
	_, more, err := s.Store.FillQueue(c.ctx(), c.project, id)
	if err != nil {
		return err
	}
	var events []string
	var total int
	if params.Differ != "" {
		events, total, err = s.Store.FindDifferences(c.ctx(), c.project.ID, id, differ, limit, page)
	} else {
		events, total, err = s.Store.FindQueueItems(c.ctx(), c.project.ID, id, state, limit, page)
	}
	if err != nil {
		return err
	}
	c.total(total)
	return c.stream(func(out *wire.Stream) error {
		out.Text(`{"items":`)
		err := wire.WriteList(out, events,
			func(events []string) ([]queue.Item, error) {
				return s.Store.LoadQueueItems(c.ctx(), c.project.ID, id, events)
			},
			func(dst []byte, it *queue.Item) []byte { return wire.AppendQueueItem(dst, it, false) })
		out.Text(fmt.Sprintf(`,"caught_up":%t}`, !more))
		return err
	})
}

// fillRounds is how many slices of events one request for an item looks through, if the first ones
// have none for it.
const fillRounds = 20

// nextQueueItem claims an item for an annotator and returns it with its event, but not what others
// said of it.
func (s *Server) nextQueueItem(c *call) error {
	annotator, _, err := c.annotator()
	if err != nil {
		return err
	}
	id := c.text("id")
	for round := 1; ; round++ {
		entered, more, err := s.Store.FillQueue(c.ctx(), c.project, id)
		if err != nil {
			return err
		}
		if round == 1 || entered > 0 {
			it, found, err := s.Store.ClaimItem(c.ctx(), c.project.ID, id, annotator)
			if err != nil {
				return err
			}
			if found {
				return s.answerNext(c, id, annotator, &it, nil, !more)
			}
		}
		if !more || round == fillRounds {
			return s.answerNext(c, id, annotator, nil, nil, !more)
		}
	}
}

// claimQueueItem claims one item for an annotator, or renews the claim, and returns it with its event, what this annotator said of it before,
// and nothing of what others did.
func (s *Server) claimQueueItem(c *call) error {
	annotator, _, err := c.annotator()
	if err != nil {
		return err
	}
	event, err := c.itemEvent()
	if err != nil {
		return err
	}
	id := c.text("id")
	it, own, err := s.Store.OpenItem(c.ctx(), c.project.ID, id, event, annotator)
	if err != nil {
		return err
	}
	return s.answerNext(c, id, annotator, &it, own, true)
}

// answerNext answers with an item, nil if there is none, what the annotator said of it, nil if nothing, and how the queue stands.
func (s *Server) answerNext(c *call, id, annotator string, it *queue.Item, own *queue.Annotation, caughtUp bool) error {
	q, err := s.Store.Queue(c.ctx(), c.project.ID, id)
	if err != nil {
		return err
	}
	progress, err := s.Store.QueueProgress(c.ctx(), c.project.ID, id, annotator)
	if err != nil {
		return err
	}
	var item, event []byte
	if it != nil {
		e, err := s.Store.Event(c.ctx(), c.project.ID, it.EventID)
		switch {
		case fault.IsNotFound(err):
			caughtUp = false // deleted in this moment: the next claim clears it away
		case err != nil:
			return err
		default:
			item, event = wire.AppendQueueItem(nil, it, true), wire.AppendEvent(nil, &e, &c.project)
		}
	}
	return c.answer(wire.QueueNext(item, event, own, progress, q.Counts, caughtUp))
}

func (s *Server) annotateQueueItem(c *call) error {
	event, a, err := s.annotation(c, true)
	if err != nil {
		return err
	}
	it, err := s.Store.AnnotateItem(c.ctx(), c.project.ID, c.text("id"), event, a)
	if err != nil {
		return err
	}
	return c.item(&it, true)
}

// withdrawAnnotation takes back what the annotator of the query string said.
func (s *Server) withdrawAnnotation(c *call) error {
	var params struct {
		Annotator string `query:"annotator"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	if err := queue.CheckAnnotator(params.Annotator); err != nil {
		return err
	}
	event, err := c.itemEvent()
	if err != nil {
		return err
	}
	it, err := s.Store.WithdrawAnnotation(c.ctx(), c.project.ID, c.text("id"), event, params.Annotator)
	if err != nil {
		return err
	}
	return c.item(&it, true)
}

func (s *Server) settleQueueItem(c *call) error {
	event, a, err := s.annotation(c, false)
	if err != nil {
		return err
	}
	it, err := s.Store.SettleItem(c.ctx(), c.project.ID, c.text("id"), event, queue.Settlement{Annotator: a.Annotator, Scores: a.Scores, Comment: a.Comment})
	if err != nil {
		return err
	}
	return c.item(&it, false)
}

func (s *Server) unsettleQueueItem(c *call) error {
	event, err := c.itemEvent()
	if err != nil {
		return err
	}
	it, err := s.Store.UnsettleItem(c.ctx(), c.project.ID, c.text("id"), event)
	if err != nil {
		return err
	}
	return c.item(&it, false)
}

func (s *Server) releaseQueueItem(c *call) error {
	annotator, skip, err := c.annotator()
	if err != nil {
		return err
	}
	event, err := c.itemEvent()
	if err != nil {
		return err
	}
	it, err := s.Store.ReleaseItem(c.ctx(), c.project.ID, c.text("id"), event, annotator, skip)
	if err != nil {
		return err
	}
	return c.item(&it, true)
}

// annotator reads from the body who asks, and whether what is given back is to be skipped.
func (c *call) annotator() (name string, skip bool, err error) {
	body, err := c.body()
	if err != nil {
		return "", false, err
	}
	return wire.DecodeAnnotator(body)
}

// itemEvent reads the event of the path.
func (c *call) itemEvent() (uuid.UUID, error) {
	id, err := wire.ParseID(c.r.PathValue("event"))
	return id, fault.In("event", err)
}

// item answers with an item; blind as one annotator may see it, without what others said.
func (c *call) item(it *queue.Item, blind bool) error {
	var b rawjson.Builder
	b.Bool("success", true)
	b.Raw("item", wire.AppendQueueItem(nil, it, blind))
	return c.json(&b)
}

// annotation reads what somebody says of the item of the path, with its event; complete demands a score for each metric that the queue names.
func (s *Server) annotation(c *call, complete bool) (uuid.UUID, queue.Annotation, error) {
	body, err := c.body()
	if err != nil {
		return uuid.Nil, queue.Annotation{}, err
	}
	a, err := wire.DecodeAnnotation(body)
	if err != nil {
		return uuid.Nil, a, err
	}
	q, err := s.Store.Queue(c.ctx(), c.project.ID, c.text("id"))
	if err != nil {
		return uuid.Nil, a, err
	}
	event, err := c.itemEvent()
	if err != nil {
		return uuid.Nil, a, err
	}
	return event, a, s.checkScores(c, &q, a.Scores, complete)
}

// checkScores checks scores of people: each is of a HUMAN metric that may have it, and if the queue names its metrics, no other is there,
// and all of them are if that is asked for.
func (s *Server) checkScores(c *call, q *queue.Queue, scores json.RawMessage, all bool) error {
	given := map[string]bool{}
	for name := range rawjson.Object(scores) {
		given[name] = true
		if len(q.Metrics) > 0 && !slices.Contains(q.Metrics, name) {
			return fault.InvalidField("scores."+name, "is not one of the queue's metrics: %q", q.Metrics)
		}
	}
	for _, name := range q.Metrics {
		if all && !given[name] {
			return fault.InvalidField("scores."+name, "is required: the queue asks for it")
		}
	}
	metrics, err := s.humanMetrics(c, given)
	if err != nil {
		return err
	}
	for name, score := range rawjson.Object(scores) {
		d := metrics[name]
		if d == nil {
			return fault.InvalidField("scores."+name, "no HUMAN metric has this name")
		}
		why := evaluate.Misfit(d, score)
		if d.Return == metric.Float && rawjson.KindOf(score) != '0' {
			why = "not a number, as the metric's return type asks for"
		}
		if why != "" {
			return fault.InvalidField("scores."+name, "is %s", why)
		}
	}
	return nil
}
