package install

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what hooks of a client are for. A person chooses by kinds.
type Kind = string

// The kinds.
const (
	Mirror  Kind = "mirror"
	Calls   Kind = "calls"
	Remind  Kind = "remind"
	Edits   Kind = "edits"
	Waiting Kind = "waiting"
	Finish  Kind = "finish"
	Wake    Kind = "wake"
)

// Kinds returns the default kinds, which only tell and show. [Finish] and [Wake] make an agent go on.
func Kinds() []Kind { return []Kind{Mirror, Calls, Remind, Edits, Waiting} }

// AllKinds returns every kind.
func AllKinds() []Kind { return append(Kinds(), Finish, Wake) }

// About says what hooks of a kind do; empty for an unknown kind.
func About(k Kind) string {
	return map[Kind]string{
		Mirror:  "the list of the client's own todo tool stands on the board beside the others",
		Calls:   "whose list a call of our tool is, is certain: also after /clear, and of sub-agents",
		Remind:  "the agent is told of its open list after a compaction, and as a chat goes on",
		Edits:   "the agent is told of your edits with its next step, not with its next write",
		Waiting: "a list shows what its agent asks you, until that goes on; comes with edits, and they with it",
		Finish:  "an agent that stops with open items is told of them once, and goes on",
		Wake:    "an agent at rest goes on when you give it something to do; comes with waiting",
	}[k]
}

// HookCost says what a hook costs.
const HookCost = "A hook costs a process, for which the client waits some 30 ms. What comes often is in Claude Code a call of the server, in 3 ms."

// ParseKinds returns the kinds of a text: names with commas between them, all, or none, which is empty but not
// nil.
func ParseKinds(text string) ([]Kind, error) {
	kinds := []Kind{}
	for name := range strings.SplitSeq(text, ",") {
		switch k := strings.TrimSpace(name); {
		case k == "all":
			kinds = append(kinds, Kinds()...)
		case About(k) != "":
			kinds = append(kinds, k)
		case text != "none":
			return nil, fmt.Errorf("there is no kind of hooks %q; there are %s; all, which is these without %s and %s; and none",
				name, strings.Join(AllKinds(), ", "), Finish, Wake)
		}
	}
	return kinds, nil
}

// chosen returns those of kinds that a client can run, and those that come with them. Edits and Waiting come
// with each other and with Wake, since the same hooks say that an agent works and that its turn ended. A kind
// also comes if a chosen one runs its hook for all tools anyway.
func (s *hookSetup) chosen(kinds []Kind) (all []Kind) {
	if s == nil {
		return nil
	}
	if slices.ContainsFunc(kinds, func(k Kind) bool { return k == Edits || k == Waiting || k == Wake }) {
		kinds = append(slices.Clip(kinds), Edits, Waiting)
	}
	for _, k := range AllKinds() {
		i := slices.IndexFunc(s.entries, func(e hookEntry) bool { return e.kind == k })
		if i < 0 {
			continue
		}
		first := s.entries[i]
		runsAnyway := first.matcher != "" && slices.ContainsFunc(s.entries, func(e hookEntry) bool {
			return e.event == first.event && e.matcher == "" && slices.Contains(kinds, e.kind)
		})
		if slices.Contains(kinds, k) || runsAnyway {
			all = append(all, k)
		}
	}
	return all
}

// hooks returns the hooks for chosen kinds, one for each event, and that of [Wake].
func (s *hookSetup) hooks(kinds []Kind) (all []hookEntry) {
	for _, e := range s.entries {
		if len(kinds) == 0 || e.kind != "" && !slices.Contains(kinds, e.kind) {
			continue
		}
		i := slices.IndexFunc(all, func(of hookEntry) bool { return of.event == e.event && e.kind != Wake && of.kind != Wake })
		if i < 0 {
			all = append(all, e)
			continue
		}
		all[i].matcher = union(all[i].matcher, e.matcher)
		if e.kind == Finish {
			all[i].kind = Finish
		}
	}
	return all
}

// union returns a matcher for what either of two matches.
func union(a, b string) string {
	if a == "" || b == "" {
		return ""
	}
	for part := range strings.SplitSeq(b, "|") {
		if !slices.Contains(strings.Split(a, "|"), part) {
			a += "|" + part
		}
	}
	return a
}

// running returns the kinds of which the file has all hooks.
func (h hookFile) running(places []place) (all []Kind) {
	if h.isPlugin() {
		return h.chosen(pluginKinds(h.root))
	}
	for _, k := range h.chosen(AllKinds()) {
		lacks := slices.ContainsFunc(h.entries, func(e hookEntry) bool {
			return e.kind == k && !slices.ContainsFunc(places, func(p place) bool { return p.serves(e) })
		})
		if !lacks {
			all = append(all, k)
		}
	}
	return all
}

// serves reports whether the hook does what an entry needs. It compares only the first part of the matcher, since
// newer versions may add parts.
func (p place) serves(e hookEntry) bool {
	first, _, _ := strings.Cut(e.matcher, "|")
	matches := p.matcher == "" || e.matcher != "" && slices.Contains(strings.Split(p.matcher, "|"), first)
	finishes := strings.Contains(p.command, finishFlag) || strings.HasSuffix(p.command, finishQuery)
	return p.event == e.event && matches && (e.kind != Finish || finishes) && (e.kind == Wake) == strings.Contains(p.command, wakeFlag)
}
