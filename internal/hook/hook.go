package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/tools"
)

// lasts is for how long after its last call of a todo tool a chat counts as there,
// unless it says that it ends.
const lasts = 30 * time.Minute

// ErrNotNeeded is the error for an event that no hook is needed for, such as a call of
// another tool where a matcher is too wide.
var ErrNotNeeded = errors.New("nothing is to be done for it")

// Do does what an event asks for. It calls open, which opens the lists until done is
// called, only if it needs them. An error says nothing of the texts of a list; it may be
// [ErrNotNeeded].
func Do(ctx context.Context, e Event, open func() (lists todo.Lists, done func(), err error)) error {
	act, err := e.action()
	if err != nil || act == nil {
		return e.describe(err)
	}
	lists, done, err := open()
	if err != nil {
		return e.describe(err)
	}
	defer done()
	return e.describe(act(ctx, lists))
}

// describe returns an error with the event that it is of.
func (e Event) describe(err error) error {
	var input *todo.InputError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &input):
		paths := make([]string, len(input.Problems))
		for i, p := range input.Problems {
			paths[i] = p.Path // the message may have a text in it
		}
		err = fmt.Errorf("not understood: %s", strings.Join(paths, ", "))
	}
	return fmt.Errorf("%s: %w", strings.TrimSpace(todo.Cut(e.Name, 64)+" "+todo.Cut(e.Tool, 64)), err)
}

// action is what is done for an event.
type action func(context.Context, todo.Lists) error

// action returns what to do; nil if that is nothing.
func (e Event) action() (action, error) {
	switch strings.ToLower(e.Name) {
	case "pretooluse", "beforetool":
		if !isOurs(e.Tool) || e.Call == "" {
			return nil, ErrNotNeeded
		}
		return e.noteCall, nil
	case "posttooluse", "aftertool":
		return e.mirrorAction()
	case "sessionstart":
		if e.Source != "resume" {
			return nil, nil // a new chat holds nothing yet
		}
		return e.stay, nil
	case "sessionend":
		return e.end, nil
	case "subagentstop":
		if e.Agent == "" {
			return nil, ErrNotNeeded
		}
		return e.endAgent, nil
	}
	return nil, ErrNotNeeded
}

// isOurs reports whether a host calls one of our tools by a name: ours has the server's
// name before it.
func isOurs(tool string) bool {
	isSuffix := func(name string) bool { return strings.HasSuffix(tool, "_"+name) }
	return strings.HasPrefix(tool, "mcp") && slices.ContainsFunc(tools.Names(), isSuffix)
}

// noteCall notes who makes a call of one of our tools.
func (e Event) noteCall(ctx context.Context, lists todo.Lists) error {
	return lists.NoteHostCall(ctx, todo.HostCall{ID: e.Call, Session: e.Session, Agent: e.agent(), Folder: e.Folder})
}

// mirrorAction returns what mirrors a call of a built-in tool.
func (e Event) mirrorAction() (action, error) {
	host := "" // which the tool's name tells
	if e.Cursor != "" {
		host = "cursor"
	}
	tool, ok := tools.FindBuiltIn(host, e.Tool)
	switch {
	case isOurs(e.Tool):
		return nil, nil // its server has written the list
	case !ok:
		return nil, ErrNotNeeded
	}
	call, err := tool.Read(json.RawMessage(e.Input), json.RawMessage(e.Response))
	if err != nil || call == nil {
		return nil, err
	}
	return func(ctx context.Context, lists todo.Lists) error {
		_, err := lists.Apply(ctx, e.mirror(tool, call))
		return err
	}, nil
}

// mirror returns the write of a call of a built-in tool to the list that mirrors it.
func (e Event) mirror(tool tools.BuiltIn, call *tools.Call) todo.Write {
	agent := server.AgentName(e.agent())
	w := todo.Write{
		Begin:  todo.List{Mirrored: true},
		Writer: todo.Writer{Client: tool.Host, Variant: tool.Name, Agent: agent},
		Change: call.Change,
	}
	who := chat(server.MirrorKey(e.Session))
	who.Client, who.Workspace = tool.Host, e.Folder
	if agent != "" && !tool.OneList {
		w.Begin.ParentConversation = who.Key
		who.Key = server.AgentKey(who.Key, e.agent())
	}
	w.Target = call.Target(who)
	if !tool.OneList {
		w.Agent = agent
	}
	return w
}

// chat returns the conversation with a key, which outlives the process of a hook.
func chat(key string) todo.Conversation {
	return todo.Conversation{Key: key, Lasts: lasts, Detached: true}
}

// stay says that a chat that was resumed is there again. As far as it holds a list by
// our tools, their server says so.
func (e Event) stay(ctx context.Context, lists todo.Lists) error {
	return lists.Stay(ctx, chat(server.MirrorKey(e.Session)))
}

// end says that the chat and its sub-agents have ended.
func (e Event) end(ctx context.Context, lists todo.Lists) error {
	return e.leave(ctx, lists, "", func(held todo.Snapshot) error {
		subs, err := lists.Find(ctx, todo.Query{Parent: held.List.ID})
		for _, sub := range subs {
			err = errors.Join(err, lists.Leave(ctx, chat(sub.List.Conversation)))
		}
		return err
	})
}

// endAgent says that a sub-agent has ended, and archives its list if it is settled.
func (e Event) endAgent(ctx context.Context, lists todo.Lists) error {
	return e.leave(ctx, lists, e.agent(), func(held todo.Snapshot) (err error) {
		if held.Settled() && !held.Archived {
			_, err = lists.Archive(ctx, held.List.ID, true, held.Writer)
		}
		return err
	})
}

// leave says that a sub-agent of the chat, or the chat itself without one, has left the
// lists that it has by our tools and by the host's own. Before that it calls last with each.
func (e Event) leave(ctx context.Context, lists todo.Lists, agent string, last func(todo.Snapshot) error) error {
	for _, key := range []string{server.ChatKey(e.Session), server.MirrorKey(e.Session)} {
		if agent != "" {
			key = server.AgentKey(key, agent)
		}
		held, err := lists.Current(ctx, todo.Target{Conversation: chat(key)})
		if errors.Is(err, todo.ErrNotFound) {
			continue
		}
		if err == nil {
			err = last(held)
		}
		if err == nil {
			err = lists.Leave(ctx, chat(key))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
