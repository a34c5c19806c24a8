package otlpmap

import "strings"

// asEvaluations reads OpenInference's results of judges, evaluations.N.evaluation.* and
// annotations.N.annotation.*: the score (or else the label) becomes a metric of the span that
// carries it, or feedback if a person gave it as an annotation; the whole result is an entry of
// metadata.evaluations. Results about a trace or a session are told apart there by target.
var asEvaluations = reader{
	name:  "evaluations",
	about: "indexed results {name, score, label, explanation, …}: metrics (annotations of people: feedback), and metadata.evaluations",
	family: func(b *eventBuilder, _ target, fam int16) {
		if b.filled(fieldEvaluations.field) || !b.plant(fam) {
			return
		}
		prefix := compiled.famNames[fam]
		scope, human := "", strings.HasSuffix(prefix, "annotations")
		if i := strings.IndexByte(prefix, '.'); i > 0 {
			scope = prefix[:i]
		}
		for _, n := range b.tree.indexed(0) {
			if in := b.tree.child(n, "evaluation"); in != 0 && b.tree.nodes[n].children == 1 {
				n = in
			} else if in := b.tree.child(n, "annotation"); in != 0 && b.tree.nodes[n].children == 1 {
				n = in
			}
			b.judgement(n, scope, human)
		}
	},
}

// judgement reads one result, at a node of the tree. scope is what it is about if not the span: "trace" or
// "session". human: it is an annotation, which a person may have given. A result without a name is left as it is.
func (b *eventBuilder) judgement(n int32, scope string, human bool) {
	name := b.leaf(b.tree.child(n, "name"))
	if name == nil || name.str() == "" {
		return
	}
	var value []byte
	for _, key := range [...]string{"score", "label"} {
		if a := b.leaf(b.tree.child(n, key)); a != nil && value == nil {
			value = b.appendValue(nil, a.val)
		}
	}
	bucket := bucketMetrics
	if kind := b.leaf(b.tree.child(n, "annotator_kind")); human && kind != nil && strings.EqualFold(kind.str(), "human") {
		bucket = bucketFeedback
	}
	// The entry has all members of the result; the score is called value, as in the results of span events.
	var o object
	for c := b.tree.nodes[n].first; c != 0; c = b.tree.nodes[c].next {
		key := b.tree.nodes[c].key
		if key == "score" {
			key = "value"
		}
		o.open(key)
		o.buf = b.appendNode(o.buf, c)
	}
	if scope != "" {
		o.str("target", scope)
	}
	if value != nil {
		b.member(bucket, name.str(), value)
	}
	b.evaluations = appendItem(b.evaluations, append(o.buf, '}'))
}
