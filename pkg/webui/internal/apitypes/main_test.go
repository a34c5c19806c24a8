package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// The types that pages are checked against are those of the description of the API.
func TestTypesAreFresh(t *testing.T) {
	t.Parallel()
	if err := run(root, true); err != nil {
		t.Error(err)
	}
}

// Every schema, answer and body has a type. A description with a comma that nobody quoted shows here as a keyword.
func TestWholeDocument(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(root + "/" + description)
	if err != nil {
		t.Fatal(err)
	}
	d, err := parseDocument(raw)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.typescript(slices.Sorted(maps.Keys(d.named))); err != nil {
		t.Errorf("openapi.yaml: %v", err)
	}
}

func TestImported(t *testing.T) {
	t.Parallel()
	src := func(files ...string) fstest.MapFS {
		fs := fstest.MapFS{}
		for i := 0; i < len(files); i += 2 {
			fs[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
		}
		return fs
	}
	names, err := imported(src(
		"pages/a.tsx", "import type { Run, Event as Row } from \"../api/types.gen.ts\";\n",
		"api/b.ts", "import type {\n  Event,\n  Me,\n} from \"./types.gen.ts\";\nexport type { Key } from \"./types.gen.ts\";\nimport { call } from \"./client.ts\";\n",
		"lib/c.ts", `import type { Other } from "../api/types.gen.ts";`,
		"d.css", `import type { Other } from "./api/types.gen.ts";`,
	))
	if want := []string{"Event", "Key", "Me", "Run"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %v, %v, want %v", names, err, want)
	}
	for _, text := range []string{
		`import * as api from "./api/types.gen.ts";`, `import { type Run } from "./api/types.gen.ts";`, `type A = import("./api/types.gen.ts").Run;`,
		`import type { Run } from './api/types.gen.ts';`,
	} {
		if _, err := imported(src("pages/a.tsx", text)); err == nil || !strings.Contains(err.Error(), "src/pages/a.tsx") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// printed returns the types of some names in a document of these schemas and paths, without the header.
func printed(t *testing.T, yaml string, names ...string) (string, error) {
	t.Helper()
	d, err := parseDocument([]byte(yaml))
	if err != nil {
		return "", err
	}
	text, err := d.typescript(names)
	return strings.TrimPrefix(string(text), header+"\n"), err
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schemas, want string }{
		"members are there in their order, optional unless required": {
			`A: {type: object, required: [b], properties: {c: {type: integer}, b: {type: string}, a-b: {type: boolean}, $gte: {type: number}}}`,
			"export interface A {\n  c?: number;\n  b: string;\n  \"a-b\"?: boolean;\n  $gte?: number;\n}\n",
		},
		"null is one of several types": {
			`A: {type: object, properties: {a: {type: [string, 'null']}, b: {type: [number, boolean, integer]}, c: {type: 'null'}}}`,
			"export interface A {\n  a?: string | null;\n  b?: number | boolean;\n  c?: null;\n}\n",
		},
		"enum and const are their values": {
			`A: {type: object, properties: {a: {type: string, enum: [x, 'y"z', null]}, b: {const: false}, c: {enum: [1, 2.5]}}}`,
			"export interface A {\n  a?: \"x\" | \"y\\\"z\" | null;\n  b?: false;\n  c?: 1 | 2.5;\n}\n",
		},
		"what is not said is unknown": {
			`A: {type: object, properties: {a: {description: any JSON}, b: true, c: {type: object}, d: {type: array}}}`,
			"export interface A {\n  /** any JSON */\n  a?: unknown;\n  b?: unknown;\n  c?: Record<string, unknown>;\n  d?: unknown[];\n}\n",
		},
		"arrays of several types are held together": {
			`A: {type: array, items: {anyOf: [{type: string}, {type: array, items: {type: [number, 'null']}}]}}`,
			"export type A = (string | (number | null)[])[];\n",
		},
		"items alone is an array": {
			`A: {items: {type: string}}`,
			"export type A = string[];\n",
		},
		"maps have values of a type": {
			`A: {type: object, additionalProperties: {type: object, required: [n], properties: {n: {type: integer}}}}`,
			"export type A = Record<string, { n: number }>;\n",
		},
		"a map with members of its own has both": {
			`A: {type: object, required: [a], properties: {a: {type: string}}, additionalProperties: {type: [string, number]}}`,
			"export type A = { a: string } & Record<string, string | number>;\n",
		},
		"an object that may have more says it": {
			`A: {type: object, properties: {a: {type: string}}, additionalProperties: true}`,
			"export type A = { a?: string } & Record<string, unknown>;\n",
		},
		"an object without others is closed by nothing": {
			`A: {type: object, properties: {a: {type: string}}, additionalProperties: false}`,
			"export interface A {\n  a?: string;\n}\n",
		},
		"an object within is one line unless something is said of its members": {
			`A: {type: object, properties: {a: {type: object, properties: {x: {type: string}}}, b: {type: object, properties: {x: {type: string, description: why}}}}}`,
			"export interface A {\n  a?: { x?: string };\n  b?: {\n    /** why */\n    x?: string;\n  };\n}\n",
		},
		"a reference brings its type": {
			"B: {enum: [x]}\n    A: {type: object, properties: {b: {$ref: '#/components/schemas/B', description: of B}, more: {type: array, items: {$ref: '#/components/schemas/A'}}}}\n    C: {type: string}",
			"export interface A {\n  /** of B */\n  b?: B;\n  more?: A[];\n}\n\nexport type B = \"x\";\n",
		},
		"anyOf and oneOf are unions, each part once": {
			`A: {anyOf: [{type: string}, {type: integer}, {type: number}, {type: 'null'}]}`,
			"export type A = string | number | null;\n",
		},
		"a union that is too long has a part a line": {
			`A: {oneOf: [{const: ` + strings.Repeat("a", 70) + `}, {const: ` + strings.Repeat("b", 70) + `}]}`,
			"export type A =\n  | \"" + strings.Repeat("a", 70) + "\"\n  | \"" + strings.Repeat("b", 70) + "\";\n",
		},
		"allOf extends": {
			"B: {type: object, properties: {b: {type: string}}}\n    A: {allOf: [{$ref: '#/components/schemas/B'}, {type: object, required: [a], properties: {a: {type: string}}}]}",
			"export interface A extends B {\n  a: string;\n}\n\nexport interface B {\n  b?: string;\n}\n",
		},
		"what allOf requires of a base is there as required": {
			"C: {type: object, required: [d], properties: {c: {type: [string, 'null'], description: said once}, d: {type: string}}}\n    B: {allOf: [{$ref: '#/components/schemas/C'}]}\n" +
				"    A: {allOf: [{$ref: '#/components/schemas/B'}, {required: [c, d, e]}]}",
			"export interface A extends B {\n  c: string | null;\n  e: unknown;\n}\n\nexport type B = C;\n\n" +
				"export interface C {\n  /** said once */\n  c?: string | null;\n  d: string;\n}\n",
		},
		"allOf of what is no object is an intersection": {
			"B: {type: object, properties: {b: {type: string}, c: {type: string}}}\n    A: {allOf: [{$ref: '#/components/schemas/B'}, {anyOf: [{required: [b]}, {required: [c]}]}]}",
			"export type A = B & ({ b: unknown } | { c: unknown });\n\nexport interface B {\n  b?: string;\n  c?: string;\n}\n",
		},
		"allOf of a union cannot extend": {
			"B: {anyOf: [{type: object, properties: {b: {type: string}}}, {type: string}]}\n    A: {allOf: [{$ref: '#/components/schemas/B'}, {type: object, properties: {a: {type: string}}}]}",
			"export type A = B & { a?: string };\n\nexport type B = { b?: string } | string;\n",
		},
		"comments cannot be ended, and long ones are wrapped": {
			"A: {description: 'ends */ here', type: object, properties: {a: {type: string, deprecated: true, description: '" + strings.Repeat("many words ", 15) + "'}}}",
			"/** ends *\\/ here */\nexport interface A {\n  /**\n   *" + strings.Repeat(" many words", 12) + "\n   *" + strings.Repeat(" many words", 3) + " @deprecated\n   */\n  a?: string;\n}\n",
		},
		"anchors are followed": {
			"B: &b {type: object, properties: {b: &s {type: string}}}\n    A: {type: object, properties: {x: *b, y: *s}}",
			"export interface A {\n  x?: { b?: string };\n  y?: string;\n}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := printed(t, "components:\n  schemas:\n    "+c.schemas+"\n", "A")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

const twoDialects = `
paths:
  /things:
    get: &list
      operationId: listThings
      responses: {'200': {description: old, content: {application/json: {schema: {type: array}}}}}
  /v1/things:
    get:
      operationId: listThings
      responses:
        '200': {description: the things, content: {application/json: {schema: {type: object, required: [things], properties: {things: {type: array}}}}}}
        '404': {description: none, content: {application/json: {schema: {type: string}}}}
    post:
      operationId: addThing
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
      responses: {'201': {description: added, content: {text/plain: {schema: {type: string}}}}}
  /one:
    x-aliases: [/v1/one]
    put:
      operationId: setOne
      requestBody: {content: {application/json: {schema: {type: object, required: [a], properties: {a: {type: string}}}}}}
components:
  schemas:
    Thing: {type: string}
`

func TestOperations(t *testing.T) {
	t.Parallel()
	got, err := printed(t, twoDialects, "ListThingsAnswer", "AddThingBody", "SetOneBody")
	if err != nil {
		t.Fatal(err)
	}
	want := `/** What POST /v1/things takes. */
export type AddThingBody = Thing;

/** What GET /v1/things answers: the things */
export interface ListThingsAnswer {
  things: unknown[];
}

/** What PUT /v1/one takes. */
export interface SetOneBody {
  a: string;
}

export type Thing = string;
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := printed(t, twoDialects, "AddThingAnswer"); err == nil || !strings.Contains(err.Error(), "AddThingAnswer") {
		t.Errorf("an answer that is no JSON: %v", err)
	}
}

// What a type cannot say is an error that tells where it stands.
func TestErrors(t *testing.T) {
	t.Parallel()
	for schemas, want := range map[string]string{
		`A: {not: {type: string}}`:                                        "line 3: no type says what not asks",
		`A: {type: object, description: one, two}`:                        "line 3: no type says what two asks",
		`A: {type: object, properties: {a: {type: text}}}`:                `line 3: there is no type "text"`,
		`A: {$ref: '#/components/schemas/B'}`:                             "line 3: there is no schema B",
		`A: {$ref: 'other.yaml#/B'}`:                                      "line 3: $ref must lead to",
		`A: {allOf: [{$ref: '#/components/schemas/B'}]}`:                  "line 3: there is no schema B",
		`A: {allOf: [{$ref: '#/components/schemas/A'}, {required: [a]}]}`: "line 3: allOf leads from A back to it",
		`A: {anyOf: [{type: string}], oneOf: [{type: string}]}`:           "line 3: anyOf and oneOf together",
		`A: {enum: [[x]]}`:                                                "line 3: a value of enum or const must be",
		`A: [x]`:                                                          "line 3: the schema is not an object",
		`A: {type: {a: b}}`:                                               "line 3: must be a text or a list of texts",
		`B: {type: string}`:                                               "there is no A: name a schema, or an operation by its id and Answer or Body",
		"A: {}\npaths: {/a: {get: {}}}":                                   "line 4: the operation has no operationId",
		"AAnswer: {}\npaths: {/a: {get: {operationId: a, responses: {'200': {content: {application/json: {schema: {}}}}}}}}":      "would be called AAnswer",
		"A: {}\npaths: {/a: {get: &a {operationId: a, requestBody: {content: {application/json: {schema: {}}}}}}, /b: {get: *a}}": "would be called ABody",
		"A: {": "yaml",
	} {
		if _, err := printed(t, "components:\n  schemas:\n    "+schemas+"\n", "A"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", schemas, err, want)
		}
	}
	if _, err := parseDocument(nil); err == nil {
		t.Error("an empty document has no error")
	}
}
