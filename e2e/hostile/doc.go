// Package hostile drives the real binary with clients that mean harm, or are merely broken, beside
// a neighbour: another project on the same server that sends and reads a little all the time. Each
// case bounds what the neighbour may notice and how much memory the server may take.
//
// To add a case, write a file with its attack and register it in an init function:
//
//	func init() { register(hostileCase{name: "empty_events", attack: emptyEvents, memoryMiB: 200}) }
//
// The environment is that of package harness. One case on one database:
//
//	SPANGROVE_E2E=1 go test ./e2e/hostile -run 'TestHostile/sqlite/empty_events' -v
package hostile
