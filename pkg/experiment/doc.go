// Package experiment evaluates a function of a Go program: it runs the function over a dataset, lets
// evaluators judge what comes back, and stores all of it on a Spangrove server as a run, which can be
// looked at, and compared with earlier ones.
//
//	c, err := client.New(server, key)
//	…
//	t, err := tracer.New(server, key)
//	…
//	defer t.Shutdown(context.Background()) // with a deadline, if the program must end while the server is away
//
//	result, err := experiment.Evaluate(ctx, c, t, experiment.Spec{
//		Name:     "shorter prompt",
//		Function: answer, // func(ctx, Datapoint) (any, error)
//		Dataset:  []experiment.Datapoint{{Inputs: map[string]any{"question": "…"}, GroundTruth: "…"}},
//		Evaluators: []experiment.Evaluator{
//			experiment.Func("exact", exact),  // func(ctx, Case) (bool, error)
//			experiment.Metric("politeness"), // of the server
//		},
//		Against: lastRun,
//	})
//
// # What is stored
//
// Evaluate creates a run of status pending. Each datapoint is a session of the run's name and of
// source evaluation, whose metadata names the run, the dataset and the datapoint. In it the
// function is a chain, with what other spans the function makes below it; then each evaluator is a
// chain below the function's, and its scores are metrics of the function's. Outputs, and the ground
// truth as feedback, are the session's, too. When all datapoints are done and stored, the run is
// completed; failed, if the function failed at all of them; cancelled, if the context ended before. The
// result is the server's, over what is stored.
//
// HoneyHive's SDKs do the same, and runs of both can be compared: a dataset in code gets the same
// ids, see ExternalIDs.
//
// # Bounds
//
// Spec.Parallel datapoints are worked on at a time, five if it is zero; a datapoint's evaluators run
// one after the other. The dataset and the result are in memory.
package experiment
