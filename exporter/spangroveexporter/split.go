package spangroveexporter

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/otlpmap"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/spancodec"
)

// part is what one project gets of a request.
type part struct {
	project int64
	trusted bool // it came with a key that may do everything in the project

	request   ptrace.Traces
	resources []int // those of the request that the part has; nil: all

	spans   int
	native  []ptrace.ScopeSpans
	foreign ptrace.Traces // the request itself where nothing else is in it
	err     error         // why the project is not known; nothing of the part can be stored
}

// halves divides a part between two of its resources. A part of one resource is divided between two of its spans, unless some are native:
// those of a request are stored together or not at all. ok is false if the part cannot be divided.
func (p part) halves() (a, b part, ok bool) {
	resources := p.resources
	if resources == nil {
		resources = make([]int, p.request.ResourceSpans().Len())
		for i := range resources {
			resources[i] = i
		}
	}
	switch {
	case p.err != nil:
		return a, b, false
	case len(resources) > 1:
		middle := len(resources) / 2
		a, b = partOf(p.project, p.request, resources[:middle]), partOf(p.project, p.request, resources[middle:])
	case len(p.native) == 0 && p.spans > 1:
		first, second := halvesOf(p.request.ResourceSpans().At(resources[0]))
		a, b = partOf(p.project, first, nil), partOf(p.project, second, nil)
	default:
		return a, b, false
	}
	a.trusted, b.trusted = p.trusted, p.trusted
	return a, b, true
}

// halvesOf copies the spans of a resource into two requests, each with half of them.
func halvesOf(rs ptrace.ResourceSpans) (first, second ptrace.Traces) {
	middle := 0
	for _, ss := range rs.ScopeSpans().All() {
		middle += ss.Spans().Len()
	}
	middle /= 2
	first, second = ptrace.NewTraces(), ptrace.NewTraces()
	for half, td := range []ptrace.Traces{first, second} {
		to := td.ResourceSpans().AppendEmpty()
		rs.CopyTo(to)
		n := 0
		for _, ss := range to.ScopeSpans().All() {
			ss.Spans().RemoveIf(func(ptrace.Span) bool {
				n++
				return (n <= middle) != (half == 0)
			})
		}
	}
	return first, second
}

// split sorts the request's spans by project and by kind. Whose the spans are, in this order:
// the caller of this request; the project that the receiver stamped into the resource, which
// survives queues; the store's first project, on a server without keys. A project that cannot be found keeps none of the others'
// spans from being stored.
func (e *spangroveExporter) split(ctx context.Context, td ptrace.Traces) []part {
	caller, known := callerOf(ctx)
	if known {
		id, err := e.numberOf(ctx, caller.Project)
		if err != nil {
			return []part{{request: td, spans: td.SpanCount(), err: err}}
		}
		p := partOf(id, td, nil)
		p.trusted = caller.Scope.Allows(project.ScopeFull)
		return []part{p}
	}
	stamps := map[string][]int{} // resources by stamp
	var order []string
	for i, rs := range td.ResourceSpans().All() {
		stamp := stampOf(rs.Resource())
		if _, seen := stamps[stamp]; !seen {
			order = append(order, stamp)
		}
		stamps[stamp] = append(stamps[stamp], i)
	}
	parts := make([]part, 0, len(order))
	for _, stamp := range order {
		resources := stamps[stamp]
		p, err := e.projectOf(ctx, stamp)
		if waits(err) { // then all of it is sent again
			return []part{{request: td, spans: td.SpanCount(), err: err}}
		}
		if err != nil {
			parts = append(parts, part{request: td, spans: spansOf(td, resources), err: err})
			continue
		}
		if len(order) == 1 {
			resources = nil
		}
		parts = append(parts, partOf(p.ID, td, resources))
	}
	return parts
}

// spansOf counts the spans of some of the resources of td.
func spansOf(td ptrace.Traces, resources []int) (n int) {
	for _, i := range resources {
		for _, ss := range td.ResourceSpans().At(i).ScopeSpans().All() {
			n += ss.Spans().Len()
		}
	}
	return n
}

func callerOf(ctx context.Context) (project.Identity, bool) {
	if id, ok := client.FromContext(ctx).Auth.(project.Identity); ok {
		return id, true
	}
	return project.IdentityFrom(ctx)
}

