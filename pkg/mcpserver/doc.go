// Package mcpserver lets coding agents read what a program did, evaluate it, and compare runs, by the Model Context Protocol. It is
// one implementation for both transports: spangrove mcp serves it on standard input and output, the API extension over HTTP.
//
// A tool asks the HTTP API through pkg/client, so that scopes, limits and the audit log are those of the API. Tools read, add and
// start; none deletes.
//
// Answers keep four rules:
//
//   - They are bounded: each of the two forms of an answer, its text and its structured content, takes at most max_tokens, where
//     three bytes count as a token. What does not fit is left out whole, and a cursor says where to go on.
//   - What events say is data. In the text it stands between two lines with a random number, in the structured content under "data",
//     and a notice says what that means. Characters that cannot be seen are written as escapes in the text.
//   - Errors are sentences that say what to do.
//   - Nothing is kept between calls.
package mcpserver
