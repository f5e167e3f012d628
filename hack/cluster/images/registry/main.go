// Command registry serves the images of an OCI image layout, and takes those that clients push.
//
// It stands in for Docker Hub in a cluster without a way out: it answers in plain HTTP, in TLS for clients that insist
// on the Hub's name, and on a third address only to those who log in, as a private registry does.
package main

import (
	"context"
	"crypto/subtle"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

var (
	images   = flag.String("layout", "", "the image layout's folder")
	blobs    = flag.String("blobs", "", "where blobs are kept; a copy of the layout's blobs saves their upload")
	plain    = flag.String("address", "", "HOST:PORT for plain HTTP")
	tls      = flag.String("tls-address", "", "HOST:PORT for TLS")
	cert     = flag.String("tls-cert", "", "the certificate's file, PEM")
	key      = flag.String("tls-key", "", "the key's file, PEM")
	private  = flag.String("private-address", "", "HOST:PORT for plain HTTP with a log-in")
	user     = flag.String("user", "", "who may log in")
	password = flag.String("password", "", "the user's password")
)

func main() {
	flag.Parse()

	handler := registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(*blobs)))
	if err := serve(handler); err != nil {
		log.Fatal(err)
	}
}

// serve answers on every address until one of them fails. The one for plain HTTP opens first, for the images to be loaded
// through it; the others open when all are there, so an open TLS port means a complete registry.
func serve(handler http.Handler) error {
	ended := make(chan error)
	listener, err := net.Listen("tcp", *plain)
	if err != nil {
		return err
	}
	go func() { ended <- server(handler).Serve(listener) }()
	if err := load(*images, *plain); err != nil {
		return fmt.Errorf("loading %s: %w", *images, err)
	}
	for address, start := range map[string]func(net.Listener) error{
		*tls:     func(l net.Listener) error { return server(handler).ServeTLS(l, *cert, *key) },
		*private: server(loggedIn(*user, *password, handler)).Serve,
	} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go func() { ended <- start(listener) }()
	}
	return <-ended
}

func server(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
}

// load pushes every image of the layout to the registry at address.
func load(images, address string) error {
	index, err := layout.ImageIndexFromPath(images)
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, m := range manifest.Manifests {
		ref, err := name.ParseReference(address+"/"+m.Annotations["org.opencontainers.image.ref.name"], name.Insecure)
		if err != nil {
			return err
		}
		image, err := index.Image(m.Digest)
		if err != nil {
			return err
		}
		if err := push(ref, image); err != nil {
			return fmt.Errorf("pushing %s: %w", ref, err)
		}
	}
	return nil
}

func push(ref name.Reference, image remote.Taggable) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pusher, err := remote.NewPusher()
	if err != nil {
		return err
	}
	return pusher.Push(ctx, ref, image)
}

func loggedIn(user, password string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, p, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(u+":"+p), []byte(user+":"+password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			http.Error(w, "log in first", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
