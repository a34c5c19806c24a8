package llm

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Recorder keeps what judges did, as events of the project.
type Recorder interface {
	// Put stores a batch: all of it or nothing.
	Put(ctx context.Context, projectID int64, b event.Batch) error
	// PutAbout is likewise, but nothing stays of the batch if the event that it is about is deleted.
	PutAbout(ctx context.Context, projectID int64, about uuid.UUID, b event.Batch) error
	// Event returns one event whole. fault.NotFound if there is none.
	Event(ctx context.Context, projectID int64, eventID uuid.UUID) (event.Event, error)
}

// judgement is one question to a model and what came of it.
type judgement struct {
	project  int64
	metric   *metric.Definition
	metricID string // empty: the definition is only tried
	version  int64
	event    json.RawMessage
	provider *endpoint
	request  request
	key      string    // the same for the same question of a project
	id       uuid.UUID // of the event that records the answer to it
	about    uuid.UUID // the stored event that is judged; Nil: it is not stored

	reply      reply
	usd        float64
	priced     bool
	start, end time.Time
	verdict    verdict // without a score: failure says why
	failure    evaluation.Result
}

// identify computes the key. It covers all that a model is asked: a metric's version that asks the
// same as the one before is not a different question, and neither is another event that has the same in
// the fields that the prompt names. The id follows from it and the secret, so that nobody outside can
// have an event of that id stored before.
func (j *judgement) identify(secret []byte) {
	h := sha256.New()
	for _, s := range []string{j.provider.name, j.provider.cfg.BaseURL, j.request.model, j.request.system, j.request.prompt} {
		_, _ = fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	j.key = fmt.Sprintf("%d %s", j.project, hex.EncodeToString(h.Sum(nil)))
	j.id = idOf(secret, j.key)
}

// idOf makes an id, a UUID of version 8, that nobody can foresee who does not know the secret.
func idOf(secret []byte, parts ...string) uuid.UUID {
	id := uuid.UUID(sign(secret, "id", parts...)[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return id
}

// sign computes the HMAC-SHA-256 of texts under the secret, for one purpose.
func sign(secret []byte, purpose string, parts ...string) []byte {
	h := hmac.New(sha256.New, secret)
	for _, s := range append([]string{purpose}, parts...) {
		_, _ = fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	return h.Sum(nil)
}

// signatureKey is the member of a recorded answer's metadata that proves that this server, or another
// one on its store, got it from the model: the signature of the question and the answer.
const signatureKey = "record_signature"

// signature signs an answer together with its question, so that it cannot be moved to another one.
func (j *judgement) signature(secret []byte, answer string) string {
	return hex.EncodeToString(sign(secret, "answer", j.key, answer))
}

// locate finds out whether the event that is judged is stored: what is recorded of it goes when it is
// deleted. One that a definition is only tried on may be stored nowhere; that of a metric was, and nobody is asked about it once it is deleted.
func (e *Engine) locate(ctx context.Context, j *judgement) {
	text, _ := rawjson.Text(rawjson.Get(j.event, "event_id"))
	id, err := uuid.Parse(text)
	if err != nil || e.deps.Recorder == nil {
		return
	}
	deleted := func(ctx context.Context) bool {
		_, err := e.deps.Recorder.Event(ctx, j.project, id)
		return fault.IsNotFound(err)
	}
	if j.metricID != "" {
		j.request.vain = deleted
	} else if deleted(ctx) {
		return
	}
	j.about = id
}

// known looks for the recorded answer to the same question. One whose signature is not the server's,
// since somebody else wrote or changed it, does not count.
func (e *Engine) known(ctx context.Context, j *judgement) (verdict, bool) {
	if e.deps.Recorder == nil {
		return verdict{}, false
	}
	ev, err := e.deps.Recorder.Event(ctx, j.project, j.id)
	if err != nil {
		if fault.Of(err) != fault.NotFound && ctx.Err() == nil {
			e.deps.Logger.Warn("a judge's earlier answer was not read; it is asked again", zap.Error(err))
		}
		return verdict{}, false
	}
	text, ok := rawjson.Text(rawjson.Get(ev.Outputs, "content"))
	signature, _ := rawjson.Text(rawjson.Get(ev.Metadata, signatureKey))
	if !ok || !hmac.Equal([]byte(signature), []byte(j.signature(e.deps.Secret, text))) {
		return verdict{}, false
	}
	v, why := read(j.metric, text)
	return v, why == ""
}

// record stores the judgement as a session of its own with a model event in it. An answer without
// a score gets a random id, so that the question can be asked again. That it could not be stored is
// logged, and nothing of the judgement's result.
func (e *Engine) record(ctx context.Context, j *judgement) {
	if e.deps.Recorder == nil {
		return
	}
	id := j.id
	if j.verdict.score == nil {
		id = uuid.New()
	}
	// The answer is paid for, whoever has stopped waiting for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	batch := event.NewBatch(j.events(id, e.deps.Secret)...)
	var err error
	if j.about != uuid.Nil {
		err = e.deps.Recorder.PutAbout(ctx, j.project, j.about, batch)
	} else {
		err = e.deps.Recorder.Put(ctx, j.project, batch)
	}
	if err != nil {
		e.deps.Logger.Warn("a judge's answer was not recorded; the same question will be asked again", zap.Error(err))
	}
}

// events returns the session and the model event of a judgement, whose id is id.
func (j *judgement) events(id uuid.UUID, secret []byte) []event.Event {
	session := idOf(secret, "session", id.String())
	answer := message("assistant", j.reply.text)
	metadata := j.usage()
	if text, ok := rawjson.Text(rawjson.Get(answer, "content")); ok { // as it will be read back
		metadata.String(signatureKey, j.signature(secret, text))
	}
	var asked, scored rawjson.Builder
	asked.Raw("target_event_id", orNull(rawjson.Get(j.event, "event_id")))
	if j.verdict.score != nil {
		scored.Raw("score", j.verdict.score)
		scored.String("explanation", j.verdict.explanation)
	}
	root := event.Event{ID: session, SessionID: session, Type: event.TypeSession, Name: "evaluate " + j.metric.Name,
		Source: evaluation.Source, Inputs: asked.Bytes(), Outputs: scored.Bytes(), Metadata: j.link().Bytes()}
	call := event.Event{ID: id, SessionID: session, ParentID: session, Type: event.TypeModel, Name: "judge", Source: evaluation.Source,
		Config: j.config(), Inputs: j.messages(), Outputs: answer, Metadata: metadata.Bytes()}
	list := []event.Event{root, call}
	for i := range list {
		e := &list[i]
		e.Start, e.End = millis(j.start), millis(j.end)
		e.Duration = e.End - e.Start
		if j.verdict.score == nil {
			why := string(j.failure.Failure) + ": " + j.failure.Explanation
			e.Error = &why
		}
	}
	return list
}

// millis returns a time in Unix milliseconds, to the microsecond.
func millis(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }

// orNull returns a value, or null if it is absent.
func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// link returns the metadata that links a judgement to its event and metric.
func (j *judgement) link() *rawjson.Builder {
	var b rawjson.Builder
	b.String("evaluator_name", j.metric.Name)
	if j.metricID != "" {
		b.String("evaluator_id", j.metricID)
		b.String("evaluator_version", metric.VersionName(j.version))
	}
	for _, name := range []string{"event_id", "session_id"} {
		if id, ok := rawjson.Text(rawjson.Get(j.event, name)); ok {
			b.String("target_"+name, id)
		}
	}
	return &b
}

// config returns what the model was asked with: the metric's own template, before it was filled in.
func (j *judgement) config() json.RawMessage {
	var b, set rawjson.Builder
	b.String("provider", j.provider.name)
	b.String("model", j.request.model)
	set.Int("max_tokens", int64(j.request.maxTokens))
	b.Raw("hyperparameters", set.Bytes())
	b.String("template", j.metric.Criteria)
	return b.Bytes()
}

// messages returns the conversation that was sent, as the inputs of an event.
func (j *judgement) messages() json.RawMessage {
	var b rawjson.Builder
	b.Raw("chat_history", j.conversation())
	return b.Bytes()
}

// conversation returns the messages that were sent.
func (j *judgement) conversation() json.RawMessage {
	return rawjson.AppendArray(nil, []json.RawMessage{message("system", j.request.system), message("user", j.request.prompt)})
}

// message returns a message of a conversation, in a text that every store can hold.
func message(role, text string) json.RawMessage {
	content, _ := rawjson.AppendText(nil, text)
	var b rawjson.Builder
	b.String("role", role)
	b.Raw("content", content)
	return b.Bytes()
}

// usage returns the metadata of the model event: its links, tokens, and cost if the price is known.
func (j *judgement) usage() *rawjson.Builder {
	b, u := j.link(), j.reply.usage
	b.Int("prompt_tokens", u.Prompt)
	b.Int("completion_tokens", u.Completion)
	b.Int("total_tokens", u.Prompt+u.Completion)
	if u.CacheRead > 0 {
		b.Int("cache_read_tokens", u.CacheRead)
	}
	if u.Reasoning > 0 {
		b.Int("reasoning_tokens", u.Reasoning)
	}
	if j.priced {
		b.Number("cost", j.usd)
	}
	if j.reply.model != "" && j.reply.model != j.request.model {
		b.String("response_model", j.reply.model)
	}
	return b
}
