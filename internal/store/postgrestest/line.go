package postgrestest

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
)

// Line passes connections on to a server, and can cut and hold them, as a network does.
type Line struct {
	server   *Server
	listener net.Listener
	passing  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	held  chan struct{} // closed by Release; nil unless held
}

// NewLine makes a line that listens on a port of this machine and leads to a server. The caller closes the line.
func NewLine(s *Server) (*Line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Line{server: s, listener: listener, conns: make(map[net.Conn]struct{})}
	l.passing.Go(l.accept)
	return l, nil
}

// Through returns an address that leads, through the line, to the database at address.
func (l *Line) Through(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("postgres://todo@%s%s?sslmode=disable", l.listener.Addr(), u.Path), nil
}

// Cut ends all connections at once.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		conn.Close()
	}
	clear(l.conns)
}

// Hold lets no byte through until Release; connections stay open.
func (l *Line) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = make(chan struct{})
}

// Release ends Hold. The held bytes then arrive.
func (l *Line) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

// Close ends the line and its connections.
func (l *Line) Close() {
	l.listener.Close()
	l.Release()
	l.Cut()
	l.passing.Wait()
}

func (l *Line) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("unix", l.server.Socket())
		if err != nil {
			from.Close()
			continue
		}
		l.mu.Lock()
		l.conns[from], l.conns[to] = struct{}{}, struct{}{}
		l.mu.Unlock()
		l.passing.Go(func() { l.pass(from, to) })
		l.passing.Go(func() { l.pass(to, from) })
	}
}

// pass copies bytes from one connection to the other, and closes both when either ends.
func (l *Line) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	_, _ = io.Copy(gate{to, l}, from)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, from)
}

// gate writes to a connection. While the line is held, its writes wait.
type gate struct {
	net.Conn
	line *Line
}

// Write implements io.Writer.
func (g gate) Write(p []byte) (int, error) {
	g.line.mu.Lock()
	held := g.line.held
	g.line.mu.Unlock()
	if held != nil {
		<-held
	}
	return g.Conn.Write(p)
}
