package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/spangrove/spangrove/e2e/harness"
)

// strange are spans that no instrumentation should send, as members of the span
// TRACE, SPAN; EVENT is the id of an event of another trace. A span is refused by itself or stored; never its neighbours with it.
var strange = []struct {
	name, members string
	refused       bool
	jsonOnly      bool // protobuf cannot say it
	byStore       bool // only the store can tell that it is wrong
}{
	{"no ids", `"name":"x"`, true, false, false},
	{"zero trace id", `"traceId":"00000000000000000000000000000000","spanId":"SPAN"`, true, false, false},
	{"zero span id", `"traceId":"TRACE","spanId":"0000000000000000"`, true, false, false},
	{"short id", `"traceId":"TRACE","spanId":"0102"`, true, true, false},
	{"id that is no hexadecimal", `"traceId":"TRACE","spanId":"0102030405060zzz"`, true, true, false},
	{"time that is not a number", `"traceId":"TRACE","spanId":"SPAN","startTimeUnixNano":"noon"`, true, true, false},
	{"attributes that are no list", `"traceId":"TRACE","spanId":"SPAN","attributes":{"a":1}`, true, true, false},
	{"values nested too deep", `"traceId":"TRACE","spanId":"SPAN","attributes":[{"key":"k","value":` +
		strings.Repeat(`{"arrayValue":{"values":[`, 300) + strings.Repeat(`]}}`, 300) + `}]`, true, false, false},

	{"no times", `"traceId":"TRACE","spanId":"SPAN"`, false, false, false},
	{"end before start", `"traceId":"TRACE","spanId":"SPAN","startTimeUnixNano":"1790000000000000000","endTimeUnixNano":"5"`, false, false, false},
	{"times far ahead", `"traceId":"TRACE","spanId":"SPAN","startTimeUnixNano":"18446744073709551615","endTimeUnixNano":"18446744073709551615"`, false, false, false},
	{"its own parent", `"traceId":"TRACE","spanId":"SPAN","parentSpanId":"SPAN"`, false, false, false},
	{"unknown kind and status", `"traceId":"TRACE","spanId":"SPAN","kind":77,"status":{"code":99}`, false, false, false},
	{"ids and type that are none", `"traceId":"TRACE","spanId":"SPAN","attributes":[{"key":"honeyhive_event_id","value":{"stringValue":"mine"}},
		{"key":"honeyhive_event_type","value":{"stringValue":"bogus"}},{"key":"honeyhive.parent_id","value":{"intValue":"7"}},
		{"key":"honeyhive.session_id","value":{"boolValue":true}}]`, false, false, false},
	{"numbers where texts belong", `"traceId":"TRACE","spanId":"SPAN","attributes":[{"key":"gen_ai.operation.name","value":{"doubleValue":1e308}},
		{"key":"gen_ai.input.messages","value":{"intValue":"-9223372036854775808"}},{"key":"gen_ai.usage.input_tokens","value":{"stringValue":"many"}}]`, false, false, false},
	{"no number", `"traceId":"TRACE","spanId":"SPAN","attributes":[{"key":"gen_ai.usage.input_tokens","value":{"doubleValue":"NaN"}},
		{"key":"gen_ai.request.temperature","value":{"doubleValue":"Infinity"}}]`, false, false, false},
	{"the same key twice, an empty key, no value", `"traceId":"TRACE","spanId":"SPAN","attributes":[{"key":"a","value":{"intValue":"1"}},
		{"key":"a","value":{"intValue":"2"}},{"key":"","value":{"intValue":"3"}},{"key":"b"},{"key":"c","value":{}}]`, false, false, false},
	{"NUL in texts", `"traceId":"TRACE","spanId":"SPAN","name":"a\u0000b","attributes":[{"key":"k\u0000","value":{"stringValue":"\u0000"}}]`, false, false, false},
	{"NUL in the name of its session", `"traceId":"TRACE","spanId":"SPAN","attributes":[{"key":"honeyhive.session_name","value":{"stringValue":"a\u0000b"}}]`, false, false, false},
	{"names of our own encoding", `"traceId":"TRACE","spanId":"SPAN","attributes":[{"key":"spangrove.event","value":{"stringValue":"x"}},
		{"key":"spangrove.project.id","value":{"stringValue":"x"}}]`, false, false, false},
	{"a session with the id of an event", `"traceId":"TRACE","spanId":"SPAN","attributes":[{"key":"honeyhive.session_id","value":{"stringValue":"EVENT"}}]`, true, false, true},
}

