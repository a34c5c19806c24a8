// Package authextension checks API keys: it turns "Authorization: Bearer <key>" into the
// project and scope the key stands for, for every receiver and for the API. Keys are looked up
// in the store by their SHA-256; the key itself is kept nowhere.
//
// At the first start it makes sure that there is a project and a key to begin with. It never
// decides what a scope allows: that is up to whoever serves the request.
package authextension
