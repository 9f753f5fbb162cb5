package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

const (
	// sendTimeout bounds one try, with its answer.
	sendTimeout = 10 * time.Second
	// maxTries is how often a notice is sent at most.
	maxTries = 4
	// maxAnswer is how many bytes of an answer are read, and maxHeader how many its head may have.
	maxAnswer, maxHeader = 4 << 10, 16 << 10
	// maxWaiting is how many notices wait for one receiver.
	maxWaiting = 50
)

// client follows no redirects and keeps no connections.
var client = http.Client{
	Timeout:       sendTimeout,
	Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// sender sends notices to one target, one after the other.
type sender struct {
	Target
	log   *slog.Logger
	queue chan Notice
}

// add queues a notice, or drops it if the queue is full.
func (s *sender) add(n Notice) {
	select {
	case s.queue <- n:
	default:
		s.log.Warn("a notice is dropped: too many wait", "to", s.String(), "list", n.List, "state", n.Event)
	}
}

func (s *sender) run(ctx context.Context) {
	for n := range s.queue {
		if err := s.deliver(ctx, n); err != nil {
			s.log.Warn("a notice was not received", "to", s.String(), "error", err)
		}
	}
}

// deliver sends a notice, and tries again after errors that may pass, in two seconds and then after four times as long.
func (s *sender) deliver(ctx context.Context, n Notice) error {
	for try, wait := 1, 2*time.Second; ; try, wait = try+1, 4*wait {
		passes, err := s.Send(ctx, n)
		if err == nil || !passes || try == maxTries || ctx.Err() != nil {
			return err
		}
		board.Sleep(ctx, wait)
	}
}

// Send tries once to send a notice. Its error has no secret of the target. passes is whether a retry may succeed.
func (t Target) Send(ctx context.Context, n Notice) (passes bool, err error) {
	body, err := json.Marshal(t.body(&n, t.topic))
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return false, errTarget // it would quote the address
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "todo-mcp")
	if t.name == webhook {
		t.sign(req.Header, n.ID, body)
	}
	res, err := client.Do(req)
	if err != nil {
		return true, failure(err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	switch status := res.StatusCode; {
	case status/100 == 2:
		return false, nil
	case status/100 == 3:
		return false, fmt.Errorf("it sends on to another address (%d), which is not followed", status)
	default:
		return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500, fmt.Errorf("it answers %d", status)
	}
}

// sign adds the headers of Standard Webhooks: an id, the time, and with a key a signature.
func (t Target) sign(h http.Header, id string, body []byte) {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", at)
	if t.key != nil {
		mac := hmac.New(sha256.New, t.key)
		fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
		h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
}

// failure returns why no answer came. It hides the HTTP client's error, which quotes the address and the answer.
func failure(err error) error {
	var timeout net.Error
	var code syscall.Errno
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("the program ended before it answered")
	case errors.As(err, new(*net.DNSError)):
		return errors.New("its host is not found")
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return errors.New("its certificate is not valid")
	case errors.As(err, &code):
		return code
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("no answer within %s", sendTimeout)
	}
	return errors.New("it does not answer as a web server does")
}
