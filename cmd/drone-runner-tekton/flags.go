package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/drone/drone-yaml/yaml"
	"k8s.io/apimachinery/pkg/api/resource"
)

// choice is a flag that takes one of a few words.
type choice[T ~string] struct {
	value   *T
	allowed []T
}

func (c choice[T]) String() string {
	if c.value == nil {
		return ""
	}
	return string(*c.value)
}
func (c choice[T]) Type() string { return "string" }
func (c choice[T]) Set(s string) error {
	if i := slices.Index(c.allowed, T(s)); i >= 0 {
		*c.value = c.allowed[i]
		return nil
	}
	return fmt.Errorf("must be one of %s", strings.Join(c.words(), ", "))
}
func (c choice[T]) words() []string {
	var words []string
	for _, a := range c.allowed {
		words = append(words, string(a))
	}
	return words
}

// slug is a flag that takes the name of a repository with its owner.
type slug struct{ value *string }

func (r slug) String() string {
	if r.value == nil {
		return ""
	}
	return *r.value
}
func (slug) Type() string { return "string" }
func (r slug) Set(s string) error {
	if owner, name := path.Split(s); owner == "" || owner == "/" || name == "" {
		return errors.New("must be OWNER/NAME, such as octocat/hello-world")
	}
	*r.value = s
	return nil
}

// span is a flag that takes a time that passes.
type span struct{ value *time.Duration }

func (d span) String() string {
	if d.value == nil || *d.value == 0 {
		return ""
	}
	return d.value.String()
}
func (span) Type() string { return "duration" }
func (d span) Set(s string) error {
	value, err := time.ParseDuration(s)
	if err != nil || value <= 0 {
		return errors.New("must be a time such as 90m or 2h30m")
	}
	*d.value = value
	return nil
}

// quantity is a flag that takes an amount as Kubernetes writes it.
type quantity struct{ value *string }

func (q quantity) String() string {
	if q.value == nil {
		return ""
	}
	return *q.value
}
func (quantity) Type() string { return "quantity" }
func (q quantity) Set(s string) error {
	amount, err := resource.ParseQuantity(s)
	if err != nil || amount.Sign() <= 0 {
		return fmt.Errorf("must be an amount such as 500Mi or 10Gi")
	}
	*q.value = s
	return nil
}

// millicores is a flag that takes an amount of CPU as Kubernetes writes it, kept in thousandths of a core.
type millicores struct{ value *int64 }

func (m millicores) String() string {
	if m.value == nil || *m.value == 0 {
		return ""
	}
	return resource.NewMilliQuantity(*m.value, resource.DecimalSI).String()
}
func (millicores) Type() string { return "quantity" }
func (m millicores) Set(s string) error {
	q, err := resource.ParseQuantity(s)
	if err != nil || q.Sign() <= 0 {
		return errors.New("must be an amount such as 500m or 2")
	}
	*m.value = q.MilliValue()
	return nil
}

// bytes is a flag that takes an amount of memory as Kubernetes writes it.
type bytes struct{ value *yaml.BytesSize }

func (b bytes) String() string {
	if b.value == nil || *b.value == 0 {
		return ""
	}
	return resource.NewQuantity(int64(*b.value), resource.BinarySI).String()
}
func (bytes) Type() string { return "quantity" }
func (b bytes) Set(s string) error {
	q, err := resource.ParseQuantity(s)
	if err != nil || q.Sign() <= 0 {
		return errors.New("must be an amount such as 512Mi or 2Gi")
	}
	*b.value = yaml.BytesSize(q.Value())
	return nil
}
