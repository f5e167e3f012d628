//go:build e2e

package push

import (
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// proxy passes TCP connections on to the API server, until it is told to break them.
type proxy struct {
	t       *testing.T
	address string
	target  string

	mu       sync.Mutex
	listener net.Listener
	links    map[*link]bool
	hanging  bool
	accepted time.Time // when a connection came last
}

// link is a connection and what it is passed on to. Both are open until the link is cut, even where one end has ended.
type link struct {
	client, server net.Conn
	dead           chan struct{} // closed when nothing passes any more
}

// startProxy starts one to the API server.
func startProxy(t *testing.T) *proxy {
	t.Helper()
	config, err := restConfig()
	if err != nil {
		t.Fatal(err)
	}
	_, target, err := apiServer(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, address: "127.0.0.1:0", target: target, links: map[*link]bool{}}
	p.listen()
	t.Cleanup(p.refuse)
	return p
}

// apiServer is the API server's host, and its address with the port.
func apiServer(config *rest.Config) (host, address string, err error) {
	u, err := url.Parse(config.Host)
	if err != nil || u.Host == "" {
		return "", "", fmt.Errorf("the API server's address %q: %w", config.Host, err)
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return u.Hostname(), net.JoinHostPort(u.Hostname(), port), nil
}

// listen takes connections, at the same address as before.
func (p *proxy) listen() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.listener, p.address = l, l.Addr().String()
	p.mu.Unlock()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // it was closed
			}
			go p.pass(client)
		}
	}()
}

// refuse cuts all connections, and refuses new ones until listen.
func (p *proxy) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener.Close()
	for l := range p.links {
		l.client.Close()
		l.server.Close()
		delete(p.links, l)
	}
}

// hang lets nothing pass any more on the connections that there are, and on those that come until the end of the pause.
// No end is told, and none is ever closed, as where a machine on the way was lost. It tells when it began.
func (p *proxy) hang(pause time.Duration) (begun time.Time) {
	p.mu.Lock()
	p.hanging = true
	for l := range p.links {
		close(l.dead)
		delete(p.links, l) // They stay open.
	}
	p.mu.Unlock()
	begun = time.Now()
	time.Sleep(pause)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hanging = false
	return begun
}

// lastAccepted is when a connection came last.
func (p *proxy) lastAccepted() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

func (p *proxy) pass(client net.Conn) {
	p.mu.Lock()
	p.accepted = time.Now()
	hanging := p.hanging
	p.mu.Unlock()
	if hanging {
		p.t.Cleanup(func() { client.Close() })
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client: client, server: server, dead: make(chan struct{})}
	p.mu.Lock()
	p.links[l] = true
	p.mu.Unlock()
	go l.copy(server, client)
	l.copy(client, server)
}

// copy passes on what comes, and the end of it.
func (l *link) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-l.dead:
			return
		default:
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			to.Close()
			return
		}
	}
}
