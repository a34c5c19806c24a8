package client_test

import (
	"testing"

	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/client"
)

// connect returns a client of a server in this process that may do everything.
func connect(t *testing.T, url string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(url, inprocess.Key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}
