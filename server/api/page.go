package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"todo-mcp/server/edge"
)

// maxPage is the largest size in bytes of the revisions of one answer as JSON. An
// answer has at least one revision, also a larger one.
const maxPage = 1 << 20

// page collects revisions as JSON, as many as one answer may have: what a
// request makes the server hold is bounded, however long the history is
// (BAD-INPUT 60).
type page struct {
	limit int // of revisions
	max   int // of bytes
	parts []json.RawMessage
	size  int // of parts, in bytes
}

// add adds a revision to the page. It adds nothing and returns false when the
// page is full.
func (p *page) add(revision any) (bool, error) {
	if len(p.parts) >= p.limit {
		return false, nil
	}
	data, err := json.Marshal(revision)
	if err != nil {
		return false, edge.Internal(fmt.Errorf("encode revision: %w", err))
	}
	if len(p.parts) > 0 && p.size+len(data) > p.max {
		return false, nil
	}
	p.parts, p.size = append(p.parts, data), p.size+len(data)
	return true, nil
}

// all returns the revisions; not nil.
func (p *page) all() []json.RawMessage { return append([]json.RawMessage{}, p.parts...) }

// link names another page of the same answer in the header Link (RFC 8288): the
// request's own query with a cursor, which is a revision.
func link(w http.ResponseWriter, r *edge.Request, relation, cursor string, revision int64) {
	query := r.URL.Query()
	query.Set(cursor, strconv.FormatInt(revision, 10))
	w.Header().Set("Link", fmt.Sprintf("<?%s>; rel=%q", query.Encode(), relation))
}
