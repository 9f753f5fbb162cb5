package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
)

// BAD-INPUT 44, 51: a call of two processes at once with one id.
func TestRepeatAtOnceSameAnswer(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
		chats := []*chattest.Chat{r.Connect().Conversation("c"), open().Connect().Conversation("c")}
		const times = 40
		for n := range times {
			var work sync.WaitGroup
			answers := make([]string, len(chats))
			for i, c := range chats {
				work.Go(func() { answers[i] = c.InOperation(fmt.Sprint("op-", n)).Adds("Step").Says("1 created").Text() })
			}
			work.Wait()
			if answers[0] != answers[1] {
				t.Errorf("44: %d: answers\n%s\n%s", n, answers[0], answers[1])
			}
		}
		r.Expect(strings.TrimSpace(strings.Repeat("p:Step ", times)))
	})
}
