// Package evaluateprocessor scores spans on their way through a pipeline, before anything else
// decides about them: a tail sampler behind it can keep every badly judged trace and a part of the
// rest.
//
// It sees each span as the event that the exporter would store, runs the metrics of its
// configuration over it by the engines of the evaluate extension, and puts the scores on the span
// as the attributes honeyhive_metrics.<name> and honeyhive_metrics.<name>_explanation, which the
// exporter understands as scores of the event. A metric that cannot score a span leaves it as it is;
// no span is ever held back.
package evaluateprocessor
