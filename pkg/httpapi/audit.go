package httpapi

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Audit is what the API asks of a store about the audit log.
type Audit interface {
	// RecordAudit adds an entry to the audit log, and to the log of the server. An entry of a success is
	// written when this returns, also if ctx has ended meanwhile; those of failures are added up in memory and
	// written once a minute, so that they cost no writes of their own. An entry that cannot be written is an
	// error in the server's log, and nothing else: what it is about has happened. An entry without a time is
	// of now.
	RecordAudit(ctx context.Context, e audit.Entry)
	// Audit lists entries of the audit log, newest first, a page of them (the first is 1), and counts all.
	// Those of failures that other servers on the same database have counted may be missing for a minute.
	Audit(ctx context.Context, q audit.Query) (list []audit.Entry, total int, err error)
}

var auditOperations = []apiOperation{
	{"listAudit", http.MethodGet, []string{"/audit"}, project.ScopeAdmin, (*Server).listAudit},
}

// auditRule says what the audit log keeps of an operation, whatever came of it: the action, and
// where the id of its target stands: in the path, else in the answer, else in the query string.
type auditRule struct {
	action string
	path   []string // parameters of the path, all of which make up the target, joined by "/"
	answer []string // where in the JSON of the answer
	query  []string // parameters of the query string; the first that is there
}

// audited are the operations of which the audit log has entries, by operation id.
var audited = map[string]auditRule{
	"createIngestionKey":  {action: audit.KeyCreate, answer: []string{"data", "key_id"}},
	"createDataPlaneKey":  {action: audit.KeyCreate, answer: []string{"data", "key_id"}},
	"revokeKey":           {action: audit.KeyRevoke, path: []string{"key"}},
	"createProject":       {action: audit.ProjectCreate, answer: []string{"id"}},
	"updateProject":       {action: audit.ProjectUpdate, answer: []string{"id"}},
	"deleteProject":       {action: audit.ProjectDelete, answer: []string{"deleted"}, query: []string{"project_id", "name"}},
	"setLimits":           {action: audit.LimitsSet, path: []string{"id"}},
	"setRetention":        {action: audit.RetentionSet, path: []string{"id"}},
	"setProvider":         {action: audit.ProviderSet, path: []string{"name"}},
	"deleteProvider":      {action: audit.ProviderDelete, path: []string{"name"}},
	"deleteSession":       {action: audit.SessionDelete, path: []string{"id"}},
	"deleteSamples":       {action: audit.SampleDelete},
	"deleteSessions":      {action: audit.SessionsDelete},
	"deleteEvents":        {action: audit.EventsDelete},
	"cancelDeletion":      {action: audit.DeletionCancel, path: []string{"deletion"}},
	"deleteEvent":         {action: audit.EventDelete, path: []string{"id"}},
	"deleteDataset":       {action: audit.DatasetDelete, query: []string{"dataset_id"}},
	"deleteDatasetById":   {action: audit.DatasetDelete, path: []string{"id"}},
	"removeDatapoint":     {action: audit.DatasetRemove, path: []string{"id", "datapoint"}},
	"deleteDatapoint":     {action: audit.DatapointDelete, path: []string{"id"}},
	"deleteMetric":        {action: audit.MetricDelete, query: []string{"metric_id", "id"}},
	"deleteMetricById":    {action: audit.MetricDelete, path: []string{"id"}},
	"createMetric":        {action: audit.MetricCreate, answer: []string{"metric_id"}},
	"enableMetric":        {action: audit.MetricCreate, answer: []string{"metric_id"}},
	"updateMetric":        {action: audit.MetricUpdate},
	"updateMetricById":    {action: audit.MetricUpdate, path: []string{"id"}},
	"createMetricVersion": {action: audit.MetricVersion, path: []string{"id"}},
	"deployMetricVersion": {action: audit.MetricDeploy, path: []string{"id", "name"}},
	"createConfiguration": {action: audit.ConfigurationCreate},
	"updateConfiguration": {action: audit.ConfigurationUpdate, path: []string{"id"}},
	"deleteConfiguration": {action: audit.ConfigurationDelete, path: []string{"id"}},
	"deleteTool":          {action: audit.ToolDelete, query: []string{"function_id", "id"}},
	"deleteChart":         {action: audit.ChartDelete, path: []string{"chart"}},
	"deleteProjectChart":  {action: audit.ChartDelete, path: []string{"chart"}},
	"createAlert":         {action: audit.AlertCreate, answer: []string{"data", "id"}},
	"updateAlert":         {action: audit.AlertUpdate, path: []string{"alert"}},
	"deleteAlert":         {action: audit.AlertDelete, path: []string{"alert"}},
	"testAlert":           {action: audit.AlertTest, path: []string{"alert"}},
	"deleteView":          {action: audit.ViewDelete, path: []string{"view"}},
	"deleteComment":       {action: audit.CommentDelete, path: []string{"id", "comment"}},
	"withdrawAnnotation":  {action: audit.AnnotationRemove, path: []string{"id", "event"}},
	"unsettleQueueItem":   {action: audit.SettlementRemove, path: []string{"id", "event"}},
	"deleteDashboard":     {action: audit.DashboardDelete, path: []string{"dashboard"}},
	"deleteQueue":         {action: audit.QueueDelete, path: []string{"id"}},
	"deleteRun":           {action: audit.RunDelete, path: []string{"id"}},
	"runPlayground":       {action: audit.PlaygroundRun},
}

