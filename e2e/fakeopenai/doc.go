// Package fakeopenai answers like the OpenAI API, always the same to the same
// request, so that real instrumentations of real clients can be tested without a
// network. It knows chat completions, responses and embeddings, whole and
// streamed, tool calls, the list of models, and errors; and, below the same
// address, the messages of the Anthropic API.
//
// What it answers: to a message of answers, that text; to anything else "You said: …".
// If tools are offered and none has answered yet, it calls the first one with
// the last word of the question, without punctuation, as every string argument
// that the tool requires. After a tool has answered: "The tool says: …". To the
// model BrokenModel: status 429.
//
// Tokens are words: 3 for each message and one for each word of text; 2 of the
// prompt come from the cache. A tool call counts 7.
package fakeopenai
