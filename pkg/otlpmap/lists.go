package otlpmap

// keyList names a list of attributes that steer an event instead of standing in one of its objects. A
// convention adds its own (see definition.keys). Of each list the first attribute that is present and not empty
// counts; the others are taken as read if they have the same value, and stay under their own names if not.
// For example honeyhive.session_id, session.id and gen_ai.conversation.id are all of sessionKeys, in this order.
type keyList int

const (
	sessionKeys        keyList = iota // name the session of the span, and through it of the whole trace
	fixedSessionKeys                  // those of sessionKeys that hold for the span alone, whatever its trace names
	parentKeys                        // the event above a span that has no parent span
	eventIDKeys                       // replace the id that is made of trace and span id
	eventTypeKeys                     // see spanKind
	givenNameKeys                     // the event's name, before all other names
	nameKeys                          // the event's name after givenNameKeys
	toolNameKeys                      // likewise, of tools only
	chainNameKeys                     // likewise, of chains only
	lateNameKeys                      // the event's name after those
	sessionNameKeys                   // the name of an implicit session
	sourceKeys                        // the event's source
	resourceSourceKeys                // attributes of the resource, asked after sourceKeys
	userKeys                          // the user
	errorKeys                         // the error, before the span's status message
	lateErrorKeys                     // the error after the status message and the exception
	projectKeys                       // the project, which the API key decides
	unusedKeys                        // read by nobody: an id of the sender's own object

	// toolHints, modelHints, usageHints and clientHints decide the role of a span without a kind.
	toolHints
	modelHints
	usageHints
	clientHints

	keyListCount
)

// keyListOrder is the order of conventions within a list where it is not the usual one. Those that are not
// mentioned follow in their usual order.
var keyListOrder = [keyListCount][]convention{
	sessionKeys:  {honeyhive, langfuse, otel, laminar, otelGenAI, vercel, googleADK, langsmith, mlflow, openinference, openllmetry},
	userKeys:     {honeyhive, otel, langfuse, otelGenAI, openllmetry, laminar, vercel, langsmith, litellm},
	toolNameKeys: {otelGenAI, vercel, openinference},
	toolHints:    {otelGenAI},
	modelHints:   {otelGenAI},
	usageHints:   {otelGenAI},
}

// keyLists are the attributes of all conventions, by list: first those of the conventions in keyListOrder, then those of
// all others.
var keyLists = func() (lists [keyListCount][]string) {
	for l := range lists {
		var seen [len(conventions)]bool
		add := func(c convention) {
			if !seen[c] {
				seen[c] = true
				lists[l] = append(lists[l], conventions[c].keys[keyList(l)]...)
			}
		}
		for _, c := range keyListOrder[l] {
			add(c)
		}
		for c := range conventions {
			add(convention(c))
		}
	}
	return lists
}()

// ids are the attributes that name a session, an event or the one above it.
var ids = func() map[string]bool {
	all := map[string]bool{}
	for _, list := range []keyList{sessionKeys, fixedSessionKeys, parentKeys, eventIDKeys} {
		for _, key := range keyLists[list] {
			all[key] = true
		}
	}
	return all
}()

// IsID reports whether an attribute is an id by which spans find each other: whoever changed it would tear sessions apart,
// or make one of several.
func IsID(attribute string) bool { return ids[attribute] }
