package wire

import "testing"

func TestPythonDict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`{}`, `{}`},
		{`{'$gte': 1, '$lte': 2.5}`, `{"$gte":1,"$lte":2.5}`},
		{` { "a" : 'it\'s' , 'b':"say \"x\"" } `, `{"a":"it's","b":"say \"x\""}`},
		{`{'a': None, 'b': True, 'c': False, 'd': -1e3}`, `{"a":null,"b":true,"c":false,"d":-1e3}`},
		{`{'a': 'caf\xe9 \u00e9 é\n'}`, `{"a":"café é é\n"}`},
		{`{'a': 1, 'a': 2}`, `{"a":2}`},
		{`{'a': "{'b': 1}"}`, `{"a":"{'b': 1}"}`},
		{``, ``},
		{`{'a': 1`, ``},
		{`{'a': 1}}`, ``},
		{`{'a' 1}`, ``},
		{`{a: 1}`, ``},
		{`{'a': 'b}`, ``},
		{`{'a': 1 'b': 2}`, ``},
		{`{'a': {'b': 1}}`, ``},
		{`{'a': datetime.datetime(2026, 1, 1)}`, ``},
		{`{'a': 1.2.3}`, ``},
		{`{'a': nan}`, ``},
		{`{'a': '\q'}`, ``},
	} {
		got, ok := pythonDict(tt.in)
		if ok != (tt.want != "") || (ok && string(got) != tt.want) {
			t.Errorf("%s became %s, %v; want %s", tt.in, got, ok, tt.want)
		}
	}
}
