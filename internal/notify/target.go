package notify

import (
	"encoding/base64"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// receiver is a kind of service that receives notices.
type receiver struct {
	name, title string                            // in an address, and for people
	known       []string                          // the beginnings, host and path, of its addresses
	body        func(n *Notice, topic string) any // returns what is sent, as JSON
}

// receivers are the kinds. The last one is that of all other addresses.
var receivers = []receiver{
	{"ntfy", "ntfy", []string{"ntfy.sh/"}, func(n *Notice, topic string) any {
		form := forms[n.Event]
		return map[string]any{"topic": topic, "title": form.head, "message": strings.Join(n.lines(strings.Clone), "\n"),
			"priority": form.priority, "tags": []string{form.tag}, "click": n.URL}
	}},
	{"slack", "Slack", []string{"hooks.slack.com/"}, func(n *Notice, _ string) any {
		return map[string]any{"text": n.chat("*", slackCode), "unfurl_links": false, "unfurl_media": false}
	}},
	{"discord", "Discord", []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
		"ptb.discord.com/api/webhooks/", "canary.discord.com/api/webhooks/"}, func(n *Notice, _ string) any {
		return map[string]any{"content": n.chat("**", code), "allowed_mentions": map[string]any{"parse": []string{}}}
	}},
	{webhook, "webhook", []string{""}, func(n *Notice, _ string) any {
		what := "list." + n.Event
		if n.List == "" {
			what = n.Event
		}
		return struct {
			Type string    `json:"type"`
			Time time.Time `json:"timestamp"`
			Data *Notice   `json:"data"`
		}{what, n.Time.UTC(), n}
	}},
}

// webhook is the name of the kind whose events have the form of Standard Webhooks.
const webhook = "webhook"

// Target is an address at which notices are received. It is a secret: who knows it can write there.
type Target struct {
	receiver
	url   string // with the user and password of the address
	host  string
	topic string // of ntfy
	key   []byte // signs the events of a plain webhook; nil for none
}

// String names the kind and the host, without secrets.
func (t Target) String() string { return t.title + " at " + t.host }

// errTarget says what an address may be. It does not quote the address, which is a secret.
var errTarget = errors.New("must be addresses with commas: ntfy://ntfy.sh/TOPIC, that of an incoming webhook of Slack or Discord, " +
	"or another https:// one, with #whsec_… for a secret that signs; slack+https:// and discord+https:// say what a host of your own is")

// Parse reads an address; the error says what is allowed.
func Parse(text string) (t Target, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return t, errTarget // the error of url.Parse quotes the address
	}
	name, scheme, isNamed := strings.Cut(u.Scheme, "+")
	if u.Scheme == "ntfy" {
		scheme, isNamed = "https", true
	} else if !isNamed {
		scheme = u.Scheme
	}
	place := strings.ToLower(u.Hostname()) + u.Path
	i := slices.IndexFunc(receivers, func(r receiver) bool {
		if isNamed {
			return r.name == name
		}
		return slices.ContainsFunc(r.known, func(begin string) bool { return strings.HasPrefix(place, begin) })
	})
	if i < 0 || scheme != "https" && scheme != "http" {
		return t, errTarget
	}
	t.receiver, t.host, u.Scheme = receivers[i], u.Host, scheme
	if u.Fragment != "" {
		secret, ok := strings.CutPrefix(u.Fragment, "whsec_")
		t.key, err = base64.StdEncoding.DecodeString(secret)
		if !ok || err != nil || len(t.key) < 16 || t.name != webhook {
			return t, errTarget
		}
		u.Fragment = ""
	}
	if t.name == "ntfy" {
		t.topic, u.Path = strings.TrimPrefix(u.Path, "/"), "/"
		if !topicForm.MatchString(t.topic) || u.RawQuery != "" {
			return t, errTarget
		}
	}
	t.url = u.String()
	return t, nil
}

var topicForm = regexp.MustCompile(`^[-_0-9A-Za-z]{1,64}$`)
