package otlpmap

import (
	"cmp"
	"strings"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// settings are the parameters of a model call that belong to config, by the names that the
// providers' APIs give them, and the name they have there. stop, n and functions are OpenAI's names; those in camel case
// are Bedrock's and Gemini's.
var settings = map[string]string{
	"model": "model", "model_name": "model", "modelId": "model", "temperature": "temperature", "top_p": "top_p", "top_k": "top_k",
	"max_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "max_output_tokens": "max_tokens",
	"frequency_penalty": "frequency_penalty", "presence_penalty": "presence_penalty", "seed": "seed",
	"stop": "stop_sequences", "stop_sequences": "stop_sequences", "n": "choice_count",
	"tools": "tools", "functions": "tools", "tool_choice": "tool_choice", "response_format": "response_format",
	"stream": "stream", "stream_options": "stream_options",
	// JavaScript's SDKs, and Bedrock's and Google's APIs.
	"topP": "top_p", "topK": "top_k", "maxTokens": "max_tokens", "maxOutputTokens": "max_tokens", "maxCompletionTokens": "max_tokens",
	"frequencyPenalty": "frequency_penalty", "presencePenalty": "presence_penalty", "stopSequences": "stop_sequences", "toolChoice": "tool_choice",
	"responseFormat": "response_format", "candidate_count": "choice_count", "candidateCount": "choice_count",
	"maxTokenCount": "max_tokens", "max_gen_len": "max_tokens", "max_tokens_to_sample": "max_tokens", "random_seed": "seed",
}

// asSettings reads OpenInference's JSON of a call's parameters into config. Its model is the
// one that was asked for. A parameter of unknown name keeps its name.
var asSettings = reader{
	name: "settings", about: "a JSON object of parameters, each under its config name; the model is the one asked for",
	whole: func(b *eventBuilder, _ target, a *attr) {
		raw, ok := b.parse(a)
		if !ok || jsonscan.Kind(raw) != '{' {
			if !ok {
				b.losses.failed = append(b.losses.failed, a.key)
			}
			return
		}
		var room [16]bool
		placed := room[:0] // by member: config has it
		all := true
		for c := jsonscan.Members(raw); c.Next(); {
			key := keyText(c.Key)
			to, known := settings[key]
			if !known {
				to = key
			}
			ok := b.setting(to, c.Val)
			all = all && ok
			placed = append(placed, ok)
		}
		if all {
			a.used = true
			return
		}
		b.keep(a)
		for c, i := jsonscan.Members(raw), 0; c.Next(); i++ {
			if placed[i] {
				b.texts.add(b, c.Val)
			}
		}
	},
}

// setting sets one parameter of config by its name there. It returns false if config has another value there, or val is
// no value that config can have: the caller then keeps the attribute.
func (b *eventBuilder) setting(key string, val []byte) bool {
	if jsonscan.Kind(val) == 'n' || jsonscan.Kind(val) == '"' && len(jsonscan.Inner(val)) == 0 {
		return true // not set
	}
	if numeric[key] && unbounded(val) {
		return false // no number that anyone could compare
	}
	switch key {
	case "model":
		if b.put(fieldModel, val) {
			b.put(fieldModelName, val)
			b.modelText = unquoted(val)
			return true
		}
		if asked := unquoted(val); asked == b.modelOf() {
			return true
		}
		return b.put(fieldRequestModel, val) || b.same(bucketConfig, "request_model", val)
	case "tools":
		if b.filled(fieldTools.field) {
			return false
		}
		return b.putTools(val)
	case "system":
		// A prompt is no setting: leadSystemSetting makes a message of it.
		if k := jsonscan.Kind(val); b.s.role == onModel && (k == '"' || k == '[') {
			return false
		}
	case titanPrompt:
		if b.s.role&(onModel|onEmbedding) != 0 && jsonscan.Kind(val) == '"' {
			return false // likewise: see asParameterPrompt
		}
	}
	if settingGroups[key] && jsonscan.Kind(val) == '{' {
		return b.settingsIn(val)
	}
	return b.member(bucketConfig, key, val) || b.sameValue(bucketConfig, key, val)
}

// settingGroups are the members of requests that hold settings as an object: Genkit's, Bedrock's and Gemini's.
var settingGroups = map[string]bool{
	"config": true, "textGenerationConfig": true, "inferenceConfig": true, "inferenceConfiguration": true, "generationConfig": true,
}

// settingsIn sets the parameters of such an object. It reports whether config has them all.
func (b *eventBuilder) settingsIn(group []byte) bool {
	all := true
	for m := jsonscan.Members(group); m.Next(); {
		name := keyText(m.Key)
		ok := b.setting(cmp.Or(settings[name], name), m.Val)
		if all = ok && all; ok {
			b.texts.add(b, m.Val)
		}
	}
	return all
}

// titanPrompt is the member of a request that has the prompt of Amazon's Titan models.
const titanPrompt = "inputText"

// asParameterPrompt reads the prompt that is among the parameters of a call: OpenInference's instrumentation of Bedrock takes
// the whole request of a Titan model for them.
var asParameterPrompt = reader{
	name: "prompt of parameters", about: "inputText of a JSON object of parameters as a message of the user",
	whole: func(b *eventBuilder, t target, a *attr) {
		raw, ok := b.parse(a)
		if text := jsonscan.Member(raw, titanPrompt); ok && jsonscan.Kind(text) == '"' && b.obj[bucketInputs].empty() {
			b.said(text)
			b.texts.add(b, text)
		}
	},
}

// numeric are the settings that are numbers.
var numeric = map[string]bool{
	"temperature": true, "top_p": true, "top_k": true, "max_tokens": true, "frequency_penalty": true, "presence_penalty": true,
	"seed": true, "choice_count": true,
}

// unbounded reports whether a setting is the text that some SDKs send for one without a bound.
func unbounded(val []byte) bool {
	switch strings.ToLower(string(jsonscan.Inner(val))) {
	case "infinity", "+infinity", "-infinity", "inf", "nan":
		return jsonscan.Kind(val) == '"'
	}
	return false
}

// modelOf returns config.model, "" if it is not set.
func (b *eventBuilder) modelOf() string {
	if from := b.by[fieldModel.field]; b.filled(fieldModel.field) && from > 0 {
		if s := b.attrs[from-1].str(); s == "" || s[0] != '"' {
			return s
		}
		return b.configText(fieldModel)
	}
	return b.modelText
}

// sameValue reports whether a setting was filled by an attribute with this very JSON value.
func (b *eventBuilder) sameValue(bucket int, key string, val []byte) bool {
	field, ok := fieldIDs[bucket][key]
	if !ok || !b.filled(field) || b.by[field] == 0 {
		return false
	}
	var buf [64]byte // most settings are short: no allocation
	return string(b.appendValue(buf[:0], b.attrs[b.by[field]-1].val)) == string(val)
}

// asTools reads a JSON array of tool definitions.
var asTools = reader{
	name: "tools", about: "a JSON array of definitions as [{name, description, parameters}]",
	whole: func(b *eventBuilder, t target, a *attr) {
		if b.filled(t.field) {
			b.keep(a)
			return
		}
		if raw, ok := b.parse(a); !ok {
			b.losses.failed = append(b.losses.failed, a.key)
		} else if b.putTools(raw) {
			a.used = true
		}
	},
}

// putTools fills config.tools. It returns false if the value is not a list, or the field is filled.
func (b *eventBuilder) putTools(raw []byte) bool {
	if jsonscan.Kind(raw) != '[' {
		return false
	}
	return b.put(fieldTools, b.listOf(raw, func(raw []byte) {
		if jsonscan.Kind(raw) == '"' { // each definition encoded by itself
			if in, ok := b.clean(view(unquoted(raw))); ok && jsonscan.Kind(in) == '{' {
				raw = in
			}
		}
		switch list := declarations(raw); {
		case list != nil:
			for in, m := jsonscan.Elements(list), 0; in.Next(); m++ {
				if m > 0 {
					b.arena = append(b.arena, ',')
				}
				b.appendTool(in.Val)
			}
		case jsonscan.Kind(raw) == '{':
			b.appendTool(raw)
		default:
			b.arena = append(b.arena, raw...)
		}
	}))
}

// declarations returns the list of definitions that one of Gemini's tools is: {function_declarations: […]}. It
// returns nil for any other tool, and for one with something else beside the list.
func declarations(raw []byte) []byte {
	if countMembers(raw) != 1 {
		return nil
	}
	for _, key := range [...]string{"function_declarations", "functionDeclarations"} {
		list := jsonscan.Member(raw, key)
		if jsonscan.Kind(list) != '[' || jsonscan.Empty(list) {
			continue
		}
		for c := jsonscan.Elements(list); c.Next(); {
			if jsonscan.Kind(c.Val) != '{' {
				return nil
			}
		}
		return list
	}
	return nil
}

// appendTool writes a definition as {name, description, parameters}: what OpenAI puts into a
// function object comes up a level, and the schema has one name. Other members stay.
//
//	{"type":"function","function":{"name":"add","parameters":{…}}} → {"type":"function","name":"add","parameters":{…}}
//	{"name":"add","input_schema":{…}}                              → {"name":"add","parameters":{…}}
//	{"type":"haystack.tools.tool.Tool","data":{"name":"add",…}}    → {"type":"haystack.tools.tool.Tool","name":"add",…}
//	{"toolSpec":{"name":"add","inputSchema":{"json":{…}}}}         → {"name":"add","parameters":{…}}
func (b *eventBuilder) appendTool(raw []byte) {
	inside := "function"
	function := jsonscan.Member(raw, inside)
	if function == nil {
		if spec := jsonscan.Member(raw, "toolSpec"); spec != nil {
			inside, function = "toolSpec", spec
		} else if data := jsonscan.Member(raw, "data"); jsonscan.Member(raw, "name") == nil && jsonscan.Kind(jsonscan.Member(data, "name")) == '"' {
			inside, function = "data", data
		}
	}
	if jsonscan.Kind(function) != '{' {
		function = nil
	}
	b.arena = append(b.arena, '{')
	schema := jsonscan.Member(raw, "parameters") != nil || jsonscan.Member(function, "parameters") != nil
	b.toolFields(raw, function, inside, &schema)
	b.arena = append(b.arena, '}')
}

// toolFields appends the members of a tool's definition, those of a function object, which is its member inside, in place of its
// own. schema is whether "parameters" is taken: only one schema can have the name.
func (b *eventBuilder) toolFields(raw, function []byte, inside string, schema *bool) {
	own := memberNames(function)
	for c := jsonscan.Members(raw); c.Next(); {
		key := string(c.Key)
		if function != nil {
			if key == inside {
				b.toolFields(function, nil, "", schema)
				continue
			}
			if own[key] {
				continue // the function's own comes with it
			}
		}
		val := c.Val
		if (key == "inputSchema" || key == "input_schema" || key == "parameters_json_schema" || key == "parametersJsonSchema") && !*schema {
			key, *schema = "parameters", true
			if in := jsonscan.Member(val, "json"); jsonscan.Kind(in) == '{' && countMembers(val) == 1 { // Bedrock
				val = in
			}
		}
		if b.arena[len(b.arena)-1] != '{' {
			b.arena = append(b.arena, ',')
		}
		b.arena = append(b.arena, '"')
		b.arena = append(b.arena, key...)
		b.arena = append(b.arena, '"', ':')
		b.arena = append(b.arena, val...)
	}
}
