package run

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/mdp/qrterminal/v3"

	"todo-mcp/server/auth"
)

// joinNetwork makes the service one at an address in this machine's network, in place of
// the machine's own, for who has a token that is valid until the process ends.
func (a *service) joinNetwork(ip netip.Addr) {
	_, port, _ := net.SplitHostPort(a.Addr)
	a.Addr = net.JoinHostPort(ip.String(), port)
	a.lan = auth.NewTokens("")
	a.phone = a.lan.Add(auth.Token{Name: "phone", Scopes: []string{auth.ScopeRead, auth.ScopeWrite}})
}

// greetPhone prints the address that signs in, also as a QR code.
func (a *service) greetPhone(addr net.Addr) {
	url := Scheme(a.App) + "://" + addr.String() + "/signin#" + a.phone
	fmt.Fprintf(a.Stdout, "\nOn your phone in this network, until this process ends:\n\n  %s\n\n", url)
	qrterminal.GenerateHalfBlock(url, qrterminal.L, a.Stdout)
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
