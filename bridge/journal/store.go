package journal

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

var (
	// ErrExists is returned for a stage that has an entry.
	ErrExists = errors.New("the stage has an entry")
	// ErrStale is returned when somebody else has written or removed the entry since it was read.
	ErrStale = errors.New("the entry was changed by another replica")
)

// Store writes entries. They are read from an informer.
type Store struct{ client clientv1.ConfigMapInterface }

// NewStore returns a store for the ConfigMaps of one namespace.
func NewStore(client clientv1.ConfigMapInterface) *Store { return &Store{client} }

// Add makes the entry of a stage.
func (s *Store) Add(ctx context.Context, e *Entry) error {
	object, err := e.encode()
	if err != nil {
		return err
	}
	made, err := s.client.Create(ctx, object, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return ErrExists
	case err != nil:
		return fmt.Errorf("writing down stage %d: %w", e.StageID, err)
	}
	e.object = made
	return nil
}

// Save writes an entry that was read or added before.
func (s *Store) Save(ctx context.Context, e *Entry) error {
	object, err := e.encode()
	if err != nil {
		return err
	}
	saved, err := s.client.Update(ctx, object, metav1.UpdateOptions{})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", ErrStale, err)
	case err != nil:
		return fmt.Errorf("writing down stage %d: %w", e.StageID, err)
	}
	e.object = saved
	return nil
}

// Get reads the entry of a stage past any cache; nil where there is none.
func (s *Store) Get(ctx context.Context, stageID int64) (*Entry, error) {
	object, err := s.client.Get(ctx, Name(stageID), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the entry of stage %d: %w", stageID, err)
	}
	return Decode(object)
}

// Remove removes an entry.
func (s *Store) Remove(ctx context.Context, e *Entry) error {
	err := s.client.Delete(ctx, Name(e.StageID), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing the entry of stage %d: %w", e.StageID, err)
	}
	return nil
}
