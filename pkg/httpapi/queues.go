package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Queues is where the annotation queues of a project are. What names a queue is fault.NotFound if
// there is none.
type Queues interface {
	QueueItems
	// CreateQueue stores a queue that is valid, with these events in it, and returns it.
	// fault.NotFound if one of the events is not there.
	CreateQueue(ctx context.Context, projectID int64, q queue.Queue, events []uuid.UUID) (queue.Queue, error)
	// FindQueues lists the ids of a project's queues, oldest first, a page of them, and counts all;
	// only of those that are enabled or are not, if enabled is set.
	FindQueues(ctx context.Context, projectID int64, enabled *bool, limit, page int) (ids []string, total int, err error)
	// LoadQueues reads queues in the order of ids. Those that are gone are left out.
	LoadQueues(ctx context.Context, projectID int64, ids []string) ([]queue.Queue, error)
	// Queue reads one queue. fault.NotFound if there is none.
	Queue(ctx context.Context, projectID int64, id string) (queue.Queue, error)
	// UpdateQueue changes a queue, takes events out of it and then adds others, all or nothing, and
	// returns the updated one. What is in it already stays as it is; what is not in it to be taken out
	// is no error. fault.NotFound if there is no such queue or event, fault.Invalid if it would break
	// a rule, fault.Conflict if too many items would wait.
	UpdateQueue(ctx context.Context, projectID int64, id string, u queue.Update, add, remove []uuid.UUID) (queue.Queue, error)
	// DeleteQueue deletes a queue with its items and their annotations. Scores that stand on events
	// stay there. fault.NotFound if there is none.
	DeleteQueue(ctx context.Context, projectID int64, id string) error
	// QueueAgreement returns how far the annotators of a queue agree, by metric.
	// fault.NotFound if there is no such queue, fault.TooLarge if there are too many annotators.
	QueueAgreement(ctx context.Context, projectID int64, id string) ([]queue.Agreement, error)
}

var queueOperations = []apiOperation{
	{"listQueues", http.MethodGet, []string{"/queues"}, project.ScopeRead, (*Server).listQueues},
	{"createQueue", http.MethodPost, []string{"/queues"}, project.ScopeFull, (*Server).createQueue},
	{"getQueue", http.MethodGet, []string{"/queues/{id}"}, project.ScopeRead, (*Server).getQueue},
	{"updateQueue", http.MethodPut, []string{"/queues/{id}"}, project.ScopeFull, (*Server).updateQueue},
	{"deleteQueue", http.MethodDelete, []string{"/queues/{id}"}, project.ScopeFull, (*Server).deleteQueue},
	{"listQueueItems", http.MethodGet, []string{"/queues/{id}/items"}, project.ScopeRead, (*Server).listQueueItems},
	{"nextQueueItem", http.MethodPost, []string{"/queues/{id}/next"}, project.ScopeFull, (*Server).nextQueueItem},
	{"annotateQueueItem", http.MethodPost, []string{"/queues/{id}/items/{event}/annotations"}, project.ScopeFull, (*Server).annotateQueueItem},
	{"releaseQueueItem", http.MethodPost, []string{"/queues/{id}/items/{event}/release"}, project.ScopeFull, (*Server).releaseQueueItem},
	{"claimQueueItem", http.MethodPost, []string{"/queues/{id}/items/{event}/claim"}, project.ScopeFull, (*Server).claimQueueItem},
	{"withdrawAnnotation", http.MethodDelete, []string{"/queues/{id}/items/{event}/annotations"}, project.ScopeFull, (*Server).withdrawAnnotation},
	{"settleQueueItem", http.MethodPut, []string{"/queues/{id}/items/{event}/settlement"}, project.ScopeFull, (*Server).settleQueueItem},
	{"unsettleQueueItem", http.MethodDelete, []string{"/queues/{id}/items/{event}/settlement"}, project.ScopeFull, (*Server).unsettleQueueItem},
	{"listQueueAnnotators", http.MethodGet, []string{"/queues/{id}/annotators"}, project.ScopeRead, (*Server).listQueueAnnotators},
	{"getQueueAgreement", http.MethodGet, []string{"/queues/{id}/agreement"}, project.ScopeRead, (*Server).getQueueAgreement},
}

