package edge

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// certificateAge is for how long the files of a certificate are not read again.
const certificateAge = time.Second

// LoadCertificate returns a configuration for TLS with a certificate and its key
// in PEM files. When these change, connections that begin later have the new
// certificate; while the new ones cannot be read, which is logged, they have the
// old one.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	current, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	var mu sync.Mutex
	loaded := time.Now()
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(loaded) >= certificateAge {
			loaded = now
			if renewed, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil {
				current = renewed
			} else {
				log.Error("the certificate that was read before is still used", "error", fmt.Errorf("read certificate: %w", err))
			}
		}
		served := current
		return &served, nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get}, nil
}
