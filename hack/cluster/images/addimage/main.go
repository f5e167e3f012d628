// Command addimage adds an image of one layer, made of a folder, to an OCI image layout.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	log.SetFlags(0)
	target := flag.String("layout", "", "the image layout's folder; made when it does not exist")
	name := flag.String("name", "", "the image's name, for example library/busybox:1.36")
	root := flag.String("root", "", "the folder that becomes the image's root; its files belong to whom they belong on disk")
	config := flag.String("config", "{}", `the image's configuration as JSON, for example {"Entrypoint":["/pause"]}`)
	flag.Parse()

	image, err := build(*root, *config)
	if err != nil {
		log.Fatalf("image %s: %v", *name, err)
	}
	if err := add(*target, *name, image); err != nil {
		log.Fatalf("adding image %s to %s: %v", *name, *target, err)
	}
}

func build(root, config string) (v1.Image, error) {
	file := &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH}
	if err := json.Unmarshal([]byte(config), &file.Config); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.AddFS(os.DirFS(root)); err != nil {
		return nil, fmt.Errorf("packing %s: %w", root, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing %s: %w", root, err)
	}
	image, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), file)
	if err != nil {
		return nil, fmt.Errorf("setting the configuration: %w", err)
	}
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	// Not compressed: it never leaves this machine, and nodes unpack it faster.
	return mutate.AppendLayers(image, static.NewLayer(layer.Bytes(), types.OCIUncompressedLayer))
}

func add(target, name string, image v1.Image) error {
	path, err := layout.FromPath(target)
	if err != nil {
		if path, err = layout.Write(target, empty.Index); err != nil {
			return err
		}
	}
	return path.AppendImage(image, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": name}))
}
