package query

import "testing"

func TestFilterText(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		{`[]`, ``},
		{`[{"field":"event_type","operator":"is","value":"model"}]`, `type:model`},
		{`[{"field":"event_name","operator":"is not","value":"a b"},{"field":"metadata.cost","operator":"greater than","type":"number","value":0.10}]`,
			`-name:"a b" cost>0.10`},
		{`[{"field":"config.model","operator":"is any of","value":["o3","gpt (4)"]},{"field":"error","operator":"exists"}]`, `model:(o3 OR "gpt (4)") has:error`},
		{`[{"field":"metadata.region","operator":"not contains","value":"eu"},{"field":"feedback.x","operator":"not exists"}]`, `metadata.region!~eu -has:feedback.x`},
		{`[{"any":[[{"field":"event_type","operator":"is","value":"tool"},{"field":"error","operator":"exists"}],[{"field":"duration","operator":"less than","type":"number","value":5}]]}]`,
			`(type:tool has:error OR duration<5)`},
		{`[{"field":"text","operator":"contains","value":"refund"},{"field":"text","operator":"matches words","value":"a b"}]`, `refund text matches words "a b"`},
		{`[{"field":"text","operator":"contains","value":"type:model"},{"field":"text","operator":"contains","value":"-foo"}]`, `"type:model" "-foo"`},
		{`[{"field":"metadata.x","operator":"is","type":"boolean","value":true},{"field":"metadata.y","operator":"is","value":"a \"b\""}]`,
			`metadata.x:true metadata.y:"a \"b\""`},
	} {
		filters, err := ParseFilters([]byte(tt[0]), "filters")
		if err != nil {
			t.Fatal(err)
		}
		if got := FilterText(filters); got != tt[1] {
			t.Errorf("%s: %s, want %s", tt[0], got, tt[1])
		}
	}
}
