// Package wire is the JSON of the API: it reads requests into the nouns of other packages (events, datasets, metrics,
// searches, …) and writes answers from them. It knows no store and no route.
//
// Decode… reads a body or a query string, complete and checked; Append… appends the JSON of an answer; Write…
// streams an answer of any size. The rules:
//
//  1. Every error of a request is a fault.Invalid that names the field as the caller sent it: "events[1].inputs".
//     WriteError makes the answer of it.
//  2. A member that is null is absent: clients send null for what they were not given. A null inside of an
//     object that is stored as it is, such as inputs, is a value.
//  3. Unknown members are ignored, since clients of other versions send them. Searches, saved charts, limits
//     and strict batches refuse them: there a mistyped name would change what is asked for.
//  4. What is stored as JSON goes in and out digit for digit (package rawjson), but for characters that no store can
//     hold. Values that were decoded may be slices of the body: it must not be used again.
//  5. Answers have two dialects. V0 is for clients of HoneyHive's older API, which refuse null and know other names;
//     V1 is for all others. Decoding goes by the dialect only where the two contradict each other.
package wire
