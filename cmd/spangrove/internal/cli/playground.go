package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) playground() *cobra.Command {
	return noun("playground", "Playground: models asked by you", a.playgroundRun())
}

func (a *app) playgroundRun() *cobra.Command {
	var b *requestBody
	cmd := command("run", "Ask a model", `
		spangrove playground run --model gpt-4o-mini --prompt 'Why is the sky blue?'
		spangrove playground run --file request.json
		spangrove playground run --file request.json --parameters '{"temperature": 0}' --output json`,
		func(ctx context.Context, _ []string) error {
			body, err := b.build()
			if err != nil {
				return err
			}
			return a.runPlayground(ctx, body)
		})
	cmd.Long = "The text is shown as it comes; what the answer took goes to standard error. With --output json or yaml the answer is shown as one " +
		"object at its end, with jsonl each piece as it comes. It costs money at the provider, within the budgets of the project's judges."
	b = bodyOf(cmd,
		text("provider", "provider", "which of the project's providers; as for a metric that names none if left out"),
		text("model", "model", "the provider's if left out"),
		bodyField{"prompt", "messages", "one message of the user, or @FILE", "TEXT", true, func(s string) (json.RawMessage, error) {
			var message rawjson.Builder
			message.String("role", "user")
			message.String("content", s)
			return rawjson.AppendArray(nil, []json.RawMessage{message.Bytes()}), nil
		}},
		value("messages", "messages", "the messages as a JSON array, or @FILE"),
		value("tools", "tools", "functions that the model may call, or @FILE"),
		value("tool-choice", "tool_choice", `"auto", "none", "required", or an object that names a function`),
		value("parameters", "parameters", "temperature, top_p, max_tokens and others as JSON, or @FILE"),
		value("response-format", "response_format", "JSON object, or @FILE"),
	)
	return cmd
}

// runPlayground shows an answer as it comes.
func (a *app) runPlayground(ctx context.Context, body json.RawMessage) error {
	shown := &answerOutput{output: a.output}
	for e, err := range a.api.Playground.RunJSON(ctx, body) {
		if err == nil {
			err = shown.add(e)
		}
		if err != nil {
			shown.endLine()
			return err
		}
	}
	return shown.end()
}

// answerOutput shows the pieces of an answer.
type answerOutput struct {
	*output
	text, reasoning strings.Builder
	calls           []client.PlaygroundToolCall
	usage           *client.PlaygroundUsage
	done            *client.PlaygroundDone
	within          bool // a line of text has no end yet
}

func (o *answerOutput) add(e client.PlaygroundEvent) error {
	switch {
	case e.Delta != nil:
		o.text.WriteString(e.Delta.Text)
		o.reasoning.WriteString(e.Delta.Reasoning)
		o.addCalls(e.Delta.ToolCalls)
	case e.Usage != nil:
		o.usage = e.Usage
	case e.Done != nil:
		o.done = e.Done
	}
	switch {
	case o.format == formatJSONL:
		return o.piece(e)
	case o.format != formatTable || e.Delta == nil || e.Delta.Text == "":
		return nil
	}
	o.within = !strings.HasSuffix(e.Delta.Text, "\n")
	_, err := io.WriteString(o.results, printable(e.Delta.Text))
	return err
}

// addCalls adds what there is more of each call. The server counts them from 0 without gaps.
func (o *answerOutput) addCalls(pieces []client.PlaygroundToolCall) {
	for _, piece := range pieces {
		if piece.Index < 0 || piece.Index >= len(o.calls) {
			piece.Type = "function"
			o.calls = append(o.calls, piece)
			continue
		}
		o.calls[piece.Index].Function.Arguments += piece.Function.Arguments
	}
}

// piece shows one piece as a line of JSON.
func (o *answerOutput) piece(e client.PlaygroundEvent) error {
	var b rawjson.Builder
	for _, one := range []struct {
		name  string
		value any
		there bool
	}{{"delta", e.Delta, e.Delta != nil}, {"usage", e.Usage, e.Usage != nil}, {"done", e.Done, e.Done != nil}} {
		if !one.there {
			continue
		}
		text, err := json.Marshal(one.value)
		if err != nil {
			return err
		}
		b.Raw(one.name, text)
	}
	if b.Len() == 0 {
		return nil
	}
	return o.line(b.Bytes())
}

// end shows what is left at the end of an answer.
func (o *answerOutput) end() error {
	switch o.format {
	case formatJSONL:
		return nil
	case formatTable:
		return o.summary()
	}
	whole, err := json.Marshal(struct {
		Text      string                      `json:"text"`
		Reasoning string                      `json:"reasoning,omitempty"`
		ToolCalls []client.PlaygroundToolCall `json:"tool_calls,omitempty"`
		Usage     *client.PlaygroundUsage     `json:"usage"`
		*client.PlaygroundDone
	}{o.text.String(), o.reasoning.String(), o.calls, o.usage, o.done})
	if err != nil {
		return err
	}
	return o.one(whole)
}

// summary ends a text, shows the calls of tools, and remarks what the answer took.
func (o *answerOutput) summary() error {
	o.endLine()
	for _, call := range o.calls {
		if _, err := fmt.Fprintf(o.results, "%s(%s)\n", clean(call.Function.Name), printable(call.Function.Arguments)); err != nil {
			return err
		}
	}
	cost := "price not known"
	if o.usage != nil && o.usage.Cost != nil {
		cost = fmt.Sprintf("$%.6f", *o.usage.Cost)
	}
	if o.usage != nil && o.done != nil {
		about := ""
		if o.usage.Estimated {
			about = "about "
		}
		o.remark("%s: %s%d + %d tokens, %s, %.1f s (first after %.1f s), %s", clean(o.done.Model), about, o.usage.PromptTokens,
			o.usage.CompletionTokens, cost, o.done.Duration/1000, o.done.TimeToFirstToken/1000, clean(o.done.FinishReason))
	}
	if o.done != nil && o.done.Refusal != "" {
		o.remark("refused: %s", clean(o.done.Refusal))
	}
	return nil
}

// endLine ends a line of text that has no end.
func (o *answerOutput) endLine() {
	if o.within {
		_, _ = io.WriteString(o.results, "\n")
		o.within = false
	}
}

// printable leaves out of a text what a terminal would take for a command, and keeps its lines.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return -1
		}
		return r
	}, text)
}
