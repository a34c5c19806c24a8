package ingress

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Algorithms are the compressions that a body may have, as they are named in Content-Encoding and
// grpc-encoding; the empty name is none.
var Algorithms = []string{"", "gzip", "zstd"}

// CheckAlgorithms reports the first that is not one of Algorithms.
func CheckAlgorithms(names []string) error {
	for _, name := range names {
		if !slices.Contains(Algorithms, name) {
			return fmt.Errorf("compression_algorithms: must be among \"\", gzip and zstd, not %q", name)
		}
	}
	return nil
}

// MaxWindow is the largest window of zstd that is accepted, in bytes: what RFC 9659 asks of every
// decoder, and allows every encoder.
const MaxWindow = 8 << 20

// What a decoder needs in addition to the window of zstd, in bytes.
const (
	gzipMemory = 64 << 10
	zstdMemory = 512 << 10
)

// Bodies is how the bodies of one listener are read.
type Bodies struct {
	// Max is the largest body in bytes, before decompression and after it.
	Max int64
	// Algorithms are those that are accepted, nil: all of [Algorithms].
	Algorithms []string
	// Timeout is for the whole body; 0: none.
	Timeout time.Duration
	// MinRate is how many bytes, as they are sent, must come in a second, after Grace; 0: any.
	MinRate int64
	Grace   time.Duration
}

// Open makes the body of r one that is decompressed, bounded and timed while it is read. Nothing is
// read yet. The error is fault.Invalid for an encoding that is not accepted.
func (c *Bodies) Open(w http.ResponseWriter, r *http.Request) error {
	name := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ",")))
	encoding, err := c.encoding(name)
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "Content-Encoding: %v", err)
	}
	body := c.body(w, r.Body, encoding)
	body.keep = r.ProtoMajor >= 2
	r.Body = body
	if encoding != "" {
		r.Header.Del("Content-Encoding")
		r.Header.Del("Content-Length")
		r.ContentLength = -1
	}
	return nil
}

// encoding returns the algorithm of a name in a header.
func (c *Bodies) encoding(name string) (string, error) {
	switch name {
	case "identity":
		name = ""
	case "x-gzip":
		name = "gzip"
	}
	if !slices.Contains(Algorithms, name) || c.Algorithms != nil && !slices.Contains(c.Algorithms, name) {
		return "", fmt.Errorf("must be one of gzip, zstd and identity, not %.40q", name)
	}
	return name, nil
}

func (c *Bodies) body(w http.ResponseWriter, raw io.ReadCloser, encoding string) *Body {
	return &Body{raw: raw, control: http.NewResponseController(w), rules: c, encoding: encoding, left: c.Max, began: time.Now()}
}

// Body is a body that Open made.
type Body struct {
	raw      io.ReadCloser
	control  *http.ResponseController
	rules    *Bodies
	encoding string
	hold     *Hold // pays for the decoder; nil: nobody does
	keep     bool  // the deadline may stay: it is that of a stream, and ends with it

	began    time.Time
	deadline time.Time // of the connection or stream; zero: not set yet
	received int64     // bytes as they were sent

	decoded io.Reader // nil: not begun
	left    int64     // bytes that may still come out
	err     error     // after which nothing is read
}

// Bound lowers the largest size of the body to max bytes, before decompression and after it. It must come before the first Read.
func (b *Body) Bound(max int64) {
	if max < b.left {
		rules := *b.rules
		rules.Max = max
		b.rules, b.left = &rules, max
	}
}

// Read reads decompressed bytes. Errors but io.EOF have a kind: fault.TooLarge for a body over its
// bound, fault.Timeout for one that is too slow, fault.Invalid for one that is cut off or wrongly
// compressed, and those of [Hold.Take].
func (b *Body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.decoded == nil {
		if b.err = b.begin(); b.err != nil {
			b.end()
			return 0, b.err
		}
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.decoded.Read(p)
	if b.left -= int64(n); b.left < 0 {
		n, err = n-1, b.tooLarge()
	}
	if err != nil {
		b.err = b.classify(err)
		b.end()
	}
	return n, b.err
}

// Close closes the body as it came.
func (b *Body) Close() error {
	b.stop(fault.New(fault.Invalid, "the body is closed"))
	return b.raw.Close()
}

// begin makes the decoder.
func (b *Body) begin() error {
	source := (*sentBody)(b)
	switch b.encoding {
	case "gzip":
		if err := b.take(gzipMemory); err != nil {
			return err
		}
		decoder, err := gzip.NewReader(source)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // nothing at all is not gzip
		}
		if err != nil {
			return b.classify(err)
		}
		b.decoded = decoder
	case "zstd":
		return b.beginZstd(source)
	default:
		b.decoded = source
	}
	return nil
}

