package stdio

import (
	"context"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// parentTick is how often the parent process is looked for.
	parentTick = 2 * time.Second
	// answerTimeout is how long a client whose process seems to be gone may take to answer.
	answerTimeout = 5 * time.Second
	// pingRequest is the id of the question whether the client is there.
	pingRequest = "todo-mcp-ping"
)

// getppid returns the id of the parent process; tests set it.
var getppid = os.Getppid

// watchParent calls hangUp when the client was killed and something else holds its end of the
// pipe, as a process that it forked. The parent of this process at initialize is the client, or
// what started the server for it. When that has gone, the client is asked, and whatever comes
// then shows that it is there: it is not watched any more (docs/spec/decisions.md). On Windows
// a process keeps the id of a parent that has gone.
func (t *transport) watchParent(ctx context.Context, in *input, hangUp func()) {
	parent := getppid()
	ticker := time.NewTicker(parentTick)
	defer ticker.Stop()
	for getppid() == parent {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
	select {
	case <-ticker.C: // what the client wrote before is read meanwhile
	case <-ctx.Done():
		return
	}
	before, _ := in.heard()
	t.open.Go(func() { // it may wait for who does not read
		_ = t.send(mcp.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(pingRequest), Request: mcp.Request{Method: string(mcp.MethodPing)}})
	})
	select {
	case <-time.After(answerTimeout):
	case <-ctx.Done():
		return
	}
	if now, isFull := in.heard(); now == before && !isFull {
		t.server.Log.Warn("the client has gone, though its end of the pipe is open")
		hangUp()
	}
}
