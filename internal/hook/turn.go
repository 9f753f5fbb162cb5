package hook

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/tools"
)

// endsTurn reports whether the event is the end of a turn that a hook can prevent.
func (e Event) endsTurn() bool {
	name := strings.ToLower(e.Name)
	return name == "stop" || name == "afteragent"
}

// endTurn records that the agent rests, with the question that it asks or why its model failed. If the agent is to go
// on instead, endTurn returns the text that says so.
func (e Event) endTurn(ctx context.Context, lists board.Lists) (string, error) {
	if e.Agent != "" || e.waitsForAgents() {
		return "", nil // the agent goes on by itself
	}
	question := cmp.Or(e.Failure, lastQuestion(e.Last))
	switch strings.ToLower(e.Name) { // a failure counts as a question: a person must tell the agent to go on
	case "stopfailure":
		question = cmp.Or(e.Failure, e.Last)
	case "erroroccurred":
		question = "the model failed"
		for text := []byte(e.Error); ; { // the message may itself be JSON with a message
			var failure struct{ Message string }
			if json.Unmarshal(text, &failure, json.MatchCaseInsensitiveNames(true), jsontext.AllowInvalidUTF8(true)) != nil || failure.Message == "" {
				break
			}
			question, text = failure.Message, []byte(failure.Message)
		}
	}
	text, err := "", error(nil)
	if e.endsTurn() {
		text, err = e.afterTurn(ctx, lists)
		if text == "" && err == nil && e.Finish && !e.Blocked && question == "" {
			text, err = e.finish(ctx, lists)
		}
	}
	does := todo.Rests
	switch {
	case err != nil:
		return "", err
	case text != "" && e.Host == kimi:
		does = todo.NotKnown // Kimi Code sends no event when the prolonged turn ends
	case text != "":
		return text, e.goesOn(ctx, lists)
	}
	_, err = lists.Hear(ctx, e.chat(), func(c *todo.Chat, at time.Time) { c.Says(does, todo.OneLine(question, todo.MaxTitle), at) })
	return text, err
}

// afterTurn tells the agent, once, the items that a person added for the end of the turn, and moves them to the list.
func (e Event) afterTurn(ctx context.Context, lists board.Lists) (string, error) {
	return e.goOn(ctx, lists, func(list todo.Snapshot) (bool, error) { return len(list.Later) > 0, nil })
}

// goOn returns, at the end of a turn, the news and a request to go on now, if isDue returns true for the agent's list.
func (e Event) goOn(ctx context.Context, lists board.Lists, isDue func(todo.Snapshot) (bool, error)) (string, error) {
	return e.tell(func(w *prompts.Words, t board.Target) (string, error) {
		list, err := lists.Current(ctx, t)
		if err != nil {
			return "", err
		}
		if is, err := isDue(list); err != nil || !is {
			return "", err
		}
		_, news, err := lists.News(ctx, t, true)
		if err != nil || !news.OthersDid() {
			return "", err
		}
		return tools.News(w, news) + ". " + w.GoOnNow, nil
	})
}

// isLate reports whether the event is older than the chat's state: isOld is true, or the event contradicts a turn's
// start or end that was recorded less than five seconds before it. A host need not wait for its hooks, so events may
// come out of order, except from our plugins.
func (e Event) isLate(c *todo.Chat, at time.Time) bool {
	overtaken := c.Doing == todo.Rests
	if strings.EqualFold(e.Name, "SessionStart") {
		overtaken = c.Doing.InTurn()
	}
	return e.isOld(c, at) || overtaken && !e.isOfPlugin() && !e.endsTurn() && at.Sub(c.Since) < 5*time.Second
}

// isOld reports whether a newer event was applied at once while this event waited in the spool.
func (e Event) isOld(c *todo.Chat, at time.Time) bool {
	since := cmp.Or(c.Since, c.Ended)
	return e.id != "" && at.Before(since) && since.Before(time.Now()) // else the clock was set back
}

// idles records, for an idle_prompt event, that no turn runs. Hosts send the event some time after the end of a turn.
// No other event shows that a person interrupted a turn or a question.
func (e Event) idles(ctx context.Context, lists board.Lists) error {
	_, err := lists.Hear(ctx, e.chat(), func(c *todo.Chat, at time.Time) {
		if c.Doing != todo.Rests && !e.isOld(c, at) {
			c.Says(todo.Rests, "", at)
		}
	})
	return err
}

