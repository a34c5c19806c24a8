package ingress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
)

// ErrEncoding is what an error of [Bodies.Message] wraps if the message is compressed with an
// algorithm that is not accepted.
var ErrEncoding = errors.New("grpc-encoding")

// Message reads the one message of a unary gRPC call, decompressed, within the budget. It is valid until
// hold is released. Errors are those of [Body.Read].
func (c *Bodies) Message(w http.ResponseWriter, r *http.Request, hold *Hold) ([]byte, error) {
	encoding, err := c.encoding(strings.ToLower(r.Header.Get("Grpc-Encoding")))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, ErrEncoding, "grpc-encoding: %v", err)
	}
	body := c.body(w, r.Body, "")
	body.keep = r.ProtoMajor >= 2
	var prefix [5]byte // whether the message is compressed, and its length
	if _, err := io.ReadFull((*sentBody)(body), prefix[:]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, body.classify(err)
	}
	length := int64(binary.BigEndian.Uint32(prefix[1:]))
	if length > c.Max {
		return nil, body.tooLarge()
	}
	body.raw = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(r.Body, length), r.Body}
	body.received = 0
	switch {
	case prefix[0] == 0:
	case prefix[0] == 1 && encoding != "":
		body.encoding = encoding
	default:
		return nil, fault.New(fault.Invalid, "the message is compressed, and grpc-encoding does not say how")
	}
	announced := length
	if body.encoding != "" {
		announced = -1
	}
	message, err := hold.ReadReused(body, announced)
	if err == nil && body.received < length {
		err = fault.New(fault.Invalid, "the body cannot be read: it is cut off")
	}
	if err != nil {
		body.stop(err)
		return nil, err
	}
	return message, nil
}

// stop lets go of the decoder of a body that is not read to its end.
func (b *Body) stop(err error) {
	if b.err == nil {
		b.err = err
		b.end()
	}
}

// GRPCEncodings is what a server says that it accepts.
var GRPCEncodings = fmt.Sprintf("identity,%s", strings.Join(Algorithms[1:], ","))