// watched returns the writer of an answer in which the rule's target is looked for.
func (r *auditRule) watched(w http.ResponseWriter) (http.ResponseWriter, *answerStart) {
	if r.answer == nil {
		return w, nil
	}
	start := &answerStart{ResponseWriter: w}
	return start, start
}

// maxAnswerStart is more than the answers of all operations have whose target is read from there.
const maxAnswerStart = 64 << 10

// answerStart keeps the begin of an answer.
type answerStart struct {
	http.ResponseWriter
	text []byte
}

// Write implements http.ResponseWriter.
func (a *answerStart) Write(p []byte) (int, error) {
	a.text = append(a.text, p[:min(len(p), maxAnswerStart-len(a.text))]...)
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController flush.
func (a *answerStart) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// record adds to the audit log what came of an operation: its error is nil or why it failed. It is called
// after the change and before the request ends.
func (s *Server) record(op *apiOperation, rule *auditRule, c *call, answer *answerStart, failed error) {
	r := c.r
	e := audit.Entry{
		Action:    rule.action,
		Outcome:   audit.Success,
		ProjectID: c.project.PublicID,
		Address:   remoteAddress(r),
		Target:    cmp.Or(c.target, rule.target(r, answer)),
	}
	if who, ok := project.IdentityFrom(r.Context()); ok {
		e.KeyID, e.ProjectID = who.KeyID, who.Project.PublicID
	}
	switch {
	case failed != nil:
		e.Outcome = fault.Of(failed).Code()
	case strings.HasPrefix(op.paths[0], "/projects/{id}"):
		e.ProjectID = wire.PathText(r.PathValue("id"))
	case op.paths[0] == "/projects":
		e.ProjectID = e.Target
	}
	s.Store.RecordAudit(r.Context(), e)
}

func (r *auditRule) target(request *http.Request, answer *answerStart) string {
	parts := make([]string, len(r.path))
	for i, name := range r.path {
		parts[i] = wire.PathText(request.PathValue(name))
	}
	if len(parts) > 0 {
		return strings.Join(parts, "/")
	}
	if answer != nil {
		if id, ok := rawjson.Text(rawjson.Path(answer.text, r.answer...)); ok && id != "" {
			return id
		}
	}
	params, err := wire.ParseParams(request.URL.RawQuery)
	if err != nil {
		return ""
	}
	for _, name := range r.query {
		if id, err := params.Text(name); err == nil && id != "" {
			return id
		}
	}
	return ""
}

// remoteAddress returns the address of the connection, without its port.
func remoteAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func (s *Server) listAudit(c *call) error {
	q, err := wire.DecodeAuditQuery(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	list, total, err := s.Store.Audit(c.ctx(), q)
	if err != nil {
		return err
	}
	c.total(total)
	out := []byte(`{"entries":[`)
	for i := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendAuditEntry(out, &list[i])
	}
	return c.answer(append(out, "]}"...))
}
