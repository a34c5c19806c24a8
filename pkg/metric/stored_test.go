package metric

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stored documents are read by later versions: neither names nor order nor what is left out may change.
func TestStoredDocument(t *testing.T) {
	text, empty := "a \"quoted\" <text> & é\n", ""
	for _, c := range []struct {
		v    Definition
		want string
	}{
		{Definition{}, `{"name":"","type":"","criteria":"","description":"","return_type":"","enabled_in_prod":false,` +
			`"needs_ground_truth":false}`},
		{Definition{
			Name: text, Type: LLM, Criteria: text, Description: text, Return: Categorical, EnabledInProd: true, NeedsGroundTruth: true,
			Sampling: json.RawMessage(`1e1`), ModelProvider: &text, ModelName: &text, EventName: &text,
			EventType: &text, Scale: json.RawMessage(`5.0`),
			Threshold: json.RawMessage(`{ "min" : 1}`), Categories: json.RawMessage(`[ {} ]`), Children: json.RawMessage(`[ {"id":1} ]`),
			Filters: json.RawMessage(`{ "filterArray":[]}`),
		}, `{"name":"a \"quoted\" <text> & é\n","type":"LLM","criteria":"a \"quoted\" <text> & é\n",` +
			`"description":"a \"quoted\" <text> & é\n","return_type":"categorical","enabled_in_prod":true,` +
			`"needs_ground_truth":true,"sampling_percentage":1e1,"model_provider":"a \"quoted\" <text> & é\n",` +
			`"model_name":"a \"quoted\" <text> & é\n","scale":5.0,"threshold":{ "min" : 1},"categories":[ {} ],` +
			`"child_metrics":[ {"id":1} ],"filters":{ "filterArray":[]},"event_name":"a \"quoted\" <text> & é\n",` +
			`"event_type":"a \"quoted\" <text> & é\n"}`},
		{Definition{ModelProvider: &empty, ModelName: &empty, EventName: &empty, EventType: &empty},
			`{"name":"","type":"","criteria":"","description":"","return_type":"","enabled_in_prod":false,` +
				`"needs_ground_truth":false,"model_provider":"","model_name":"","event_name":"","event_type":""}`},
	} {
		if got := string(c.v.Doc()); got != c.want {
			t.Errorf("stored\n%s, want\n%s", got, c.want)
		}

		if diff := cmp.Diff(c.v, FromDoc(json.RawMessage(c.want))); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}
