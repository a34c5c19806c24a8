package event

import (
	"slices"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// PipelineScoresKey is the member of metadata that lists the names of the metrics by which a processor of
// the pipeline scored the event before it was stored. Updates of telemetry change neither those scores nor the list.
const PipelineScoresKey = "pipeline_scores"

// PipelineScoresAttr is the span attribute from which the member comes, an array of strings.
const PipelineScoresAttr = "spangrove_evaluate.scores"

// PipelineScores returns the names of the metrics by which the pipeline scored e.
func (e *Event) PipelineScores() (names []string) {
	list := rawjson.Get(e.Metadata, PipelineScoresKey)
	if list == nil {
		list = rawjson.Get(e.ColdMetadata, PipelineScoresKey)
	}
	if rawjson.KindOf(list) != '[' {
		return nil
	}
	seen := map[string]bool{}
	for _, v := range rawjson.Array(list) {
		if name, ok := rawjson.Text(v); ok && name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// AddPipelineScores adds to the names of the metrics by which the pipeline scored e.
func (e *Event) AddPipelineScores(names ...string) {
	all := e.PipelineScores()
	known := len(all)
	for _, name := range names {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) == known {
		return
	}
	var b rawjson.Builder
	b.Raw(PipelineScoresKey, rawjson.AppendStrings(nil, all))
	e.Metadata = rawjson.Merge(e.Metadata, b.Bytes())
	e.ColdMetadata = without(e.ColdMetadata, PipelineScoresKey)
}

// WithoutPipelineScores takes the list of the pipeline's scores out of u's metadata.
func (u *Update) WithoutPipelineScores() {
	u.Metadata = without(u.Metadata, PipelineScoresKey)
}
