package mount

import "context"

// Topic says what a Notice is about.
type Topic uint8

// The topics, in the order in which a reader wants them.
const (
	TopicAPI      Topic = iota // Text: the URL of the API
	TopicOTLPGRPC              // Text: host:port
	TopicOTLPHTTP              // Text: URL
	TopicData                  // Text: where the data is
	TopicKeyFile               // Text: the file that holds the generated key
	TopicKey                   // Text: a key generated just now; never logged
	TopicSignIn                // Text: the URL by which a browser signs in once; never logged
)

// Notice is a fact that whoever starts the program wants to read once.
type Notice struct {
	Topic Topic
	Text  string
}

type boardKey struct{}

// WithBoard returns a context under which components that start hand their notices to post.
// The collector passes the context of its Run to every component's Start.
func WithBoard(ctx context.Context, post func(Notice)) context.Context {
	return context.WithValue(ctx, boardKey{}, post)
}

// Announce posts notices to the board of ctx, and is false if there is none: then the
// component logs what it may.
func Announce(ctx context.Context, notices ...Notice) bool {
	post, ok := ctx.Value(boardKey{}).(func(Notice))
	if !ok {
		return false
	}
	for _, n := range notices {
		post(n)
	}
	return true
}