// mayWrite returns Forbidden for a caller whose key may not write. The receiver spangrove checks this too, but other receivers whose keys
// spangrove_auth checks know nothing of scopes.
func mayWrite(caller project.Identity) error {
	if caller.Scope == "" || caller.Scope.Allows(project.ScopeIngest) {
		return nil
	}
	return verdict.Pipeline(fault.New(fault.Forbidden, "this key may not write telemetry; it has the scope %s", caller.Scope))
}

func stampOf(r pcommon.Resource) string {
	if v, ok := r.Attributes().Get(project.AttrProjectID); ok {
		return v.Str()
	}
	return ""
}

func (e *spangroveExporter) projectOf(ctx context.Context, stamp string) (project.Project, error) {
	if stamp == "" {
		p, err := e.store.DefaultProject(ctx)
		if err != nil {
			return p, fmt.Errorf("find the default project: %w", err)
		}
		return p, nil
	}
	p, err := e.store.ProjectByPublicID(ctx, stamp)
	if err != nil {
		return p, fmt.Errorf("find project %q: %w", stamp, err)
	}
	return p, nil
}

// numberOf returns the number that the store has for a caller's project. The caller's own may be that of another store, whose keys let it in.
func (e *spangroveExporter) numberOf(ctx context.Context, caller project.Project) (int64, error) {
	if id, known := e.numbers.Load(caller.PublicID); known {
		return id.(int64), nil
	}
	p, err := e.projectOf(ctx, caller.PublicID)
	if err != nil {
		return 0, err
	}
	e.numbers.Store(caller.PublicID, p.ID)
	return p.ID, nil
}

// partOf gathers the given resources of td, nil for all. Foreign spans are copied only if
// native ones, or other projects', stand in the same request.
func partOf(projectID int64, td ptrace.Traces, resources []int) part {
	p := part{project: projectID, request: td, resources: resources}
	foreign := 0
	each := func(f func(ptrace.ResourceSpans)) {
		if resources == nil {
			for _, rs := range td.ResourceSpans().All() {
				f(rs)
			}
		}
		for _, i := range resources {
			f(td.ResourceSpans().At(i))
		}
	}
	each(func(rs ptrace.ResourceSpans) {
		for _, ss := range rs.ScopeSpans().All() {
			p.spans += ss.Spans().Len()
			if spancodec.IsNative(ss.Scope()) {
				p.native = append(p.native, ss)
			} else {
				foreign++
			}
		}
	})
	if resources == nil && len(p.native) == 0 {
		p.foreign = td
		return p
	}
	p.foreign = ptrace.NewTraces()
	if foreign == 0 {
		return p
	}
	each(func(rs ptrace.ResourceSpans) {
		to := p.foreign.ResourceSpans().AppendEmpty()
		rs.Resource().CopyTo(to.Resource())
		to.SetSchemaUrl(rs.SchemaUrl())
		for _, ss := range rs.ScopeSpans().All() {
			if !spancodec.IsNative(ss.Scope()) {
				ss.CopyTo(to.ScopeSpans().AppendEmpty())
			}
		}
	})
	return p
}

// events turns a part into the batch to store.
func (e *spangroveExporter) events(p part) (event.Batch, []otlpmap.Rejection, error) {
	var batch event.Batch
	var rejected []otlpmap.Rejection
	if p.foreign.ResourceSpans().Len() > 0 {
		batch, rejected = e.mapper(p.foreign)
	}
	n := 0
	for _, ss := range p.native {
		for _, span := range ss.Spans().All() {
			ev, added, err := spancodec.DecodeAdded(span)
			if err != nil {
				return event.Batch{}, nil, fault.In(fmt.Sprintf("events[%d]", n), err)
			}
			if added {
				e.nativeMapper(&ev.Event, spancodec.Added(span))
			}
			if batch.Events == nil {
				batch.Events = make([]event.Incoming, 0, p.spans)
			}
			batch.Events = append(batch.Events, ev)
			n++
		}
	}
	if !p.trusted {
		reserveSource(&batch)
	}
	return batch, rejected, nil
}

// clientSource is the source of what a client sends with the source of the server's evaluators.
const clientSource = "client_evaluator"

// reserveSource keeps the source of the server's evaluators from senders who may only write
// telemetry: what has it is neither scored nor in charts. Those who may do everything in the project
// can store an export again as it was. Behind a queue nobody knows what a sender may do.
func reserveSource(b *event.Batch) {
	for i := range b.Events {
		if b.Events[i].Source == evaluation.Source {
			b.Events[i].Source = clientSource
		}
	}
	for i := range b.Sessions {
		if b.Sessions[i].Source == evaluation.Source {
			b.Sessions[i].Source = clientSource
		}
	}
}
