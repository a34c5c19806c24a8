package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) comments() *cobra.Command {
	const id = "65a1b2c3d4e5f60718293a4b"
	words := longText("text", "text", "what to say")
	return noun("comments", "Comments: what people say of events",
		a.idLister("list EVENT", "List the comments on an event, oldest first", listing{
			plural: "comments", at: "data", limit: 100, example: `spangrove comments list ` + exampleEvent,
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "author", path: "author"},
				{title: "text", path: "text"},
				{title: "created", path: "created_at", show: date, whole: true},
				{title: "updated", path: "updated_at", show: date, whole: true},
			},
		}, func(event string) client.Request { return get(path("events", event, "comments")) }),
		a.commentStep("create EVENT", "Comment on an event, or on a session by its id",
			`spangrove comments create `+exampleEvent+` --author ada --text 'the second answer is wrong'`,
			func(args []string, body []byte) client.Request {
				return post(path("events", args[0], "comments"), body)
			},
			text("author", "author", "name of the person"), words),
		a.commentStep("update EVENT COMMENT", "Change the text of a comment",
			`spangrove comments update `+exampleEvent+` `+id+` --text 'the third answer is wrong'`,
			func(args []string, body []byte) client.Request {
				return put(path("events", args[0], "comments", args[1]), body)
			}, words),
		a.commentDelete(id),
	)
}

// commentStep returns a verb that writes a comment.
func (a *app) commentStep(use, short, example string, request func(args []string, body []byte) client.Request, fields ...bodyField) *cobra.Command {
	var b *requestBody
	cmd := command(use, short, example, func(ctx context.Context, args []string) error {
		text, err := b.build()
		if err != nil {
			return err
		}
		answer, err := a.call(ctx, request(args, text))
		if err != nil {
			return err
		}
		if len(args) == 1 {
			id, _ := rawjson.Text(rawjson.Path(answer, "data", "id"))
			return a.made(answer, id)
		}
		return a.changed(answer, "updated %s", clean(args[1]))
	})
	b = bodyOf(cmd, fields...)
	return cmd
}

func (a *app) commentDelete(exampleID string) *cobra.Command {
	var yes bool
	cmd := command("delete EVENT COMMENT...", "Delete comments on an event",
		`spangrove comments delete `+exampleEvent+` `+exampleID+` --yes`, nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ids := args[1:]
		if !yes {
			if err := confirm(cmd, "delete comments: "+strings.Join(ids, ", ")+"?"); err != nil {
				return err
			}
		}
		for i, id := range ids {
			answer, err := a.call(cmd.Context(), del(path("events", args[0], "comments", id)))
			if err != nil {
				if len(ids) == 1 {
					return err
				}
				return after(err, "deleted %d of %d", i, len(ids))
			}
			if err := a.changed(answer, "deleted %s", clean(id)); err != nil {
				return err
			}
		}
		return nil
	}
	yesFlag(cmd, &yes)
	return cmd
}
