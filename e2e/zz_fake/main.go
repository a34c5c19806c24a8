package main

import (
	"net/http"
	"time"

	"github.com/spangrove/spangrove/e2e/fakeopenai"
)

type slow struct{ http.ResponseWriter }

func (s slow) Flush() { s.ResponseWriter.(http.Flusher).Flush(); time.Sleep(60 * time.Millisecond) }

func main() {
	h := fakeopenai.Handler()
	_ = http.ListenAndServe("127.0.0.1:7999", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(slow{w}, r) }))
}
