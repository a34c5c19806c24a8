package httpapi

import (
	"net/http"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/wire"
)

// An export is written page by page, each a search behind the last row of the page before, so that memory is that of a page however many rows there
// are. A caller that leaves ends it; so does an error, and the connection is then broken off, which no caller can take for the end.
const (
	// exportWrite is how long one page may take to be found and to leave.
	exportWrite = 2 * time.Minute
	// exportTries is how often a page is asked for while other reads of the project take all connections, once the file has begun.
	exportTries = 30
	exportPause = 2 * time.Second
)

// exportSessions streams all sessions that match as a file.
func (s *Server) exportSessions(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	in, err := wire.DecodeSessionExport(body, s.Now())
	if err != nil {
		return err
	}
	in.Sessions.Filters = query.InProject(in.Sessions.Filters, c.project)
	if in.Sessions.EventFilters != nil {
		in.Sessions.EventFilters = query.InProject(in.Sessions.EventFilters, c.project)
	}
	return c.export(&in.ExportFile, "sessions", func(out *wire.Stream) (more bool, err error) {
		set, err := s.Store.SearchSessions(c.ctx(), c.project.ID, in.Sessions)
		if err != nil {
			return false, err
		}
		return in.WriteSessions(c.ctx(), out, set)
	})
}

// export answers with a file. page writes the next page of it, and reports whether there is another one; nothing of a page may be written if its search
// fails.
func (c *call) export(file *wire.ExportFile, name string, page func(out *wire.Stream) (more bool, err error)) error {
	c.w.Header().Set("Content-Disposition", wire.IsDownload(name+"."+file.Format))
	to := http.NewResponseController(c.w)
	err := c.stream(func(out *wire.Stream) error {
		out.WholeEnd = false // no older client asks for a file
		file.Begin(out)
		tries := 0
		for more := true; more; {
			_ = to.SetWriteDeadline(time.Now().Add(exportWrite)) // not all writers can; then there is none
			var err error
			more, err = page(out)
			if err != nil && fault.Of(err) == fault.Limited && out.Started() && tries < exportTries {
				tries++
				more = true
				if err := c.pause(exportPause); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			tries = 0
		}
		return nil
	})
	if err != nil {
		c.w.Header().Del("Content-Disposition") // an error is no file
	}
	return err
}

// pause waits, unless the caller leaves.
func (c *call) pause(d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-c.ctx().Done():
		return c.ctx().Err()
	}
}