// beginZstd creates the decoder with the window that the first frame declares, so that no later frame can
// ask for more than was taken.
func (b *Body) beginZstd(source io.Reader) error {
	buffered := bufio.NewReader(source)
	start, err := buffered.Peek(zstd.HeaderMaxSize)
	if err != nil && err != io.EOF {
		return b.classify(err)
	}
	var header zstd.Header
	if err := header.Decode(start); err != nil {
		return b.classify(err)
	}
	window := header.WindowSize
	if header.SingleSegment {
		window = header.FrameContentSize
	}
	if window > MaxWindow {
		return fault.New(fault.Invalid, "the body cannot be decompressed: a window of zstd may have at most %d bytes", MaxWindow)
	}
	if header.Skippable {
		window = MaxWindow // it does not tell
	}
	window = max(window, 64<<10)
	if err := b.take(int64(window) + zstdMemory); err != nil {
		return err
	}
	decoder, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return b.classify(err)
	}
	b.decoded = decoder
	return nil
}

func (b *Body) take(n int64) error {
	if b.hold == nil {
		return nil
	}
	return b.hold.Take(n)
}

// end lets go of the decoder and of the deadline, which must not cut the handler's work.
func (b *Body) end() {
	if decoder, ok := b.decoded.(*zstd.Decoder); ok {
		decoder.Close()
	}
	b.decoded = nil
	if b.err == io.EOF && !b.keep && !b.deadline.IsZero() {
		_ = b.control.SetReadDeadline(time.Time{}) // one that cannot be set was not set before
	}
}

func (b *Body) tooLarge() error {
	return fault.New(fault.TooLarge, "the body is larger than %d bytes", b.rules.Max)
}

// classify returns an error of reading as a fault of the right kind.
func (b *Body) classify(err error) error {
	var f *fault.Error
	var over *http.MaxBytesError
	switch {
	case err == io.EOF || errors.As(err, &f):
		return err
	case errors.As(err, &over):
		return b.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.Wrap(fault.Timeout, err, "the body came too slowly: at least %d bytes a second must come, and all of it within %s",
			b.rules.MinRate, b.rules.Timeout)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fault.Wrap(fault.Invalid, err, "the body cannot be decompressed: a later frame has a larger window than the first")
	}
	return fault.Wrap(fault.Invalid, err, "the body cannot be read: it is cut off or wrongly compressed")
}

// sentBody is the body as it is sent.
type sentBody Body

// Read implements io.Reader.
func (s *sentBody) Read(p []byte) (int, error) {
	b := (*Body)(s)
	b.extend()
	n, err := b.raw.Read(p)
	if b.received += int64(n); b.received > b.rules.Max {
		return n, b.tooLarge()
	}
	return n, err
}

// step is how far the deadline must have moved to be set again: that costs, over HTTP/2 above all.
const step = time.Second

// extend moves the deadline of the connection, or of the stream of HTTP/2, by what has come.
func (b *Body) extend() {
	var deadline time.Time
	if b.rules.MinRate > 0 {
		deadline = b.began.Add(b.rules.Grace + time.Duration(float64(b.received)/float64(b.rules.MinRate)*float64(time.Second)))
	}
	if b.rules.Timeout > 0 {
		if whole := b.began.Add(b.rules.Timeout); deadline.IsZero() || whole.Before(deadline) {
			deadline = whole
		}
	}
	if deadline.IsZero() || !b.deadline.IsZero() && deadline.Sub(b.deadline) < step {
		return
	}
	b.deadline = deadline
	_ = b.control.SetReadDeadline(deadline) // in a test there may be no connection
}

// refusalTime is how long the rest of a refused request may take: clients that write all before they
// read shall see the answer.
const refusalTime = 5 * time.Second

// Refused bounds the time that the server still reads from a caller whom it refuses without having
// read the body.
func Refused(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusalTime))
}
