package metric

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Patch holds the fields of a definition that a request sets; nil is not set.
type Patch struct {
	Name, Criteria, Description     *string
	Type                            *Type
	Return                          *Return
	EnabledInProd, NeedsGroundTruth *bool
	ModelProvider, ModelName        *string
	EventName, EventType            *string
	Sampling, Scale                 json.RawMessage
	Threshold, Categories           json.RawMessage
	Children, Filters               json.RawMessage
	// PassWhen is pass_when outside the threshold, where older clients have it: it becomes a
	// member of the threshold. Where Older, a threshold that is given replaces only those of its
	// members that it names, since these clients cannot give the others.
	PassWhen json.RawMessage
	Older    bool
}

// Apply sets the fields that p has.
func (d *Definition) Apply(p *Patch) {
	set(&d.Name, p.Name)
	set(&d.Criteria, p.Criteria)
	set(&d.Description, p.Description)
	// Older clients have one name for code of both types: putting back what they read changes
	// nothing.
	if p.Type != nil && !(p.Older && *p.Type == Python && d.Type == Expression) {
		d.Type = *p.Type
	}
	set(&d.Return, p.Return)
	set(&d.EnabledInProd, p.EnabledInProd)
	set(&d.NeedsGroundTruth, p.NeedsGroundTruth)
	for to, from := range map[**string]*string{
		&d.ModelProvider: p.ModelProvider, &d.ModelName: p.ModelName, &d.EventName: p.EventName, &d.EventType: p.EventType,
	} {
		if from != nil {
			*to = from
		}
	}
	before := d.Threshold
	for to, from := range map[*json.RawMessage]json.RawMessage{&d.Sampling: p.Sampling, &d.Scale: p.Scale, &d.Threshold: p.Threshold,
		&d.Categories: p.Categories, &d.Children: p.Children, &d.Filters: p.Filters} {
		if from != nil {
			*to = from
		}
	}
	if p.Older && p.Threshold != nil {
		d.Threshold = rawjson.Merge(before, p.Threshold)
	}
	if p.PassWhen != nil {
		var b rawjson.Builder
		b.Raw("pass_when", p.PassWhen)
		d.Threshold = rawjson.Merge(d.Threshold, b.Bytes())
	}
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Size returns about how many bytes p has.
func (p *Patch) Size() int {
	n := len(p.Threshold) + len(p.Categories) + len(p.Children) + len(p.Filters)
	for _, text := range []*string{p.Name, p.Criteria, p.Description} {
		if text != nil {
			n += len(*text)
		}
	}
	return n
}
