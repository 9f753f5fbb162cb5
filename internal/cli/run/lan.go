package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"github.com/mdp/qrterminal/v3"

	"todo-mcp/server"
	"todo-mcp/server/auth"
	"todo-mcp/server/edge"
	"todo-mcp/server/web"
)

// serveLAN serves the lists of this machine on its network too, to who has a token
// that is valid until the process ends, and prints the address with the token, also
// as a QR code. done ends that, as does ctx.
func (a *service) serveLAN(ctx context.Context, s *server.Server, own net.Addr, ip netip.Addr) (network *edge.Edge, done func(), err error) {
	tcp, ok := own.(*net.TCPAddr)
	if !ok {
		return nil, nil, fmt.Errorf("no port in %s", own)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(ip.String(), strconv.Itoa(tcp.Port)))
	if err != nil {
		return nil, nil, fmt.Errorf("listen on the network: %w", err)
	}
	config := a.webConfig(s)
	config.Tokens, config.Direct = auth.NewTokens(""), true
	text := config.Tokens.Add(auth.Token{Name: "phone", Scopes: []string{auth.ScopeRead, auth.ScopeWrite}})
	if config.TLS, err = LoadTLS(a.App); err != nil {
		return nil, nil, err
	}
	if network, err = web.New(s, config); err != nil {
		return nil, nil, err
	}
	url := Scheme(a.App) + "://" + listener.Addr().String() + "/signin#" + text
	fmt.Fprintf(a.Stdout, "\nOn your phone in this network, until this process ends:\n\n  %s\n\n", url)
	qrterminal.GenerateHalfBlock(url, qrterminal.L, a.Stdout)
	ctx, stop := context.WithCancel(ctx)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := network.Serve(ctx, listener); err != nil {
			a.Logger().Error("the network is not served any more", "error", err)
		}
	})
	return network, func() { stop(); serving.Wait() }, nil
}

// lanAddress returns the address of this machine in a private network, IPv4
// rather than IPv6.
func lanAddress(addresses []net.Addr, err error) (netip.Addr, error) {
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find this machine's network: %w", err)
	}
	var found netip.Addr
	for _, address := range addresses {
		prefix, err := netip.ParsePrefix(address.String())
		if ip := prefix.Addr().Unmap(); err == nil && ip.IsPrivate() && (!found.IsValid() || found.Is6() && ip.Is4()) {
			found = ip
		}
	}
	if !found.IsValid() {
		return found, errors.New("this machine is in no private network")
	}
	return found, nil
}
