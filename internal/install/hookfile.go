package install

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"todo-mcp/internal/document"
	"todo-mcp/internal/hook"
)

// hookFile is a client's file with hooks, as it is edited.
type hookFile struct {
	setup    hook.Setup
	machine  Machine
	commands hookCommands
	data     []byte
}

const (
	hooksKey      = "hooks"
	statusLineKey = "statusLine"
	// hookName is that of the command that hooks run.
	hookName = "hook"
)

// place is where a hook of this program stands.
type place struct {
	group, hook int  // the item of the array of its event, and the one of the array in that
	alone       bool // it has no others in its group
	command     string
	matcher     string
}

// find returns where the hooks of this program for an event stand, and how many items
// the array of the event has.
func (h *hookFile) find(event string) (places []place, length int, err error) {
	all, err := document.JSON.Object(h.data, hooksKey)
	if err != nil {
		return nil, 0, err
	}
	groups, _ := all[event].([]any)
	for g, value := range groups {
		group, _ := value.(map[string]any)
		inner := []any{group}
		if !h.setup.Flat {
			inner, _ = group[hooksKey].([]any)
		}
		for i, value := range inner {
			entry, _ := value.(map[string]any)
			text, _ := entry["command"].(string)
			if !h.isOurs(text) {
				continue
			}
			matcher, _ := group["matcher"].(string)
			places = append(places, place{group: g, hook: i, alone: len(inner) == 1, command: text, matcher: matcher})
		}
	}
	return places, len(groups), nil
}

// isOurs reports whether a command is that of a hook of this program.
func (h *hookFile) isOurs(command string) bool {
	c, ours := h.machine.readCommand(command)
	return ours && (c.args == hookName || strings.HasPrefix(c.args, hookName+" "))
}

// path returns the path of a hook.
func (h *hookFile) path(event string, p place) document.Path {
	path := document.Path{hooksKey, event, p.group}
	if !h.setup.Flat {
		path = append(path, hooksKey, p.hook)
	}
	return path
}

// isThere reports whether there is any hook of this program, or its plugin.
func (h *hookFile) isThere() (bool, error) {
	if h.setup.Entries == nil {
		_, ours := hook.ReadPlugin(string(h.data))
		return ours, nil
	}
	all, err := document.JSON.Object(h.data, hooksKey)
	for event := range all {
		if places, _, _ := h.find(event); len(places) > 0 {
			return true, nil
		}
	}
	return false, err
}

// isAny reports whether there is anything of this program.
func (h *hookFile) isAny() bool {
	there, _ := h.isThere()
	_, _, line, _ := h.statusLine()
	return there || line
}

// remove removes the hooks of this program for all events, but for one of each event
// that is wanted, whose matcher can be set without another's hook being run by it.
func (h *hookFile) remove(wanted []hook.Entry) error {
	all, err := document.JSON.Object(h.data, hooksKey)
	for _, event := range slices.Sorted(maps.Keys(all)) {
		keeps := func(place) bool { return false }
		if i := slices.IndexFunc(wanted, func(e hook.Entry) bool { return e.Event == event }); i >= 0 {
			keeps = func(p place) bool { return p.alone || isMatcher(p.matcher, wanted[i].Matcher) }
		}
		for err == nil {
			var places []place
			if places, _, err = h.find(event); err != nil {
				break
			}
			kept := slices.IndexFunc(places, keeps)
			last := len(places) - 1
			if last == kept {
				last--
			}
			if last < 0 {
				break
			}
			path := h.path(event, places[last])
			if places[last].alone {
				path = path[:3] // the whole group
			}
			h.data, err = document.JSON.Remove(h.data, path)
		}
	}
	return err
}

// isMatcher reports whether two matchers are the same: * is all, as is none.
func isMatcher(a, b string) bool { return a == b || a+b == "*" }

// install adds the hooks that are missing and brings the others up to date.
func (h *hookFile) install() error {
	if h.setup.Entries == nil {
		return h.installPlugin()
	}
	if err := h.remove(h.setup.Entries); err != nil {
		return err
	}
	if root, err := document.JSON.Object(h.data); err != nil {
		return err
	} else if h.setup.Version != 0 && root["version"] == nil {
		if err := h.set(document.Path{}, document.Field{Key: "version", Value: h.setup.Version}); err != nil {
			return err
		}
	}
	for _, e := range h.setup.Entries {
		if err := h.add(e); err != nil {
			return err
		}
	}
	return nil
}

