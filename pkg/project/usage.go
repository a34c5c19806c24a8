package project

// Usage is what takes the space of a project, in bytes as of its limit stored_bytes: payloads as they are compressed, the
// texts of rows, and 256 bytes for each row.
type Usage struct {
	Sessions, Events int64 // session events are among the events
	HeadBytes        int64 // rows of events
	PayloadBytes     int64
	LogBytes         int64 // parts of events that log records brought, kept for a day
	Days             []DayUsage
}

// EventBytes are those of events, of which a rule of retention may keep so many.
func (u *Usage) EventBytes() int64 { return u.HeadBytes + u.PayloadBytes }

// DayUsage is what the events take that began on a day, in UTC. Payloads that are compressed
// together with those of an earlier day count there.
type DayUsage struct {
	Day          int32 // from 1970 on
	Events       int64
	HeadBytes    int64
	PayloadBytes int64
}

// Removal is what a rule of retention would remove.
type Removal struct {
	Sessions, Events int64
	Payloads         int64 // events whose payload would go, and which would stay otherwise
	Bytes            int64 // as of Usage
}
