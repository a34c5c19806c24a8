// Package scenario plays scripted requests against a running server and checks its answers.
// It knows the server by its address and a key only, so the same scripts hold for a server in
// the test's own process and for the real binary, on either database.
//
// A script is a txtar file. Its comment says what it shows; its sections are steps, a request
// and what must come back, played in order:
//
//	-- create an event --
//	POST /v1/events
//	Content-Type: text/plain
//
//	{"event_type": "tool", "inputs": {}, "session_id": "{{session}}"}
//	-- 200 --
//	{"success": true, "event_id": "<set event>"}
//	-- without --
//	null
//
// A request is its line, its headers, an empty line and its body. The key is sent unless there
// is an Authorization header; "Authorization: none" sends none. A body is compressed as its
// Content-Encoding says. Three headers are for the runner alone: "Pad: n" puts n spaces behind
// the body, "Body: quoted" says that the body is a string as Go writes it, which can hold any
// byte, and "Body: plain" that it is sent uncompressed whatever its Content-Encoding. "Browser: name"
// has the browser of that name send the request, which keeps cookies, in place of the key.
//
// The section named by a status is the answer, a JSON value of which must come back at least:
// objects may have more members, arrays may not have more elements; numbers must be the same
// digit for digit. These strings stand for something else:
//
//	<any>            any value
//	<absent>         no member of that name
//	<uuid> <number> <string> <object>
//	<contains text>  a string that contains the text
//	<set name>       any string, known as {{name}} from then on
//
// An empty answer section checks nothing but the status; lines "Name: text" before an empty
// line are headers that must contain the text. The section "without" has texts, one a line,
// that must not stand anywhere in the answer.
//
// Whatever a script expects, every answer must also be one that the OpenAPI document has for
// the operation: its status, its content type, and a body that fits the schema.
//
// {{name}} is a UUID of its own in every run, unless it was set; {{hex name}} is the same
// without dashes, {{upper name}} in upper case. They may stand anywhere.
package scenario
