package notify

import (
	"encoding/base64"
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// kind is a kind of receiver.
type kind string

const (
	ntfy    kind = "ntfy"
	slack   kind = "Slack"
	discord kind = "Discord"
	webhook kind = "webhook"
)

// Target is an address at which notices are received. It is a secret: who knows it can
// write there.
type Target struct {
	kind  kind
	url   string
	host  string
	plain bool   // not over TLS
	topic string // of ntfy
	// user and password are for basic authentication; both are empty for none.
	user, password string
	key            []byte // that signs events of a plain webhook; nil for none
}

// String says what is at the address, without its secrets.
func (t Target) String() string { return string(t.kind) + " at " + t.host }

// errTarget says what an address may be. It does not quote the address.
var errTarget = errors.New("must be addresses with commas: ntfy://ntfy.sh/TOPIC, that of an incoming webhook of Slack or Discord, " +
	"or another https:// one, with #whsec_… for a secret that signs; slack+https:// and discord+https:// say what a host of your own is")

// maxNtfyTopic is how many characters a topic of ntfy may have.
const maxNtfyTopic = 64

var (
	ntfyTopic   = regexp.MustCompile(`^/[-_A-Za-z0-9]+$`)
	discordHost = regexp.MustCompile(`^((ptb|canary)\.)?discord(app)?\.com$`)
)

// Parse reads an address; the error says what is allowed.
func Parse(text string) (t Target, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return t, errTarget // that of url.Parse quotes the address
	}
	what, scheme, named := strings.Cut(u.Scheme, "+")
	switch {
	case what == "ntfy" && !named:
		scheme = "https"
	case !named:
		what, scheme = kindOf(u), what
	}
	t.kind = map[string]kind{"ntfy": ntfy, "slack": slack, "discord": discord, "webhook": webhook}[what]
	t.plain, t.host = scheme == "http", u.Host
	if t.kind == "" || scheme != "https" && scheme != "http" {
		return t, errTarget
	}
	u.Scheme = scheme
	t.user = u.User.Username()
	t.password, _ = u.User.Password()
	err = t.address(u)
	return t, err
}

// kindOf returns what is known to be at an address, a webhook if nothing is.
func kindOf(u *url.URL) string {
	switch host := strings.ToLower(u.Hostname()); {
	case host == "ntfy.sh":
		return "ntfy"
	case host == "hooks.slack.com":
		return "slack"
	case discordHost.MatchString(host) && strings.HasPrefix(u.Path, "/api/webhooks/"):
		return "discord"
	}
	return "webhook"
}

// address sets where to send to, and what is not sent as part of the address.
func (t *Target) address(u *url.URL) (err error) {
	if u.Fragment != "" {
		secret, ok := strings.CutPrefix(u.Fragment, "whsec_")
		t.key, err = base64.StdEncoding.DecodeString(secret)
		if !ok || err != nil || len(t.key) < 16 || t.kind != webhook {
			return errTarget
		}
	}
	if t.kind == ntfy {
		if len(u.Path) > len("/")+maxNtfyTopic || !ntfyTopic.MatchString(u.Path) || u.RawQuery != "" {
			return errTarget
		}
		t.topic, u.Path = u.Path[1:], "/"
	}
	u.User, u.Fragment = nil, ""
	t.url = u.String()
	return nil
}

// Check returns an error if notices to one of the addresses could be read on the way; who
// allows private addresses allows that, too.
func Check(targets []Target, private bool) error {
	for _, t := range targets {
		if t.plain && !private {
			return errors.New("notices to " + t.String() + " would cross the network for all to read: https://, or --notify-private in a network of your own")
		}
	}
	return nil
}
