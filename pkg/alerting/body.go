package alerting

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// stamp writes a time in Unix milliseconds as the API does.
func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// webhookBody is what a webhook gets. docs/alerts.md describes it.
func webhookBody(n *alert.Notice, p *project.Project, link string) json.RawMessage {
	var b rawjson.Builder
	b.String("id", n.ID)
	b.String("type", "alert."+n.Kind)
	b.String("timestamp", stamp(n.At))
	b.String("title", n.Title())
	b.String("text", n.Text())

	var of, in, data rawjson.Builder
	of.String("id", n.AlertID)
	of.String("name", n.Name)
	of.String("description", n.Description)
	of.String("condition", n.Condition)
	of.String("measures", n.Measures)
	if n.Filter != "" {
		of.String("filter", n.Filter)
	}
	if n.Unit != "" {
		of.String("unit", string(n.Unit))
	}
	in.String("id", p.PublicID)
	in.String("name", p.Name)
	b.Raw("alert", of.Bytes())
	b.Raw("project", in.Bytes())
	if n.Incident != "" {
		b.String("incident", n.Incident)
	}
	number(&data, "value", n.Reading.Value)
	data.Int("events", n.Reading.Events)
	if n.Compare == alert.WeekBefore {
		number(&data, "before", n.Reading.Before)
		data.Int("events_before", n.Reading.EventsBefore)
		number(&data, "change_percent", n.Reading.Percent())
	}
	if n.Reading.Error != "" {
		data.String("error", n.Reading.Error)
	}
	data.String("from", stamp(n.From))
	data.String("to", stamp(n.To))
	b.Raw("reading", data.Bytes())
	if link != "" {
		b.String("url", link)
	}
	return b.Bytes()
}

func number(b *rawjson.Builder, name string, v *float64) {
	if v == nil {
		b.Raw(name, []byte("null"))
		return
	}
	b.Number(name, *v)
}

// slackEscape escapes what has a meaning in Slack's texts.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackBody is what Slack's incoming webhooks take, and what others take that say so (Mattermost, Rocket.Chat, Discord under /slack).
func slackBody(n *alert.Notice, projectName, link string) json.RawMessage {
	text := "*" + slackEscape.Replace(strings.ReplaceAll(n.Title(), "*", "∗")) + "* (" + slackEscape.Replace(projectName) + ")\n" +
		slackEscape.Replace(n.Text())
	if n.Description != "" {
		text += "\n" + slackEscape.Replace(n.Description)
	}
	if link != "" {
		text += "\n<" + link + "|Open the alert>"
	}
	var b rawjson.Builder
	b.String("text", text)
	return b.Bytes()
}
