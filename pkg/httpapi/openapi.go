package httpapi

import (
	_ "embed"
	"net/http"
	"strconv"
)

// openAPI describes every operation of the API, the receiver's too. Tests compare it with the
// route tables.
//
//go:embed openapi.yaml
var openAPI []byte

// getOpenAPI answers with the description of the API.
func (s *Server) getOpenAPI(c *call) error {
	h := c.w.Header()
	h.Set("Content-Type", "application/yaml")
	h.Set("Content-Length", strconv.Itoa(len(openAPI)))
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(openAPI) // an error is the caller's connection, gone
	return nil
}
