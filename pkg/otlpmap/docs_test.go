package otlpmap

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/otlp-mapping.md and the golden trees anew")

const docFile = "../../docs/otlp-mapping.md"

// TestDocs keeps docs/otlp-mapping.md what the tables say.
func TestDocs(t *testing.T) {
	t.Parallel()
	got := printDocs()
	if *update {
		if err := os.WriteFile(docFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/otlp-mapping.md is not what the tables say; run go test ./pkg/otlpmap -run TestDocs -update (-file +tables)\n%s", diff)
	}
}

const docHead = `<!-- Printed from the tables of pkg/otlpmap by its tests; do not edit. go test ./pkg/otlpmap -run TestDocs -update -->
# How spans become events

Any OTLP span becomes one event. What an attribute means hangs on its name alone, so a library that
nobody has heard of works at once if it uses one of the naming schemes below. A span may use several:
all rules run, in the order given here, and each fills only what is still empty.

**Nothing is lost.** An attribute that no rule places, or whose value cannot be read, stays in ` + "`metadata`" + ` under its
own name, as one literal key, and with its own type: ` + "`test.unique_id` is `metadata[\"test.unique_id\"]`, and a filter\non `metadata.test.unique_id`" + ` finds it. Only where ` + "`metadata`" + ` has a member of that name already, or the name is one that this service writes itself
(%s), it stays in
` + "`metadata.attributes.<name>`" + `. %s stay under their own names, besides the fields that they fill.
An attribute that only repeats what the event has already (a raw request beside the messages made of it) is dropped when
every text and number of it is in the event, and of a conversation that came with ids, times and other wrapping only these stay; of a JSON object only the members stay that say something new. Span events that are not read are in
` + "`metadata.span_events`" + `, links in ` + "`metadata.links`" + `. The span's ids, name, kind and scope are in ` + "`metadata.trace_id`, `span_id`,\n`parent_span_id`, `span_name`, `otel_kind` and `scope`; `metadata.instrumentor`" + ` names the naming scheme.

`

const docIDs = `## Ids, sessions and time

- **event_id**: %s, else the UUID version 5 of the span id (16 lower-case hex digits) in the namespace of the trace id's
  bytes. Sending a span twice changes nothing.
- **parent_id**: the parent span's event. For a span without a parent: %s, else the session.
- **session_id**: the session key if it is a UUID, else its UUID version 5 in the URL namespace; without any key the trace id.
  The key of a span is a text or a whole number above 0, the first of: %s, then ` + "`session_id` or `thread_id`" + ` in the JSON of ` + "`metadata`" + `, then the resource's
  ` + "`session.id`" + `. The whole trace joins the session of its root span, or else of its earliest span with a key; another key deeper
  down is kept in ` + "`metadata.session_key`" + `. Only %s hold for their own span alone.
- **event_name**: %s; for tools %s; for chains %s; then %s; else the span's name.
- **source**: %s; of the resource %s; else ` + "`unknown`" + `.
- **user_properties.user_id**: the attributes [below](#attributes), else ` + "`user_id`" + ` in the JSON of ` + "`metadata`" + `%s.
- **error**: %s; the message of a failed status; the last exception's message; %s. The stack trace is in
  ` + "`metadata.error_stacktrace`" + `. Exceptions of a span that did not fail are in ` + "`metadata.exceptions`" + ` and no error.
- Times are milliseconds with fractions. A span without an end is unfinished; an end before the start gives duration 0 and
  ` + "`metadata.clock_skew`" + `.
- The resource's attributes are in every event's ` + "`metadata.resource`" + `, as far as they fit: 4 KiB of JSON, and in requests of fewer than 8,192 spans
  32 MiB over all of them; of a scope a quarter of that. ` + "`metadata.truncated`" + ` says how large it is. The first event
  of each resource and scope in a request has all of it. An implicit session has the resource of its first span.
  ` + "`service.name` and `service.version`" + ` are in the metadata of every event.

`

const docTail = `## What is read specially

- **Messages** have one form, ` + "`{role, content, name?, tool_calls?, tool_call_id?, reasoning?}`" + `, whatever instrumentation or API they came by: one
  renderer is enough. Tool calls are ` + "`{id, name, arguments}`" + `, the arguments an object if they are JSON; the result of a tool is a message of the
  role tool; thoughts are ` + "`reasoning`" + `. Content is a text if it is only text, else a list of parts in the form of OpenAI's chat API:

  | Part | Form |
  |---|---|
  | text | ` + "`{\"type\": \"text\", \"text\": …}`" + ` |
  | picture | ` + "`{\"type\": \"image_url\", \"image_url\": {\"url\": …, \"detail\"?}}`" + ` |
  | sound | ` + "`{\"type\": \"input_audio\", \"input_audio\": {\"data\": base64, \"format\": \"wav\"}}`, by address `{\"type\": \"audio_url\", \"audio_url\": {\"url\": …}}`" + ` |
  | film | ` + "`{\"type\": \"video_url\", \"video_url\": {\"url\": …}}`" + ` |
  | file | ` + "`{\"type\": \"file\", \"file\": {\"file_data\" or \"file_url\" or \"file_id\": …, \"filename\"?}}`" + ` |

  What came as base64 is a data URL (` + "`data:image/png;base64,…`" + `), but for sound; an uploaded picture has ` + "`file_id`" + ` for its ` + "`url`" + `. Members that have
  no place in a form stand beside it; a part of any other kind stays as it came. Kinds of parts that lose their wrapping this way are
  listed in ` + "`metadata.part_types`" + `.
  Pictures, sounds and files are known in the shapes of OpenAI, Anthropic, Bedrock, Gemini, the GenAI conventions, OpenInference, the Vercel AI SDK,
  pydantic-ai and LangChain.
  Calls, results, thoughts and texts are known in the shapes of the GenAI conventions, the Vercel AI SDK, Anthropic, Bedrock, Gemini and Haystack.
  Calls of tools that the provider runs (` + "`server_tool_call`, `server_tool_use`, `mcp_tool_use`" + `) keep their type among ` + "`tool_calls`" + `.
- **input**: of a model call the messages (or the Responses API's input and instructions) become ` + "`inputs.chat_history`" + `, the settings config;
  of an embedding the texts become ` + "`inputs.texts`" + `; of a retriever a text becomes ` + "`inputs.query`" + `. Else an object becomes the inputs (of
  ` + "`{args, kwargs}`" + ` the kwargs, positional ones under ` + "`args`" + `), a list of messages ` + "`inputs.chat_history`" + `, anything else ` + "`inputs.value`" + `.
- **output**: of a model call the first choice becomes ` + "`outputs.{role, content, tool_calls, finish_reason, reasoning}`" + `, others ` + "`outputs.choices`" + `,
  but where a tool that the provider runs has answered, all messages are ` + "`outputs.chat_history`" + `; the reason to stop ` + "`tool_call`" + ` of the GenAI conventions is ` + "`tool_calls`" + `;
  of a retriever the documents ` + "`outputs.documents`" + `; of a chain an object becomes the outputs; anything else ` + "`outputs.result`" + `.
- **LangChain and LangGraph**: serialised messages (` + "`{type, data}`, `{lc, type: constructor, id, kwargs}`" + `, the fields alone, and pairs of a role and a text) are read wherever they
  stand: in states (` + "`{messages}`" + `), in the commands that a node of LangGraph gives back, and in what OpenLLMetry's callbacks put around inputs and
  outputs. Of a chain the messages given are ` + "`inputs.chat_history`" + `, what the assistant said last is the outputs, and all messages given back
  ` + "`outputs.chat_history`" + `; of a tool the message's content is ` + "`outputs.result`" + `. Where the raw input of a chain tells more of its conversation than the
  flattened messages beside it, it is the one that is read.
- **Span events**: ` + "`gen_ai.client.inference.operation.details`" + ` counts as attributes of the span; ` + "`gen_ai.*.message` and `gen_ai.choice`" + ` are
  messages (of a tool's span its input and result), likewise the older ` + "`gen_ai.content.prompt` and `gen_ai.content.completion`" + `; ` + "`gen_ai.evaluation.result`" + ` is a metric of the span it sits on, and an entry in ` + "`metadata.evaluations`" + `; ` + "`exception`" + ` see above.
- **Judges**: ` + "`evaluations.N`, `annotations.N`" + ` and the same below ` + "`trace.` and `session.`" + ` are metrics of the span that carries them (annotations
  by people are feedback), and entries of ` + "`metadata.evaluations`" + `, with ` + "`target`" + ` if they are about the trace or session.
- **Plain spans** of servers, clients, databases and queues keep all attributes under their own names in ` + "`metadata`" + `.
- **One call, several spans**: of a model call and the model calls below it in its trace and session, the one nearest to the model is the
  model event; but one that holds more content (messages before tools, tools before nothing) than all below it is, then, instead of them.
  The others become chains and their counts go to ` + "`metadata.aggregate_usage`" + `; those inside the model event have its id in
  ` + "`metadata.duplicate_of`" + `. **Duplicates**: of two model calls of one session with the same ` + "`metadata.response_id`" + ` by different
  instrumentors the one with less content, and else the one that ended later (at once: the less deep one), has
  ` + "`metadata.duplicate_of`" + ` and is left out of sums. Calls that failed have no response id: two of them, by different
  instrumentors, below the same span, of the same model and under way at the same time are duplicates as well. What only the others know (tokens, cost, response id, models) is filled in; the
  model event lists those fields in ` + "`metadata.from_duplicates`" + `. ` + "`num_model_events`" + ` counts calls: neither chains nor duplicates. The store
  sees to all of it at every commit, so that it does not matter in what requests and order the spans come, and whether their messages
  come with log records. Only spans are corrected, native events never.
- **Usage**: what an agent, a workflow or a span of another kind of chain reports is of the model calls below it, so it is in
  ` + "`metadata.aggregate_usage`" + `, which no sum counts. A span of no kind keeps its counts. Cached and reasoning tokens are parts of prompt and
  completion. If more are cached than the prompt has, they are added to it
  (` + "`metadata.usage_adjusted`" + `), and so are Langfuse's ` + "`input_*`, `cache_*` and `output_*`" + `, which are not in its input and output unless its total says that they
  are. A missing total is the sum.
- **Cost**: what the span reports (` + "`metadata.cost_source` is `reported`" + `), else of a model call what its tokens cost (` + "`computed`" + `, see
  [prices.md](prices.md)); without a known price there is no ` + "`metadata.cost`" + `. A wrapper's cost goes with its counts.
- **Copies of spans that have not ended** (Logfire's ` + "`pending_span`" + `): the unfinished event of the span they stand for, under its id and its parent;
  the span itself replaces it.
- **What a caller says** (` + "`metadata`" + ` read as caller's) never goes before what a naming scheme says, and LangSmith's ` + "`LANGSMITH_*` and `LANGCHAIN_*`" + `
  environment stays under its own names. Nested values that come as Python literals can be read, and stay as well, since their text is not ours.
- **Levels**: Langfuse's level ERROR makes its status message the error, also where the span's status does not.
- **Bounds**: strings over %d bytes are cut (` + "`metadata.truncated`" + ` tells their length), media in messages over %d bytes are replaced by type, length and
  SHA-256, embedding vectors of more than %d numbers by count and dimension (` + "`metadata.embedding`" + `). At most %d elements of an indexed family are gathered.
- JSON that was cut off is read up to the cut; ` + "`metadata.parse_error`" + ` names the attribute. NUL and invalid UTF-8 become U+FFFD, counted in
  ` + "`metadata.replaced_characters`" + `.
`

const docLogs = `A record belongs to the event of the span that its trace and span id name; without them it is rejected by itself. It may come before or after
the span, and any number of times: the event is composed from all its records in order of time. They fill only fields that the span left
empty, or append to lists of metadata, and never change what an update has set. ` + "`metadata.from_logs`" + ` tells which fields they filled, and from how
many pieces. What finds its field taken by something else, and records of AI that are not known, are kept in ` + "`metadata.logs`" + `. Lines of an
application's log are dropped, unless the exporter's ` + "`keep_plain_logs`" + ` is on.

The name is the record's event name, or its attribute ` + "`event.name`" + `. The body is a map, JSON as a text (also in the attribute ` + "`gen_ai.event.content`" + `),
or a plain text. Records that tell an exception by ` + "`exception.type` or `exception.message`" + ` need no name. If no span of a trace names a session,
a session key on one of its records does.

`

const docSteps = `Coding agents tell their work by records without a span. Those with one of these names become events of the session that ` + "`session.id` or `conversation.id`" + ` names,
with ids that follow from the record; they end at its time and took its ` + "`duration_ms`" + `. What has a span as well (Claude Code with its traces on) is kept in ` + "`metadata.logs`" + `
of that span's event, so that nothing counts twice. Other records of these agents are lines of a log.

`

func printDocs() string {
	var b strings.Builder
	fmt.Fprintf(&b, docHead, code(slices.Sorted(maps.Keys(reservedKeys)), ", "), code(keptNames, ", "))
	b.WriteString("## Naming schemes\n\n| Scheme | Checked against | Scopes |\n|---|---|---|\n")
	for _, c := range conventions {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.name, c.version, code(c.scopes, ", "))
	}
	var accounts strings.Builder
	for _, c := range conventions {
		if c.accounts != nil {
			fmt.Fprintf(&accounts, ", else of %s spans %s", c.name, code(c.accounts, ", "))
		}
	}
	fmt.Fprintf(&b, "\n"+docIDs, code(keyLists[eventIDKeys], ", "), code(keyLists[parentKeys], ", "), code(keyLists[sessionKeys], ", "), code(keyLists[fixedSessionKeys], " and "),
		code(append(slices.Clone(keyLists[givenNameKeys]), keyLists[nameKeys]...), ", "), code(keyLists[toolNameKeys], ", "), code(keyLists[chainNameKeys], ", "), code(keyLists[lateNameKeys], ", "),
		code(keyLists[sourceKeys], ", "), code(keyLists[resourceSourceKeys], ", "), accounts.String(), code(keyLists[errorKeys], ", "), code(keyLists[lateErrorKeys], ", "))
	b.WriteString("## Event types\n\nThe first rule that has the value decides. " + code(keyLists[eventTypeKeys], ", ") +
		" come before them all, but a bare `tool` without an event name yields. `session` is a type like the others: only the event whose id is its session's has the session's totals.\n\n| Attribute | Scheme | model | tool | chain |\n|---|---|---|---|---|\n")
	for _, k := range kindRules {
		by := map[spanRole][]string{}
		values := maps.Clone(k.is)
		if values == nil {
			values = map[string]spanRole{}
		}
		for _, p := range k.like {
			values[p.pattern] = p.role
		}
		for v, r := range values {
			switch r {
			case onEmbedding:
				r = onModel
			case onRetriever:
				r = onTool
			}
			by[r] = append(by[r], v)
		}
		for _, l := range by {
			slices.Sort(l)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code([]string{k.attr}, ""), conventions[k.by].name, code(by[onModel], ", "), code(by[onTool], ", "), code(by[onChain], ", "))
	}
	fmt.Fprintf(&b, "\nA span without any of these is a tool if it has one of %s, a model call if it has one of %s and one of %s, a tool if its kind is client and it has one of %s, else a chain.\n\n",
		code(keyLists[toolHints], ", "), code(keyLists[modelHints], ", "), code(keyLists[usageHints], ", "), code(keyLists[clientHints], ", "))
	b.WriteString("## Attributes\n\n`N` stands for an index, `*` for any rest of the name, `?` for any one part of it.\n\n| Field | Attributes, the first that can be read | Read as | Scheme |\n|---|---|---|---|\n")
	as := map[string]string{}
	var names []string
	for _, r := range rules {
		fmt.Fprintf(&b, "| `%s` | %s | %s%s | %s |\n", r.to, code(r.from, ", "), r.as.name, onlyFor(r.on), conventions[r.by].name)
		if _, ok := as[r.as.name]; !ok {
			names = append(names, r.as.name)
		}
		as[r.as.name] = r.as.about
	}
	b.WriteString("\n| Read as | Means |\n|---|---|\n")
	slices.Sort(names)
	for _, n := range names {
		fmt.Fprintf(&b, "| %s | %s |\n", n, as[n])
	}
	b.WriteString("\n## Log records\n\n" + docLogs + "| Name | Becomes |\n|---|---|\n")
	for _, r := range recordKinds {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.name, r.does)
	}
	b.WriteString("\n" + docSteps + "| Name | Becomes |\n|---|---|\n")
	for _, r := range stepRecords {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.name, r.does)
	}
	fmt.Fprintf(&b, "\nAttributes whose names begin with %s make any other record one of AI.\n", code(aiPrefixes, ", "))
	fmt.Fprintf(&b, "\n"+docTail, DefaultMaxFieldBytes, DefaultMaxMediaBytes, DefaultMaxVector, MaxIndexed)
	return b.String()
}

func code(names []string, sep string) string {
	var out []string
	for _, n := range names {
		if n == spanName {
			out = append(out, "the span's name")
			continue
		}
		if n == "@messages" {
			out = append(out, "message span events")
			continue
		}
		out = append(out, "`"+n+"`")
	}
	return strings.Join(out, sep)
}

func onlyFor(on spanRole) string {
	switch on {
	case 0, onAll:
		return ""
	case onModel:
		return " (models)"
	case onEmbedding:
		return " (embeddings)"
	case onTools:
		return " (tools)"
	case onTool:
		return " (tools but retrievers)"
	case onRetriever:
		return " (retrievers)"
	case onChain:
		return " (chains)"
	case onModel | onEmbedding:
		return " (models, embeddings)"
	case notText:
		return " (all but embeddings)"
	}
	return ""
}
