package todo

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Chat is the work of one agent with its user, as servers and hooks report it. Stores keep its JSON.
type Chat struct {
	ID        string `json:"id"`                  // see [ChatID]
	Principal string `json:"principal,omitempty"` // whose chat it is
	User      string `json:"user,omitempty"`      // the subject of the identity; empty without sign-in
	Client    string `json:"client,omitempty"`    // the client's name, as client or hooks report it
	// HostID is the host's own id of the chat or, for a sub-agent, of the main agent's chat; empty if not known.
	HostID string `json:"host_id,omitempty"`
	Folder string `json:"folder,omitempty"` // the path of the agent's working folder, see [Folder]
	// Branch is the folder's Git branch, in one line of at most [MaxTitle] runes; empty if not known.
	Branch string `json:"branch,omitempty"`
	// Parent is the id of the main agent's chat, and Agent the sub-agent's name; both are empty for a main agent.
	Parent string `json:"parent,omitempty"`
	Agent  string `json:"agent,omitempty"`
	Title  Topic  `json:"title,omitzero"`
	// Doing is the agent's activity, and Asks its question to a person, in one line of at most [MaxTitle] runes. Since
	// is the start of both. For an agent that [Works], it is the last report of work, give or take five minutes.
	Doing  Doing     `json:"doing,omitempty"`
	Asks   string    `json:"asks,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Forgot bool      `json:"forgot,omitempty"` // at the next prompt, hooks must tell the agent its list
	Began  time.Time `json:"began,omitzero"`   // the time of the chat's first event or call
	Used   time.Time `json:"used"`             // the time of the last one, give or take five minutes
	Ended  time.Time `json:"ended,omitzero"`   // zero while the chat goes on
	Why    string    `json:"why,omitempty"`    // why the chat ended, in its host's word
	Here   Served    `json:"here,omitzero"`
	Seq    int64     `json:"-"` // orders all chats and snapshots of a store by commit, see [Snapshot.Seq]
}

// Here is a process that serves a chat.
type Here struct {
	Process string `json:"process,omitempty"` // the process's id, for a host prefixed with [HostProcess]; or [Detached]
	// Until is when the process stops counting, unless the chat is used again. If zero, it counts while it lives.
	Until time.Time `json:"until,omitzero"`
}

// Detached stands for processes that end after one call, such as hooks and commands.
const Detached = "-"

// HostProcess is the prefix of the id that hooks report for their host's process.
const HostProcess = "host "

// Served has the last processes that served a chat, the most recent first, then zero values.
type Served [4]Here

// Serve puts a process first in Here; a new process pushes out the last. A move of Until below [chatTick] is ignored.
func (c *Chat) Serve(by Here) {
	n := slices.IndexFunc(c.Here[:], func(h Here) bool { return h.Process == by.Process })
	if n < 0 {
		n = len(c.Here) - 1
	} else if was := c.Here[n].Until; was.IsZero() == by.Until.IsZero() && by.Until.Sub(was).Abs() < chatTick {
		return
	}
	copy(c.Here[1:n+1], c.Here[:n])
	c.Here[0] = by
}

// Leave sets Until to a time for a process and for every process with an Until: these share one session.
func (c *Chat) Leave(process string, at time.Time) {
	for i, h := range c.Here {
		if h.Process == process || h.Process != "" && !h.Until.IsZero() {
			c.Here[i].Until = at.Round(0).UTC()
		}
	}
}

// IsHere reports whether the chat has not ended and a process serves it: a live host, a live process without an Until,
// or a live process before its Until (a session). After a host's process died, a session's Until must be more than five
// minutes after the host's. A process unknown to the function alive is ignored; if all are, they are sessions.
func (c Chat) IsHere(now time.Time, alive func(process string) (is, isKnown bool)) bool {
	if !c.Ended.IsZero() {
		return false
	}
	var session, unknown, host int64 // the latest Until of each kind, in Unix milliseconds; host: of dead hosts
	isServed := false
	for _, h := range c.Here {
		if h.Process == "" {
			break
		}
		is, isKnown := alive(h.Process)
		isServed = isServed || isKnown
		isHost, until := strings.HasPrefix(h.Process, HostProcess), h.Until.UnixMilli()
		switch {
		case !isKnown:
			unknown = max(unknown, until)
		case is && (isHost || h.Until.IsZero()):
			return true
		case isHost:
			host = max(host, until)
		case is:
			session = max(session, until)
		}
	}
	if !isServed {
		session = unknown
	}
	return now.UnixMilli() < session && session-host > chatTick.Milliseconds()
}

// Doing is what the agent of a chat does, as its host's hooks report it.
type Doing string

// What agents do.
const (
	NotKnown Doing = "" // no hook reported it
	Works    Doing = "works"
	Rests    Doing = "rests" // its turn has ended
	Asks     Doing = "asks"  // it waits for a person, in the midst of its turn
)

// InTurn reports whether a turn is known to be under way.
func (d Doing) InTurn() bool { return d == Works || d == Asks }

// chatTick is the precision of Used, Since and Until, so that stores need not write them with each call.
const chatTick = 5 * time.Minute

// Says records the agent's activity and question since a time. An agent that Rests may have ended its turn by asking.
func (c *Chat) Says(does Doing, asks string, at time.Time) {
	isSame := c.Doing == does && c.Asks == asks
	if !isSame || does == Works && at.Sub(c.Since) >= chatTick {
		c.Doing, c.Asks, c.Since = does, asks, at.Round(0).UTC()
	}
}

// Use notes an event or call of the chat at a time.
func (c *Chat) Use(at time.Time) {
	if at.Sub(c.Used) >= chatTick {
		c.Used = at.Round(0).UTC()
	}
}

// GoOn notes that the chat has not ended. It is for a prompt, call or write: other events may come after the end.
func (c *Chat) GoOn() { c.Ended, c.Why = time.Time{}, "" }

// End notes that the chat ended, and why.
func (c *Chat) End(why string, at time.Time) {
	c.Doing, c.Asks, c.Since = NotKnown, "", time.Time{}
	c.Ended, c.Why = at.Round(0).UTC(), why
}

// AsList returns the chat as a list of revision 0 without items, for front ends. It is never saved.
func (c Chat) AsList() Snapshot {
	at := cmp.Or(c.Since, c.Used)
	return Snapshot{List: List{ID: c.ID, Principal: c.Principal, Conversation: c.ID, Client: c.Client, Workspace: c.Folder, Branch: c.Branch,
		Chat: c.HostID, Topic: cmp.Or(c.Title.Text, "New chat"), Created: cmp.Or(c.Began, at)},
		Updated: at, Worked: at, Writer: Writer{Client: c.Client, User: c.User}, Seq: c.Seq, Stood: c.Seq}
}

// IsChat reports whether the snapshot was made by [Chat.AsList].
func (s Snapshot) IsChat() bool { return s.Revision == 0 && IsChatID(s.List.ID) }

// Topic is the subject of a chat, as hooks reported it. The next list that the chat begins takes it as [List.Topic].
type Topic struct {
	Text  string      `json:"text,omitempty"` // one line of at most [MaxTitle] runes
	From  TopicSource `json:"from,omitempty"`
	Taken bool        `json:"taken,omitempty"` // a list of the chat has this topic: the next list needs a new topic
	At    time.Time   `json:"at,omitzero"`     // when it was reported
	// Host is the text of the last topic [FromHost] that a list took. The next list does not get the same text again.
	Host string `json:"host,omitempty"`
}

// TopicSource is the source of a topic. A topic from a source with a larger value replaces one with a smaller value.
type TopicSource int

// The sources of a topic.
const (
	FromMeanwhile TopicSource = 1 + iota // the last prompt while a list was open
	FromFolder                           // the project and its branch
	FromPrompt                           // the first prompt after the previous list was settled
	FromHost                             // the chat's title in its host
)

// topicAge is how long a topic counts, unless it is [FromHost].
const topicAge = time.Hour

// Titled sets the chat's topic to t, in one line, if the chat has no topic, a list took it, or its topic is too old.
// Else t needs a better source than the old topic or, except for [FromPrompt], the same source; while the agent asks a
// person, t must also be [FromHost]. It ignores an empty t, and one [FromHost] whose text equals Host.
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

// Take returns the chat's topic for a new list, and marks it as taken; empty if there is none, or it is taken or old.
func (c *Chat) Take(at time.Time) string {
	if c.Title.Text == "" || c.Title.Taken || !c.Title.counts(at) {
		return ""
	}
	if c.Title.Taken = true; c.Title.From == FromHost {
		c.Title.Host = c.Title.Text
	}
	return c.Title.Text
}

// counts reports whether a topic is not too old.
func (t Topic) counts(at time.Time) bool { return t.From == FromHost || at.Sub(t.At) <= topicAge }

// Agent sums up the agents whose current list is the same list.
type Agent struct {
	Here  bool // one of their chats is here, see [Chat.IsHere]
	Doing Doing
	Asks  string
	Since time.Time
}

// And returns a with Doing, Asks and Since of c, if c has not ended and ranks higher: asking, then work, then rest.
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

// Standing is the state of a list, and the question of its agent.
type Standing struct {
	State State     `json:"state"`
	Asks  string    `json:"asks,omitempty"` // the agent's question to a person, if State is [Waiting] because of it
	Since time.Time `json:"since,omitzero"` // when the agent began to ask
}

// Stands returns the list's standing at the time now; the parameter a sums up the list's agents.
func (s Snapshot) Stands(a Agent, now time.Time) Standing {
	st := Standing{State: s.State(a, now)}
	if st.State == Waiting && a.Asks != "" {
		st.Asks, st.Since = a.Asks, a.Since
	}
	return st
}

// ChatKey returns the key of a chat, made from the host's own id of the chat.
func ChatKey(id string) string { return "chat:" + HostID(id) }

// AgentKey returns the key of a sub-agent, made from the main agent's key and the sub-agent's id.
func AgentKey(main, agent string) string { return main + "/agent:" + HostID(agent) }

// AgentName returns a sub-agent's name in the form that lists store: valid UTF-8 of at most 64 runes.
func AgentName(agent string) string { return Cut(strings.ToValidUTF8(agent, "?"), 64) }

// HostID returns a client's id unchanged if it has at most 128 bytes, all visible ASCII, else its digest.
func HostID(id string) string {
	if len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return id
	}
	return Digest(id)
}

// Digest returns half of the text's SHA-256 in hexadecimal, 32 characters.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// A chat's id begins with chatPrefix, or with severalPrefix if several chats may share the key that it is made from.
const chatPrefix, severalPrefix = "chat-", "chats-"

// ChatID returns the id of a user's chat: a digest of the chat's first key, or the key itself if that is a chat's id.
func ChatID(principal, user, key string, isSeveral bool) string {
	if IsChatID(key) {
		return key
	}
	id := Digest(principal + "\x00" + user + "\x00" + key)
	if isSeveral {
		return severalPrefix + id
	}
	return chatPrefix + id
}

// IsChatID reports whether a key is the id of a chat. No key of a client begins with the prefixes of such ids.
func IsChatID(key string) bool { return strings.HasPrefix(key, chatPrefix) || IsSeveral(key) }

// IsSeveral reports whether a chat's id was made from a key that several chats may share.
func IsSeveral(id string) bool { return strings.HasPrefix(id, severalPrefix) }

// PersonChat stands for all people, both as the chat that has seen a list and as the author of changes.
const PersonChat = "person"
