package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) keys() *cobra.Command {
	return noun("keys", "Keys: who may do what in a project",
		a.keyList(), a.keyCreate(), a.keyRevoke(), a.keyWhoAmI())
}

// keyWhoAmI shows whose key this program uses.
func (a *app) keyWhoAmI() *cobra.Command {
	return command("whoami", "Show the project and the scope of the key that is used", `
		spangrove keys whoami
		spangrove keys whoami --output json`,
		func(ctx context.Context, _ []string) error {
			answer, err := a.call(ctx, get("/v1/me"))
			if err != nil {
				return err
			}
			return a.one(answer)
		})
}

// ofProject returns the flag that names a project, which commands about keys need.
func ofProject(cmd *cobra.Command) *string {
	return cmd.Flags().String("project", "", "name or id of the `PROJECT`; may be left out if there is only one")
}

// theProject returns the id of the project that is named, or of the only one.
func (a *app) theProject(ctx context.Context, named string) (string, error) {
	if named != "" {
		return a.project(ctx, named)
	}
	answer, err := a.call(ctx, get("/v1/projects"))
	if err != nil {
		return "", err
	}
	var names []string
	for _, p := range rawjson.Array(answer) {
		names = append(names, textOf(p, "name"))
	}
	if len(names) != 1 {
		return "", usage("say which project by --project: %s", clean(strings.Join(names, ", ")))
	}
	return textOf(rawjson.Path(answer, "0"), "id"), nil
}

func (a *app) keyList() *cobra.Command {
	l := listing{
		plural: "keys", at: "data", limit: 100,
		columns: []column{
			{title: "id", path: "key_id", whole: true},
			{title: "name", path: "name"},
			{title: "begins", path: "prefix", whole: true},
			{title: "scope", path: "scope"},
			{title: "in force", path: "in_force"},
			{title: "expires", path: "expires_at", show: date},
			{title: "last used", path: "last_used_at", show: date},
			{title: "made by", path: "origin"},
		},
	}
	var p paging
	var project *string
	cmd := command("list", "List the keys of a project, revoked ones too", `
		spangrove keys list
		spangrove keys list --project support --output json`,
		func(ctx context.Context, _ []string) error {
			id, err := a.theProject(ctx, *project)
			if err != nil {
				return err
			}
			l.request = get(path("projects", id, "api_keys"))
			return a.list(ctx, l, p)
		})
	project = ofProject(cmd)
	p.flags(cmd, l)
	return cmd
}

// scopes are what a key may do, each more than the one before.
var scopes = []string{"ingest", "read", "full", "admin"}

func (a *app) keyCreate() *cobra.Command {
	var name, description, scope, expires string
	var project *string
	cmd := command("create", "Create a key, which is shown this once", `
		KEY=$(spangrove keys create --name collector)
		spangrove keys create --name ci --scope full --expires 90d --project support`,
		func(ctx context.Context, _ []string) error {
			if name == "" {
				return usage("--name is missing: what the key is for")
			}
			if !slices.Contains(scopes, scope) {
				return usage("--scope %s: must be one of %s", scope, strings.Join(scopes, ", "))
			}
			var b rawjson.Builder
			b.String("name", name)
			b.String("description", description)
			kind := "ingestion_api_keys"
			if scope != "ingest" || expires != "" {
				until, err := expiry(expires, time.Now())
				if err != nil {
					return err
				}
				kind = "fine_grained_api_keys"
				b.Raw("permissions", rawjson.AppendStrings(nil, []string{scope}))
				b.String("expires_at", until)
			}
			id, err := a.theProject(ctx, *project)
			if err != nil {
				return err
			}
			answer, err := a.call(ctx, post(path("projects", id, kind), b.Bytes()))
			if err != nil {
				return err
			}
			a.remark("the key is shown this once")
			data := rawjson.Get(answer, "data")
			return a.made(data, textOf(data, "key_value"))
		})
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "what the key is for")
	flags.StringVar(&description, "description", "", "more about it")
	flags.StringVar(&scope, "scope", "ingest", "what it may do: ingest, read, full or admin")
	completes(cmd, "scope", scopes)
	flags.StringVar(&expires, "expires", "", "how long it is valid, such as 90d, or until which `DATE`; a key of scope ingest needs none")
	project = ofProject(cmd)
	return cmd
}

// expiry returns when a key expires: after a number of hours, days or weeks, or on a date.
func expiry(text string, now time.Time) (string, error) {
	if text == "" {
		return "", usage("--expires is missing, which a key of any scope but ingest needs: such as 90d, or a date")
	}
	if timeUpToNow.MatchString(text) {
		unit := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[text[len(text)-1]]
		n, err := json.Number(text[:len(text)-1]).Int64()
		if unit == 0 || err != nil || n > int64(100*366*24*time.Hour/unit) {
			return "", usage("--expires %s: must be such as 12h, 90d or 52w, at most 100 years", text)
		}
		return now.Add(time.Duration(n) * unit).UTC().Format(time.RFC3339), nil
	}
	return text, nil
}

func (a *app) keyRevoke() *cobra.Command {
	var yes bool
	var project *string
	cmd := command("revoke ID", "Take a key out of force for good", `spangrove keys revoke 0192f0a4-7c1e-7aaa-8bbb-1234567890ab --yes`, nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := a.theProject(cmd.Context(), *project)
		if err != nil {
			return err
		}
		if !yes {
			if err := confirm(cmd, "revoke the key "+args[0]+"?"); err != nil {
				return err
			}
		}
		answer, err := a.call(cmd.Context(), del(path("projects", id, "api_keys", args[0])))
		if err != nil {
			return err
		}
		return a.changed(answer, "revoked %s", clean(args[0]))
	}
	yesFlag(cmd, &yes)
	project = ofProject(cmd)
	return cmd
}
