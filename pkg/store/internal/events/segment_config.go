package events

import (
	"encoding/json"
	"sync"

	"github.com/spangrove/spangrove/pkg/store/internal/record"
)

// Bounds of the configurations in memory: as many events as one pass seals, and about how many bytes. A longer configuration is read
// from its chunk, and texts of more than so many kinds are no longer shared.
const (
	keptConfigs      = sealPass
	keptConfigsBytes = 16 << 20
	keptConfigBytes  = 2 << 10
	sharedConfigs    = 4096
)

// configKeep holds the configurations of events that were stored a moment ago. It is all that a segment needs of a payload, and
// to read each chunk back for it would cost more than the rest of the row.
//
// They are kept by their place in a chunk. A chunk never changes under its id, so what is here is what the chunk has, whatever became of
// the event since: an event that was changed has a row that names another chunk.
type configKeep struct {
	mu     sync.Mutex
	chunks map[int64]map[int]json.RawMessage // by id and offset
	order  []int64                           // of chunks, the oldest first
	shared map[string]json.RawMessage        // each text once
	events int
	bytes  int
}

func newConfigKeep() *configKeep {
	return &configKeep{chunks: map[int64]map[int]json.RawMessage{}, shared: map[string]json.RawMessage{}}
}

// put keeps the configurations of events that were stored; the oldest go if there are too many.
func (k *configKeep) put(heads []*head) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range heads {
		if h.chunk == nil || len(h.config) == 0 || len(h.config) > keptConfigBytes {
			continue
		}
		at := k.chunks[h.chunk.ID]
		if at == nil {
			at = map[int]json.RawMessage{}
			k.chunks[h.chunk.ID] = at
			k.order = append(k.order, h.chunk.ID)
		}
		at[h.off] = k.share(h.config)
		k.events++
		k.bytes += len(h.config)
	}
	for k.events > keptConfigs || k.bytes > keptConfigsBytes || len(k.order) > keptConfigs { // some of order may have been dropped
		k.remove(k.order[0])
		k.order = k.order[1:]
	}
}

// share returns a copy of a text that others have, too: what came in a request must not keep all of the request in memory.
func (k *configKeep) share(config []byte) json.RawMessage {
	text, ok := k.shared[string(config)]
	if !ok {
		if len(k.shared) >= sharedConfigs {
			clear(k.shared)
		}
		text = append(json.RawMessage(nil), config...)
		k.shared[string(text)] = text
	}
	return text
}

// get returns the configuration of the event at a place in a chunk, if it is kept.
func (k *configKeep) get(chunk int64, off int) (json.RawMessage, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	config, ok := k.chunks[chunk][off]
	return config, ok
}

// drop forgets a chunk.
func (k *configKeep) drop(chunk int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(chunk)
}

// remove takes a chunk out; its place in order stays.
func (k *configKeep) remove(chunk int64) {
	for _, config := range k.chunks[chunk] {
		k.events--
		k.bytes -= len(config)
	}
	delete(k.chunks, chunk)
}

// keptConfig sets the configuration of a row if it is all that the row lacks and is in memory.
func (s *Store) keptConfig(r *sealedRow) bool {
	if r.Spill&record.HeadFields != 0 {
		return false
	}
	config, ok := s.configs.get(*r.chunk, r.off)
	if ok {
		r.Config = config
	}
	return ok
}
