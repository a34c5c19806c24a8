package mount

// Listeners is told where other components listen, for those who ask the API where to send. The API extension is one.
type Listeners interface {
	// Listening notes a listener until the function that it returns is called, which may be called twice.
	Listening(l Listener) (closed func())
}

// Listener is a port that is open, or paths on that of the API.
type Listener struct {
	Topic    Topic  // TopicAPI, TopicOTLPGRPC or TopicOTLPHTTP
	URL      string // scheme, host and port as they were bound; empty: the API's
	MaxBytes int64  // of a body or message, after decompression; 0: the API's
	MaxItems int    // spans or log records of one request; 0: it takes none
}