// installPlugin makes the plugin, or brings it up to date.
func (h *hookFile) installPlugin() error {
	command, ours := hook.ReadPlugin(string(h.data))
	if len(h.data) > 0 && !ours {
		return errors.New("this is another plugin, which stays")
	}
	h.data = []byte(hook.Plugin(h.commands.make([]string{hookName}, command)))
	return nil
}

// uninstall removes the hooks, the status line or the plugin of this program.
func (h *hookFile) uninstall() error {
	if h.setup.Entries != nil {
		return errors.Join(h.remove(nil), h.removeStatusLine())
	}
	if there, _ := h.isThere(); there {
		h.data = nil
	}
	return nil
}

func (h *hookFile) set(path document.Path, fields ...document.Field) (err error) {
	h.data, err = document.JSON.Set(h.data, path, fields)
	return err
}

// add sets the hook for an event, of which there is one at most.
func (h *hookFile) add(e hook.Entry) error {
	places, length, err := h.find(e.Event)
	if err != nil {
		return err
	}
	at := place{group: length}
	if len(places) > 0 {
		at = places[0]
	}
	if !isMatcher(at.matcher, e.Matcher) {
		matcher := document.Field{Key: "matcher"}
		if e.Matcher != "" {
			matcher.Value = e.Matcher
		}
		if err := h.set(document.Path{hooksKey, e.Event, at.group}, matcher); err != nil {
			return err
		}
	}
	fields := []document.Field{{Key: "command", Value: h.commands.make([]string{hookName}, at.command)}}
	if len(places) == 0 {
		if !h.setup.Flat {
			fields = slices.Insert(fields, 0, document.Field{Key: "type", Value: "command"})
		}
		fields = append(fields, document.Field{Key: "timeout", Value: h.setup.Timeout})
	}
	return h.set(h.path(e.Event, at), fields...)
}

// statusLine returns the command of the status line, whether there is one, and whether
// it is this program's.
func (h *hookFile) statusLine() (command string, there, ours bool, err error) {
	line, err := document.JSON.Object(h.data, statusLineKey)
	command, _ = line["command"].(string)
	c, ours := h.machine.readCommand(command)
	return command, line != nil, ours && strings.HasPrefix(c.args, "show "), err
}

// setStatusLine sets the status line of a client that has one. It reports whether there
// is another one, which stays.
func (h *hookFile) setStatusLine() (another bool, err error) {
	if h.setup.StatusLine == "" {
		return false, nil
	}
	command, there, ours, err := h.statusLine()
	if err != nil || there && !ours {
		return there && !ours, err
	}
	return false, h.set(document.Path{statusLineKey}, document.Field{Key: "type", Value: "command"},
		document.Field{Key: "command", Value: h.commands.make(strings.Fields(h.setup.StatusLine), command)})
}

// removeStatusLine removes the status line if it is this program's.
func (h *hookFile) removeStatusLine() error {
	_, _, ours, err := h.statusLine()
	if err == nil && ours {
		h.data, err = document.JSON.Remove(h.data, document.Path{statusLineKey})
	}
	return err
}

// hasPlugin reports whether the client has a plugin of this program turned on.
func (h *hookFile) hasPlugin() bool {
	enabled, _ := document.JSON.Object(h.data, "enabledPlugins")
	for name, on := range enabled {
		if strings.HasPrefix(name, programName+"@") && on == true {
			return true
		}
	}
	return false
}

// isBare reports whether nothing is left in the file but what every one has.
func (h *hookFile) isBare() bool {
	data := h.data
	if h.setup.Entries == nil {
		return len(data) == 0
	}
	if h.setup.Version != 0 {
		data, _ = document.JSON.Set(data, nil, []document.Field{{Key: "version"}})
	}
	return document.JSON.IsEmpty(data)
}

// words returns what may be shown of the file: what this program writes. The place of
// the lists may have a password in it.
func (h *hookFile) words(o Options) (words []string) {
	isGiven := o.Args != nil || len(h.commands.store) == 0
	if h.setup.Entries == nil {
		command := ""
		if isGiven {
			command = h.commands.make([]string{hookName}, "")
		}
		for _, w := range word.FindAllString(hook.Plugin(command), -1) {
			words = append(words, plainWord(w))
		}
		return words
	}
	words = []string{hooksKey, "matcher", "type", "command", "timeout", "version", statusLineKey, fmt.Sprint(h.setup.Timeout), fmt.Sprint(h.setup.Version)}
	for _, e := range h.setup.Entries {
		words = append(words, e.Event, e.Matcher)
	}
	if isGiven {
		words = append(words, h.commands.make([]string{hookName}, ""), h.commands.make(strings.Fields(h.setup.StatusLine), ""))
	}
	return words
}
