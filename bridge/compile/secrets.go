package compile

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	api "github.com/drone/drone-go/drone"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// Secrets finds secrets outside the Drone server.
type Secrets interface {
	// Find returns a secret, or nil where there is none.
	Find(ctx context.Context, q SecretQuery) (*api.Secret, error)
}

// SecretQuery asks for a secret.
type SecretQuery struct {
	Name  string        // as the pipeline has it
	Get   *drone.Secret // the document of kind: secret of that name that tells where to get it; nil if there is none
	Repo  *api.Repo
	Build *api.Build
}

// finder finds the secrets of one stage, in Drone's order: what the server sent, what the file holds encrypted, and then
// the runner's own and the extension.
type finder struct {
	chain     Secrets
	details   *rpc.Details
	documents []*drone.Secret
}

// find returns the value of a secret. A secret that is not found, or that the build may not see, is empty and no error, as
// in Drone; so is one that cannot be had because its place does not answer, for which there is a warning.
func (f *finder) find(ctx context.Context, name string) (value string, warning error) {
	pull := f.details.Build.Event == api.EventPullRequest
	for _, s := range f.details.Secrets {
		if strings.EqualFold(s.Name, name) && s.Data != "" && (!pull || s.PullRequest) {
			return s.Data, nil
		}
	}
	var get *drone.Secret
	for _, doc := range f.documents {
		switch {
		case doc.Name != name:
		case doc.Data != "":
			value, err := f.decrypt(doc)
			if err != nil || value != "" {
				return value, err
			}
		case get == nil && (doc.Get.Path != "" || doc.Get.Name != ""):
			get = doc
		}
	}
	if f.chain == nil {
		return "", nil
	}
	s, err := f.chain.Find(ctx, SecretQuery{Name: name, Get: get, Repo: f.details.Repo, Build: f.details.Build})
	if err != nil {
		return "", fmt.Errorf("looking for the secret %s: %w", name, err)
	}
	if s == nil || pull && !s.PullRequest {
		return "", nil
	}
	return s.Data, nil
}

// decrypt reads a secret that the file holds: base64 of nonce and AES-GCM ciphertext under the repository's key. A pull
// request could otherwise print it, so Drone keeps it from those to public repositories that come from a fork.
func (f *finder) decrypt(doc *drone.Secret) (string, error) {
	d := f.details
	if !d.Repo.Private && d.Build.Event == api.EventPullRequest && d.Build.Fork != "" {
		return "", nil
	}
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("%s: decrypting the secret %s: %w", doc.At("data"), doc.Name, err)
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(doc.Data), ""))
	if err != nil {
		return fail(err)
	}
	block, err := aes.NewCipher([]byte(d.Repo.Secret))
	if err != nil {
		return fail(errors.New("the server sent no key of 32 bytes for the repository"))
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return fail(err)
	}
	if len(data) < gcm.NonceSize() {
		return fail(errors.New("it is too short"))
	}
	text, err := gcm.Open(nil, data[:gcm.NonceSize()], data[gcm.NonceSize():], nil)
	if err != nil {
		return fail(errors.New("it was encrypted for another repository, or is damaged"))
	}
	return string(text), nil
}

// addSecrets finds the values of all from_secret, and makes the Secrets that hold them and the credentials for cloning.
func (w *Work) addSecrets(ctx context.Context, f *finder, netrc *api.Netrc, o translate.Options) error {
	data := map[string][]byte{}
	for _, use := range w.Bundle.Secrets {
		value, warning := f.find(ctx, use.Name)
		if err := ctx.Err(); err != nil {
			return err
		}
		if warning != nil {
			w.warn(warning)
		}
		data[use.Key] = []byte(value)
		w.Values = append(w.Values, value)
	}
	if len(data) > 0 {
		w.Secrets = append(w.Secrets, w.secret(o.SecretName, corev1.SecretTypeOpaque, data))
	}
	if o.Netrc == "" {
		return nil
	}
	w.Values = append(w.Values, netrc.Password)
	if netrc.Login != "" {
		w.Values = append(w.Values, netrc.Login)
	}
	w.Secrets = append(w.Secrets, w.secret(o.Netrc, corev1.SecretTypeOpaque, map[string][]byte{
		translate.NetrcMachine:  []byte(netrc.Machine),
		translate.NetrcUsername: []byte(netrc.Login),
		translate.NetrcPassword: []byte(netrc.Password),
		translate.NetrcFile:     []byte(fmt.Sprintf("machine %s login %s password %s", netrc.Machine, netrc.Login, netrc.Password)),
	}))
	return nil
}

func (w *Work) secret(name string, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace}, Type: kind, Data: data,
	}
}