func (s *Server) listQueues(c *call) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	var params struct {
		Enabled *bool `query:"enabled"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	ids, total, err := s.Store.FindQueues(c.ctx(), c.project.ID, params.Enabled, limit, page)
	if err != nil {
		return err
	}
	c.total(total)
	key := "queues"
	if c.dialect == wire.V0 {
		key = ""
	}
	return list(c, key, ids,
		func(ids []string) ([]queue.Queue, error) { return s.Store.LoadQueues(c.ctx(), c.project.ID, ids) },
		func(dst []byte, q *queue.Queue) []byte { return append(dst, c.shown(q)...) })
}

// createQueue answers 201, unlike every other operation: that is what its clients wait for.
func (s *Server) createQueue(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	in, err := wire.DecodeQueue(body)
	if err != nil {
		return err
	}
	q := queue.New(&in.Update, s.Now().UnixMilli())
	if err := q.Validate(); err != nil {
		return err
	}
	if err := s.knownMetrics(c, q.Metrics); err != nil {
		return err
	}
	if q, err = s.Store.CreateQueue(c.ctx(), c.project.ID, q, in.Add); err != nil {
		return err
	}
	_ = wire.WriteJSONStatus(c.w, http.StatusCreated, c.queue(&q, "created").Bytes()) // an error is the caller's connection, gone
	return nil
}

// queue returns the answer to a change of a queue.
func (c *call) queue(q *queue.Queue, done string) *rawjson.Builder {
	var b rawjson.Builder
	b.Raw("queue", c.shown(q))
	b.String("message", fmt.Sprintf("queue %s %s", q.ID, done))
	return &b
}

func (s *Server) getQueue(c *call) error {
	q, err := s.Store.Queue(c.ctx(), c.project.ID, c.text("id"))
	if err != nil {
		return err
	}
	return c.answer(c.shown(&q))
}

// shown returns a queue as answers show it.
func (c *call) shown(q *queue.Queue) json.RawMessage {
	q.Filters = c.filters(q.Filters)
	return wire.AppendQueue(nil, q, &c.project, c.dialect)
}

func (s *Server) updateQueue(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	in, err := wire.DecodeQueue(body)
	if err != nil {
		return err
	}
	if err := s.knownMetrics(c, in.Metrics); err != nil {
		return err
	}
	q, err := s.Store.UpdateQueue(c.ctx(), c.project.ID, c.text("id"), in.Update, in.Add, in.Remove)
	if err != nil {
		return err
	}
	return c.json(c.queue(&q, "updated"))
}

func (s *Server) deleteQueue(c *call) error {
	id := c.text("id")
	if err := s.Store.DeleteQueue(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	var b rawjson.Builder
	b.String("message", fmt.Sprintf("queue %s deleted", id))
	return c.json(&b)
}

func (s *Server) listQueueAnnotators(c *call) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	list, total, err := s.Store.FindAnnotators(c.ctx(), c.project.ID, c.text("id"), limit, page)
	if err != nil {
		return err
	}
	c.total(total)
	return c.answer(wire.QueueAnnotators(list))
}

func (s *Server) getQueueAgreement(c *call) error {
	list, err := s.Store.QueueAgreement(c.ctx(), c.project.ID, c.text("id"))
	if err != nil {
		return err
	}
	return c.answer(wire.QueueAgreements(list))
}

// knownMetrics returns an error if one of the names is not that of a HUMAN metric.
func (s *Server) knownMetrics(c *call, names []string) error {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	metrics, err := s.humanMetrics(c, wanted)
	if err != nil {
		return err
	}
	for i, name := range names {
		if metrics[name] == nil {
			return fault.InvalidField(fmt.Sprintf("metrics[%d]", i), "no HUMAN metric %.80q", name)
		}
	}
	return nil
}

// humanMetrics finds the HUMAN metrics of these names; of several with one name, the newest.
func (s *Server) humanMetrics(c *call, wanted map[string]bool) (map[string]*metric.Definition, error) {
	found := map[string]*metric.Definition{}
	if len(wanted) == 0 {
		return found, nil
	}
	for m, err := range metric.All(c.ctx(), s.Store, c.project.ID, metric.Human) {
		if err != nil {
			return nil, err
		}
		if wanted[m.Name] {
			found[m.Name] = &m.Definition
		}
	}
	return found, nil
}
