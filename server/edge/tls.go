package edge

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is one in two files, which whoever renews it replaces.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	of      [2]time.Time // when the files of current were changed
	checked time.Time
}

// certificateAge is for how long the files are not looked at again.
const certificateAge = time.Second

// LoadCertificate returns a configuration for TLS with a certificate and its key
// in PEM files. When these change, connections that begin later have the new
// certificate; while the new ones cannot be read, which is logged, they have the
// old one.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}, nil
}

// load reads the files if they have changed.
func (c *certificate) load() error {
	var changed [2]time.Time
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("read certificate: %w", err)
		}
		changed[i] = info.ModTime()
	}
	if changed == c.of {
		return nil
	}
	read, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read certificate: %w", err)
	}
	c.current, c.of = &read, changed
	return nil
}

// get implements [tls.Config.GetCertificate].
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= certificateAge {
		c.checked = now
		if err := c.load(); err != nil {
			c.log.Error("the certificate that was read before is still used", "error", err)
		}
	}
	return c.current, nil
}
