package todo

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Chat is what one agent and its user do together, as far as a server and the hooks of its
// host tell it. A sub-agent's is a chat with a Parent. Its JSON is what stores keep of it.
type Chat struct {
	// ID is a digest of the key by which the chat was first known, see [ChatID].
	ID string `json:"id"`
	// Principal is whose chat it is, and User who of them: the subject of an identity, empty
	// without sign-in.
	Principal string `json:"principal,omitempty"`
	User      string `json:"user,omitempty"`
	// Client is the client as it names itself, or as its hooks do.
	Client string `json:"client,omitempty"`
	// HostID is the host's own id of the chat, of a sub-agent's that of its main agent's;
	// empty where it is not known.
	HostID string `json:"host_id,omitempty"`
	// Folder is the path of the folder that the chat works in, see [Folder].
	Folder string `json:"folder,omitempty"`
	// Branch is that of the folder's Git repository, in one line of at most [MaxTitle] runes; empty
	// where it is not known.
	Branch string `json:"branch,omitempty"`
	// Parent is the id of the main agent's chat, and Agent the name of the sub-agent; both
	// are empty for a main agent.
	Parent string `json:"parent,omitempty"`
	Agent  string `json:"agent,omitempty"`
	// Title is what the chat is about.
	Title Topic `json:"title,omitzero"`
	// Doing is what its agent does, Asks for what it waits, in one line of at most [MaxTitle]
	// runes, and Since when it began to, or was last heard to work, give or take five minutes.
	Doing Doing     `json:"doing,omitempty"`
	Asks  string    `json:"asks,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Forgot is true when its agent is to be told of its list at the next prompt.
	Forgot bool `json:"forgot,omitempty"`
	// Began is when it was first heard of.
	Began time.Time `json:"began,omitzero"`
	// Used is when something was last heard of the chat, give or take five minutes.
	Used time.Time `json:"used"`
	// Ended is when the chat ended, zero while it goes on, and Why as its host says it.
	Ended time.Time `json:"ended,omitzero"`
	Why   string    `json:"why,omitempty"`
	// Here are the processes that serve the chat, the one that was heard of last first.
	Here Served `json:"here,omitzero"`
	// Seq orders all chats and snapshots of a store by commit, see [Snapshot.Seq].
	Seq int64 `json:"-"`
}

// Here is a process that serves a chat.
type Here struct {
	// Process is its id; [HostProcess] and an id for one of the chat's host, or [Detached].
	Process string `json:"process,omitempty"`
	// Until is when the chat is no more there by it unless it is heard of again, give or take
	// five minutes; zero is as long as the process is alive.
	Until time.Time `json:"until,omitzero"`
}

// Detached stands for processes that end with each call, as those of hooks and commands do.
const Detached = "-"

// HostProcess is what an id has before it that is of the process of a chat's host, as its hooks
// know it.
const HostProcess = "host "

// Served are the last processes that served a chat, the one that was heard of last first; behind
// them it has zero values.
type Served [4]Here

// Serve says that a process serves the chat. What it has of others is theirs.
func (c *Chat) Serve(by Here) {
	n := slices.IndexFunc(c.Here[:], func(h Here) bool { return h.Process == by.Process })
	if n >= 0 {
		if was := c.Here[n].Until; was.IsZero() == by.Until.IsZero() && by.Until.Sub(was).Abs() < chatTick {
			return
		}
	} else {
		n = len(c.Here) - 1
	}
	copy(c.Here[1:n+1], c.Here[:n])
	c.Here[0] = by
}

// Leave says that a process no longer serves the chat since a time. What is there by its calls,
// as a session is, ends at all processes.
func (c *Chat) Leave(process string, at time.Time) {
	for i, h := range c.Here {
		if h.Process == process || h.Process != "" && !h.Until.IsZero() {
			c.Here[i].Until = at.Round(0).UTC()
		}
	}
}

// IsHere reports whether the chat goes on and a process that lives serves it. alive reports
// whether one lives, as far as that is known here; of a detached one it never is. A host that is
// known counts as long as it lives. When it does not, what was there by calls until then is gone,
// too. What is not known counts only where no other ever served the chat: that one's end is known
// at once.
func (c Chat) IsHere(now time.Time, alive func(process string) (is, isKnown bool)) bool {
	var calls, guess, gone time.Time // until when, and of a host that is gone
	isServed := false
	for _, h := range c.Here {
		if h.Process == "" || !c.Ended.IsZero() {
			continue
		}
		is, isKnown := alive(h.Process)
		isHost, until := strings.HasPrefix(h.Process, HostProcess), &calls
		switch {
		case isKnown && is && (isHost || h.Until.IsZero()):
			return true
		case !isKnown:
			until = &guess
		case isHost:
			until = &gone
		case !is:
			until = new(time.Time)
		}
		if isServed = isServed || isKnown; h.Until.After(*until) {
			*until = h.Until
		}
	}
	if !isServed {
		calls = guess
	}
	return now.Before(calls) && calls.Sub(gone) > chatTick
}

// Doing is what the agent of a chat does, as hooks of its host say it.
type Doing string

// What agents do. Where no hook says it, it is not known.
const (
	NotKnown Doing = ""
	Works    Doing = "works"
	Rests    Doing = "rests" // its turn has ended
	Asks     Doing = "asks"  // it waits for a person, in the midst of its turn
)

// InTurn reports whether a turn is known to be under way.
func (d Doing) InTurn() bool { return d == Works || d == Asks }

// chatTick is how exact the time of a chat's last use is: what a store has an index of is
// then seldom written.
const chatTick = 5 * time.Minute

// Says sets what the chat's agent does from a time on, and for what it waits: an agent that
// rests may have ended its turn with a question.
func (c *Chat) Says(does Doing, asks string, at time.Time) {
	isSame := c.Doing == does && c.Asks == asks
	if isSame && (does != Works || at.Sub(c.Since) < chatTick) {
		return
	}
	c.Doing, c.Asks, c.Since = does, asks, at.Round(0).UTC()
}

// Use says that something was heard of the chat at a time.
func (c *Chat) Use(at time.Time) {
	if at.Sub(c.Used) >= chatTick {
		c.Used = at.Round(0).UTC()
	}
}

// GoOn says that the chat goes on: a prompt, a call or a write of its own says so, and not what
// comes late.
func (c *Chat) GoOn() { c.Ended, c.Why = time.Time{}, "" }

// End says that the chat ended, and why. Its agent does nothing any more.
func (c *Chat) End(why string, at time.Time) {
	c.Doing, c.Asks, c.Since = NotKnown, "", time.Time{}
	c.Ended, c.Why = at.Round(0).UTC(), why
}

// AsList returns the list that the chat has not begun: its id is the chat's, its revision 0, and it
// has no items. So who shows lists shows chats, too. It is never saved.
func (c Chat) AsList() Snapshot {
	at := cmp.Or(c.Since, c.Used)
	return Snapshot{List: List{ID: c.ID, Principal: c.Principal, Conversation: c.ID, Client: c.Client, Workspace: c.Folder, Branch: c.Branch,
		Chat: c.HostID, Topic: cmp.Or(c.Title.Text, NewChat), Created: cmp.Or(c.Began, at)},
		Updated: at, Worked: at, Writer: Writer{Client: c.Client, User: c.User}, Seq: c.Seq, Stood: c.Seq}
}

// IsChat reports whether the snapshot is [Chat.AsList] of a chat.
func (s Snapshot) IsChat() bool { return s.Revision == 0 && IsChatID(s.List.ID) }

// Topic is what a chat is about, in one line of at most [MaxTitle] runes, as a hook of its
// host said: the title of its next list, unless that is given one.
type Topic struct {
	Text string      `json:"text,omitempty"`
	From TopicSource `json:"from,omitempty"`
	// Taken is true when a list of the chat has it as its title: the next one is another's.
	Taken bool `json:"taken,omitempty"`
	// At is when it was said.
	At time.Time `json:"at,omitzero"`
	// Host is the title of the chat that a list of it has: the next one is called otherwise.
	Host string `json:"host,omitempty"`
}

// TopicSource is what a topic was taken from. One from a better source, which has a larger
// value, takes the place of another.
type TopicSource int

// The sources of a topic.
const (
	FromMeanwhile TopicSource = 1 + iota // the last prompt while a list was open
	FromFolder                           // the project and its branch
	FromPrompt                           // the first prompt since the list before was settled
	FromHost                             // the title of the chat
)

// TopicAge is for how long a topic counts that is no title of the chat by its host.
const TopicAge = time.Hour

// Titled sets what the chat is about from a time on, of which [OneLine] is kept, unless what it has
// is as good and no list took it. The answer to a question takes the place of nothing.
func (c *Chat) Titled(t Topic, at time.Time) {
	old := c.Title
	t.Text, t.At, t.Host = OneLine(t.Text, MaxTitle), at.Round(0).UTC(), old.Host
	isBetter := old.From < t.From || old.From == t.From && t.From != FromPrompt && old.Text != t.Text
	switch {
	case t.Text == "", t.From == FromHost && t.Text == old.Host:
	case old.Text == "", old.Taken, !old.counts(at), isBetter && (c.Asks == "" || t.From == FromHost):
		c.Title = t
	}
}

// Take returns what a list that begins is called, which no other one is then; empty for nothing.
func (c *Chat) Take(at time.Time) string {
	if c.Title.Text == "" || c.Title.Taken || !c.Title.counts(at) {
		return ""
	}
	if c.Title.Taken = true; c.Title.From == FromHost {
		c.Title.Host = c.Title.Text
	}
	return c.Title.Text
}

// counts reports whether a topic is of the task that the chat is at.
func (t Topic) counts(at time.Time) bool { return t.From == FromHost || at.Sub(t.At) <= TopicAge }

// Agent is what is known of the agents whose current list a list is.
type Agent struct {
	Here  bool // one of their chats is here
	Doing Doing
	Asks  string
	Since time.Time
}

// And returns what is known with another chat: of several agents, the one for which a person
// should look first.
func (a Agent) And(c Chat) Agent {
	rank := func(does Doing, asks string) int {
		if asks != "" {
			return 2
		}
		return slices.Index([]Doing{Rests, Works}, does)
	}
	if c.Ended.IsZero() && rank(c.Doing, c.Asks) > rank(a.Doing, a.Asks) {
		a.Doing, a.Asks, a.Since = c.Doing, c.Asks, c.Since
	}
	return a
}

// Standing is how a list stands.
type Standing struct {
	State State `json:"state"`
	// Asks is what its agent waits for a person to answer, while it is [Waiting] for that.
	Asks string `json:"asks,omitempty"`
	// Since is when it began to ask that.
	Since time.Time `json:"since,omitzero"`
}

// Stands returns how the list stands with its agents at a time.
func (s Snapshot) Stands(a Agent, now time.Time) Standing {
	st := Standing{State: s.State(a, now)}
	if st.State == Waiting && a.Asks != "" {
		st.Asks, st.Since = a.Asks, a.Since
	}
	return st
}