// TestBadSpans sends each strange span between two good ones, on every port.
func TestBadSpans(t *testing.T) {
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		srv := harness.Start(t, harness.Options{Store: st})
		other := uuid.New()
		partialJSON(t, post(t, srv, srv.URL+"/v1/traces", "application/json", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"`+
			strings.ReplaceAll(other.String(), "-", "")+`","spanId":"00000000000000aa","name":"other"}]}]}]}`)))
		for _, s := range strange {
			t.Run(s.name, func(t *testing.T) {
				for _, way := range badWays {
					if way.proto && s.jsonOnly {
						continue
					}
					id := strings.ReplaceAll(uuid.NewString(), "-", "")
					good := func(span string) string {
						return `{"traceId":"` + id + `","spanId":"` + span + `","name":"good","startTimeUnixNano":"1790000000000000000","endTimeUnixNano":"1790000001000000000"}`
					}
					members := strings.NewReplacer("TRACE", id, "SPAN", "00000000000000bb", "EVENT", spanEvent([16]byte(other), [8]byte{7: 0xaa})).Replace(s.members)
					request := `{"resourceSpans":[{"scopeSpans":[{"spans":[` + good("00000000000000aa") + `,{` + members + `},` + good("00000000000000cc") + `]}]}]}`
					want := 0
					if s.refused {
						want = 1
					}
					rejected, why := way.send(t, srv, request)
					if rejected != want || (why != "") != s.refused {
						t.Errorf("%s: %d spans rejected (%q), want %d", way.name, rejected, why, want)
					}
					if s.byStore && !strings.Contains(why, "is the id of an event in another session") {
						t.Errorf("%s: the reason is %q", way.name, why)
					}
					trace := [16]byte(uuid.MustParse(id))
					for span, stored := range map[byte]bool{0xaa: true, 0xbb: !s.refused, 0xcc: true} {
						if _, err := srv.Event(t.Context(), spanEvent(trace, [8]byte{7: span})); (err == nil) != stored {
							t.Errorf("%s: span %x: %v, want stored: %v", way.name, span, err, stored)
						}
					}
				}
			})
		}
		t.Run("a log record of a session with the id of an event", func(t *testing.T) {
			trace, taken := uuid.New(), spanEvent([16]byte(other), [8]byte{7: 0xaa})
			hex := strings.ReplaceAll(trace.String(), "-", "")
			record := func(trace, session string) string {
				return `{"traceId":"` + trace + `","spanId":"00000000000000aa","eventName":"gen_ai.user.message","timeUnixNano":"1790000000000000000","body":{"stringValue":"Hi"},
					"attributes":[{"key":"session.id","value":{"stringValue":"` + session + `"}}]}`
			}
			answer := post(t, srv, srv.URL+"/v1/logs", "application/json", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[`+
				record(hex, "mine")+`,`+record(strings.ReplaceAll(uuid.NewString(), "-", ""), taken)+`]}]}]}`))
			if s := string(answer); !strings.Contains(s, `"rejectedLogRecords":"1"`) || !strings.Contains(s, "is the id of an event in another session") {
				t.Errorf("answer %s", s)
			}
			partialJSON(t, post(t, srv, srv.URL+"/v1/traces", "application/json", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"`+hex+
				`","spanId":"00000000000000aa","name":"a","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}]}]}]}]}`)))
			e, err := srv.Event(t.Context(), spanEvent([16]byte(trace), [8]byte{7: 0xaa}))
			if err != nil || !strings.Contains(fmt.Sprint(e["inputs"]), "Hi") {
				t.Errorf("%v, %v", e["inputs"], err)
			}
		})
	})
}

// badWays are the ways in, each giving how many spans were rejected, and why.
var badWays = []struct {
	name  string
	proto bool
	send  func(t *testing.T, srv *harness.Server, request string) (int, string)
}{
	{"JSON on the API port", false, func(t *testing.T, srv *harness.Server, request string) (int, string) {
		return partialJSON(t, post(t, srv, srv.URL+"/v1/traces", "application/json", []byte(request)))
	}},
	{"JSON on the API port, /opentelemetry", false, func(t *testing.T, srv *harness.Server, request string) (int, string) {
		return partialJSON(t, post(t, srv, srv.URL+"/opentelemetry/v1/traces", "application/json", []byte(request)))
	}},
	{"JSON on the OTLP port", false, func(t *testing.T, srv *harness.Server, request string) (int, string) {
		return partialJSON(t, post(t, srv, srv.HTTP+"/v1/traces", "application/json", []byte(request)))
	}},
	{"protobuf on the API port", true, func(t *testing.T, srv *harness.Server, request string) (int, string) {
		return partialProto(t, post(t, srv, srv.URL+"/v1/traces", "application/x-protobuf", protobuf(t, request)))
	}},
	{"protobuf on the OTLP port", true, func(t *testing.T, srv *harness.Server, request string) (int, string) {
		return partialProto(t, post(t, srv, srv.HTTP+"/v1/traces", "application/x-protobuf", protobuf(t, request)))
	}},
	{"gRPC", true, func(t *testing.T, srv *harness.Server, request string) (int, string) {
		conn, err := grpc.NewClient(srv.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+srv.Key)
		resp, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, toTraces(t, decode(t, []byte(request))))
		if err != nil {
			t.Error(err)
		}
		return int(resp.PartialSuccess().RejectedSpans()), resp.PartialSuccess().ErrorMessage()
	}},
}

func protobuf(t *testing.T, request string) []byte {
	t.Helper()
	b, err := toTraces(t, decode(t, []byte(request))).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func partialProto(t *testing.T, answer []byte) (int, string) {
	t.Helper()
	resp := ptraceotlp.NewExportResponse()
	if err := resp.UnmarshalProto(answer); err != nil {
		t.Error(err)
	}
	return int(resp.PartialSuccess().RejectedSpans()), resp.PartialSuccess().ErrorMessage()
}

func partialJSON(t *testing.T, answer []byte) (int, string) {
	t.Helper()
	var resp struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
			ErrorMessage  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if err := json.Unmarshal(answer, &resp); err != nil {
		t.Error(err)
	}
	var n int
	if resp.PartialSuccess.RejectedSpans != "" {
		if _, err := fmt.Sscan(string(resp.PartialSuccess.RejectedSpans), &n); err != nil {
			t.Error(err)
		}
	}
	return n, resp.PartialSuccess.ErrorMessage
}
