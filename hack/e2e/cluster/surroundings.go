package cluster

import (
	"cmp"
	"os"
	"strings"
)

// surroundings are what differs from cluster to cluster: images and a storage class, by the names that the pipelines
// and expectations use, with the environment variables that replace them.
var surroundings = map[string]string{
	"busybox:1.36":              "BUSYBOX_IMAGE",
	"test/busybox-nonroot:1.36": "NONROOT_IMAGE",
	"test/plugin:1":             "PLUGIN_IMAGE",
	"drone/git:latest":          "CLONE_IMAGE",
	"class-for-many-nodes":      "SHARED_STORAGE_CLASS",
}

// Surrounded replaces the names of images and of the storage class in a text by those of this cluster.
func Surrounded(text []byte) []byte {
	var pairs []string
	for name, variable := range surroundings {
		pairs = append(pairs, name, Setting(variable, name))
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(text)))
}

// Setting is an environment variable, or the default. The storage class has the local cluster's name by default.
func Setting(variable, otherwise string) string {
	if variable == "SHARED_STORAGE_CLASS" {
		otherwise = "shared"
	}
	return cmp.Or(os.Getenv(variable), otherwise)
}
