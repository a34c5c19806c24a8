package wire

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/dataset"
)

func TestParams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ query, want string }{
		{"", "[] false 0"},
		{"ids=a", "[a] false 0"},
		{"ids=a&ids=b", "[a b] false 0"},
		{"ids[]=a&ids%5B%5D=b", "[a b] false 0"},
		{"ids[1]=b&ids[0]=a", "[a b] false 0"},
		{`ids=["a","b,c"]`, "[a b,c] false 0"},
		{"ids=a,,b", "[a b] false 0"},
		{"ids=%00", "[\uFFFD] false 0"},
		{"flag=True&n=3", "[] true 3"},
		{"flag=0&n=", "[] false 0"},
		{"ids=[7]", "ids[0]: must be a string, not a number"},
		{"ids[a]=b", `ids[a]: "a" is not an index from 0 to 9999`},
		{"ids[=b", "ids[: its brackets do not match"},
		{"flag=perhaps", `flag: "perhaps" is not a boolean`},
		{"flag=1&flag=0", "flag: is given more than once"},
		{"n=0", "n: must be a whole number, 1 or more"},
		{"n=1.5", "n: must be a whole number, 1 or more"},
		{"n=1e99", "n: must be a whole number, 1 or more"},
		{"n=NaN", "n: must be a whole number, 1 or more"},
	} {
		got := func() string {
			p, err := ParseParams(tt.query)
			if err != nil {
				return err.Error()
			}
			ids, err := p.Texts("ids")
			if err != nil {
				return err.Error()
			}
			flag, err := p.Bool("flag")
			if err != nil {
				return err.Error()
			}
			n, err := p.Whole("n")
			if err != nil {
				return err.Error()
			}
			return fmt.Sprint(ids, flag, n)
		}()
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.query, got, tt.want)
		}
	}
}

func TestBoundsOfRequests(t *testing.T) {
	t.Parallel()
	many := func(n int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	rows := func(n int) error {
		_, err := DecodeRows([]byte(`{"data":` + many(n, "{}") + `,"mapping":{}}`))
		return err
	}
	points := func(n int) error {
		_, _, err := DecodeDataset([]byte(`{"datapoints":` + many(n, `"x"`) + `}`))
		return err
	}
	links := func(n int) error {
		_, err := DecodeDatapoint([]byte(`{"linked_datasets":` + many(n, `"x"`) + `}`))
		return err
	}
	for _, tt := range []struct {
		name   string
		decode func(int) error
		most   int
	}{{"data: must have at most", rows, dataset.MaxRows}, {"datapoints: must have at most", points, dataset.MaxDatapoints}, {"linked_datasets: must have at most", links, dataset.MaxLinks}} {
		if err := tt.decode(tt.most); err != nil {
			t.Errorf("%s: %d: %v", tt.name, tt.most, err)
		}
		if err := tt.decode(tt.most + 1); err == nil || !strings.Contains(err.Error(), tt.name) {
			t.Errorf("%s: %d: %v", tt.name, tt.most+1, err)
		}
	}
}

func TestBatchReadsBothSpellingsOfARange(t *testing.T) {
	t.Parallel()
	for _, bound := range []string{"gte", "$gte"} {
		b, err := DecodeDatapointBatch([]byte(`{"selectAll":true,"dateRange":{"`+bound+`":"1790000000000"}}`), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(1790000000000.0, *b.Search.From); diff != "" {
			t.Errorf("%s (-want +got)\n%s", bound, diff)
		}
	}
}

// FuzzResources holds that no body makes a decoder panic, and that what is accepted is within the
// rules.
func FuzzResources(f *testing.F) {
	for _, s := range []string{`{"name":"a","parameters":{"call_type":"chat","model":"m"},"provider":"p"}`, `{"data":[{"a":1}],"mapping":{"inputs":["a"]}}`,
		`{"events":["22222222-2222-4222-8222-222222222222"],"checkState":{},"mapping":{"inputs":["inputs.a"]}}`, `{"history":[{}],"linked_datasets":["x"]}`, `[]`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if c, err := DecodeConfiguration(body); err == nil && c.Validate() != nil {
			t.Error("configuration:", c.Validate())
		}
		if x, err := DecodeTool(body); err == nil && x.Validate() != nil {
			t.Error("tool:", x.Validate())
		}
		if d, _, err := DecodeDataset(body); err == nil && d.Validate() != nil {
			t.Error("dataset:", d.Validate())
		}
		if p, err := DecodeDatapoint(body); err == nil && p.Validate() != nil {
			t.Error("datapoint:", p.Validate())
		}
		_, _ = DecodeRows(body)
		_, _ = DecodeDatapointBatch(body, time.UnixMilli(0))
	})
}

// What a mapping names is copied once for each of its places, however often it is named, and rows cost
// what they carry, however many keys are mapped.
func TestMemoryOfRows(t *testing.T) {
	long := `[{"a":"` + strings.Repeat("x", 1<<20) + `"}]`
	repeated := `["a"` + strings.Repeat(`,"a"`, 999) + `]`
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	mapped, _ := json.Marshal(keys)
	rows := `[{}` + strings.Repeat(`,{}`, dataset.MaxRows-1) + `]`
	for name, body := range map[string]string{
		"an entry a thousand times": `{"mapping":{"history":` + repeated + `,"inputs":` + repeated + `},"data":` + long + `}`,
		"a thousand entries":        `{"mapping":{"history":` + string(mapped) + `,"inputs":` + string(mapped) + `},"data":` + rows + `}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		list, err := DecodeRows([]byte(body))
		runtime.ReadMemStats(&after)
		if err != nil || len(list) == 0 {
			t.Errorf("%s: %d datapoints, %v", name, len(list), err)
		}
		took := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d KiB for %d KiB", name, took>>10, len(body)>>10)
		if took > uint64(16*len(body)+8<<20) {
			t.Errorf("%s: %d KiB were allocated for %d KiB", name, took>>10, len(body)>>10)
		}
	}
}