// finish keeps the turn from ending: it returns a text about open items that are not blocked, once for the same items.
func (e Event) finish(ctx context.Context, lists board.Lists) (string, error) {
	chat, err := lists.Chat(ctx, e.chat())
	if err != nil || chat.Asks != "" {
		return "", err
	}
	return e.tell(func(w *prompts.Words, t board.Target) (string, error) {
		list, err := lists.Current(ctx, t)
		open := make([]string, 0, len(list.Items))
		for _, i := range list.Items {
			if !i.Status.Settled() && i.Status != todo.Blocked {
				open = append(open, i.ID+" "+string(i.Status))
			}
		}
		if err != nil || len(open) == 0 || list.Archived {
			return "", err
		}
		told, err := lists.Claim(ctx, list.List, "finish "+todo.Digest(strings.Join(open, "\n")), board.KeyAge)
		if err != nil || !told.IsZero() {
			return "", err
		}
		return tools.Reminder(w, list, w.Reminder, w.Finish), nil
	})
}

// waitsForAgents reports whether sub-agents run in the background. When one ends, the host begins the next turn itself.
func (e Event) waitsForAgents() bool {
	type task struct{ Type, Status string }
	var tasks []task
	_ = json.Unmarshal(e.Tasks, &tasks, json.MatchCaseInsensitiveNames(true)) // after an error tasks stays empty
	return slices.ContainsFunc(tasks, func(t task) bool { return t.Type == "subagent" && (t.Status == "running" || t.Status == "pending") })
}

// lastQuestion returns the question that a text ends with, without its markup; empty for none.
func lastQuestion(text string) string {
	const ends, full = "?？؟", ".!?。！？؟…"
	text = strings.TrimSpace(text)
	text = text[strings.LastIndexByte(text, '\n')+1:]
	text = strings.TrimRightFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) && !strings.ContainsRune(full, r) || r == '`'
	})
	rest := strings.TrimRight(text, ends)
	if rest == "" || rest == text {
		return ""
	}
	return strings.TrimLeft(lastSentence.ReplaceAllString(rest, "$1")+text[len(rest):], " *_#>-\"")
}

// lastSentence matches a line; its group is the last sentence.
var lastSentence = regexp.MustCompile(`^(?:.*(?:[.!?] |[。！？؟…]))?(.*\S.*)$`)

const (
	wakeTick = time.Second // how often Wake looks for a person's changes
	// restsSoon is how long Wake waits until the agent rests, which another hook records. If the agent does not rest by
	// then, its turn was kept from ending.
	restsSoon = 10 * time.Second
)

// Wake waits at the end of a turn until a person gives the resting agent something to do. It records that the
// agent works, and returns what to tell it. It returns an empty text when the agent works or has worked meanwhile,
// the host is gone, or ctx ends.
func (e Event) Wake(ctx context.Context, lists board.Lists) (string, error) {
	if e.Agent != "" || !e.endsTurn() || e.waitsForAgents() {
		return "", nil
	}
	var since time.Time // when the agent began to rest; zero until it rests
	for began := time.Now(); ; {
		if isAlive, isKnown := process.IsAlive(e.Process); isKnown && !isAlive {
			return "", nil
		}
		chat, err := lists.Chat(ctx, e.chat())
		rests, worked := chat.Doing == todo.Rests, !since.IsZero() && !chat.Since.Equal(since)
		if err != nil || (!rests || worked) && time.Since(began) > restsSoon {
			return "", err
		}
		if rests {
			since = chat.Since
			text, err := e.work(ctx, lists)
			if err == nil && text != "" {
				err = e.goesOn(ctx, lists)
			}
			if err != nil || text != "" {
				return text, err
			}
		}
		if !board.Sleep(ctx, wakeTick) {
			return "", nil
		}
	}
}

// work returns the news if a person added or changed an open, unblocked item since the agent last saw its list.
func (e Event) work(ctx context.Context, lists board.Lists) (string, error) {
	isWork := func(d todo.Difference) bool {
		return (d.Kind == todo.Added || d.Kind == todo.Changed) && !d.After.Status.Settled() && d.After.Status != todo.Blocked
	}
	return e.goOn(ctx, lists, func(list todo.Snapshot) (bool, error) {
		if !list.Writer.Person || list.Archived {
			return false, nil
		}
		saw, err := lists.Saw(ctx, list)
		return len(list.Later) > 0 || slices.ContainsFunc(todo.Diff(saw, list), isWork), err
	})
}
