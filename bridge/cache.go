package bridge

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/client/clientset/versioned"
	externalversions "github.com/tektoncd/pipeline/pkg/client/informers/externalversions"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/policy"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
)

// Clients reach the cluster.
type Clients struct {
	Kube   kubernetes.Interface
	Tekton versioned.Interface
}

const (
	// byStage is an index of objects by the id of the stage that they belong to.
	byStage = "stage"
	// byPod is an index of events by the namespace and name of the pod that they are about.
	byPod = "pod"
)

// watched mirrors the objects of all stages in memory, and tells when one of them changes.
type watched struct {
	journal  cache.SharedIndexInformer
	runs     []cache.SharedIndexInformer // one for each namespace, as the others
	taskRuns []cache.SharedIndexInformer
	pods     []cache.SharedIndexInformer
	events   []cache.SharedIndexInformer // about pods, anybody's
	start    []func(stop <-chan struct{})
	synced   []cache.InformerSynced
}

// newWatched makes the informers: of the journal in the runner's namespace, of the rest in the namespaces of pipelines, where
// none means all. They ask the server for labelled objects alone, and forget what nobody here looks at.
func newWatched(c Clients, home string, namespaces []string) (*watched, error) {
	w := &watched{}
	f := informers.NewSharedInformerFactoryWithOptions(c.Kube, 0, informers.WithNamespace(home),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = journal.Selector }))
	w.journal = f.Core().V1().ConfigMaps().Informer()
	w.start = append(w.start, f.Start)
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	ours := func(o *metav1.ListOptions) { o.LabelSelector = journal.LabelStageID }
	for _, ns := range namespaces {
		kube := informers.NewSharedInformerFactoryWithOptions(c.Kube, 0, informers.WithNamespace(ns),
			informers.WithTweakListOptions(ours), informers.WithTransform(slim))
		tekton := externalversions.NewSharedInformerFactoryWithOptions(c.Tekton, 0, externalversions.WithNamespace(ns),
			externalversions.WithTweakListOptions(ours), externalversions.WithTransform(slim))
		w.runs = append(w.runs, tekton.Tekton().V1().PipelineRuns().Informer())
		w.taskRuns = append(w.taskRuns, tekton.Tekton().V1().TaskRuns().Informer())
		w.pods = append(w.pods, kube.Core().V1().Pods().Informer())
		about := informers.NewSharedInformerFactoryWithOptions(c.Kube, 0, informers.WithNamespace(ns),
			informers.WithTweakListOptions(aboutPods), informers.WithTransform(slimEvent))
		events := about.Core().V1().Events().Informer()
		if err := events.AddIndexers(cache.Indexers{byPod: podIndex}); err != nil {
			return nil, fmt.Errorf("indexing events by pod: %w", err)
		}
		w.events = append(w.events, events)
		w.synced = append(w.synced, events.HasSynced)
		w.start = append(w.start, kube.Start, tekton.Start, about.Start)
	}
	for _, i := range w.all() {
		if err := i.AddIndexers(cache.Indexers{byStage: stageIndex}); err != nil {
			return nil, fmt.Errorf("indexing objects by stage: %w", err)
		}
		w.synced = append(w.synced, i.HasSynced)
	}
	return w, nil
}

func (w *watched) all() []cache.SharedIndexInformer {
	all := []cache.SharedIndexInformer{w.journal}
	all = append(all, w.runs...)
	all = append(all, w.taskRuns...)
	return append(all, w.pods...)
}

// run fills the mirror, and keeps it up to date until ctx ends.
func (w *watched) run(ctx context.Context) error {
	for _, start := range w.start {
		start(ctx.Done())
	}
	if !cache.WaitForCacheSync(ctx.Done(), w.synced...) {
		return fmt.Errorf("reading the cluster's objects: %w", context.Cause(ctx))
	}
	return nil
}

// onChange has a function called with the id of a stage whenever an object of it changes.
func (w *watched) onChange(f func(stageID int64)) error {
	changed := func(object any) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		if id, ok := stageOf(object); ok {
			f(id)
		}
	}
	for _, i := range w.all() {
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
		})
		if err != nil {
			return fmt.Errorf("watching the cluster: %w", err)
		}
	}
	return nil
}

// onEvent has a function called with the id of a stage whenever there is an event about one of its pods.
func (w *watched) onEvent(f func(stageID int64)) error {
	changed := func(object any) {
		for _, key := range podKeys(object) {
			for _, pods := range w.pods {
				if pod, found, err := pods.GetStore().GetByKey(key); err == nil && found {
					if id, ok := stageOf(pod); ok {
						f(id)
					}
				}
			}
		}
	}
	for _, i := range w.events {
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) },
		})
		if err != nil {
			return fmt.Errorf("watching events: %w", err)
		}
	}
	return nil
}

func aboutPods(o *metav1.ListOptions) { o.FieldSelector = "involvedObject.kind=Pod" }

func podIndex(object any) ([]string, error) { return podKeys(object), nil }

func podKeys(object any) []string {
	if e, ok := object.(*corev1.Event); ok {
		return []string{e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name}
	}
	return nil
}

func stageOf(object any) (int64, bool) {
	meta, ok := object.(metav1.Object)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(meta.GetLabels()[journal.LabelStageID], 10, 64)
	return id, err == nil
}

func stageIndex(object any) ([]string, error) {
	if id, ok := stageOf(object); ok {
		return []string{strconv.FormatInt(id, 10)}, nil
	}
	return nil, nil
}

// entry reads a stage's entry; nil where there is none.
func (w *watched) entry(stageID int64) (*journal.Entry, error) {
	found := ofStage[*corev1.ConfigMap](stageID, w.journal)
	if len(found) == 0 {
		return nil, nil
	}
	return journal.Decode(found[0])
}

// entries reads all entries. What cannot be read is left out.
func (w *watched) entries() []*journal.Entry {
	var all []*journal.Entry
	for _, object := range w.journal.GetStore().List() {
		if cm, ok := object.(*corev1.ConfigMap); ok {
			if e, err := journal.Decode(cm); err == nil {
				all = append(all, e)
			}
		}
	}
	return all
}

// briefs goes through all entries in short.
func (w *watched) briefs(each func(machine string, phase journal.Phase)) {
	for _, object := range w.journal.GetStore().List() {
		if cm, ok := object.(*corev1.ConfigMap); ok {
			each(journal.Brief(cm))
		}
	}
}

// cluster is what the cluster shows of a stage. The objects are the mirror's own, and must not be changed.
func (w *watched) cluster(stageID int64) status.Cluster {
	c := status.Cluster{
		TaskRuns: ofStage[*v1.TaskRun](stageID, w.taskRuns...),
		Pods:     ofStage[*corev1.Pod](stageID, w.pods...),
	}
	for _, pod := range c.Pods {
		if pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "" {
			c.Events = append(c.Events, w.eventsOf(pod)...)
		}
	}
	if runs := ofStage[*v1.PipelineRun](stageID, w.runs...); len(runs) > 0 {
		c.Run = runs[0]
	}
	return c
}

func (w *watched) eventsOf(pod *corev1.Pod) []*corev1.Event {
	var found []*corev1.Event
	for _, i := range w.events {
		objects, _ := i.GetIndexer().ByIndex(byPod, pod.Namespace+"/"+pod.Name) // The index exists.
		for _, o := range objects {
			if e, ok := o.(*corev1.Event); ok {
				found = append(found, e)
			}
		}
	}
	return found
}

func ofStage[T any](stageID int64, from ...cache.SharedIndexInformer) []T {
	var found []T
	for _, i := range from {
		objects, _ := i.GetIndexer().ByIndex(byStage, strconv.FormatInt(stageID, 10)) // The index exists.
		for _, o := range objects {
			if t, ok := o.(T); ok {
				found = append(found, t)
			}
		}
	}
	return found
}

// slim leaves out the parts of objects that are large and that nobody here looks at.
func slim(object any) (any, error) {
	switch o := object.(type) {
	case *v1.PipelineRun:
		o.ManagedFields, o.Annotations = nil, policy.Marks(o.Annotations)
		o.Spec.PipelineSpec, o.Status.PipelineSpec, o.Status.Provenance = nil, nil, nil
		o.Spec.TaskRunTemplate = v1.PipelineTaskRunTemplate{}
	case *v1.TaskRun:
		o.ManagedFields, o.Annotations = nil, nil
		o.Spec.TaskSpec, o.Status.TaskSpec, o.Status.Provenance = nil, nil, nil
		o.Spec.PodTemplate = nil
	case *corev1.Pod:
		o.ManagedFields, o.Annotations = nil, nil
		for _, list := range [][]corev1.Container{o.Spec.InitContainers, o.Spec.Containers} {
			for i := range list {
				c := &list[i]
				*c = corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources}
			}
		}
		o.Spec = corev1.PodSpec{
			InitContainers: o.Spec.InitContainers, Containers: o.Spec.Containers, NodeName: o.Spec.NodeName,
		}
	}
	return object, nil
}

// slimEvent leaves of an event what it is about, what it says and when.
func slimEvent(object any) (any, error) {
	if e, ok := object.(*corev1.Event); ok {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name, UID: e.UID, ResourceVersion: e.ResourceVersion, CreationTimestamp: e.CreationTimestamp},
			InvolvedObject: e.InvolvedObject, Reason: e.Reason, Message: e.Message,
			LastTimestamp: e.LastTimestamp, EventTime: e.EventTime, Series: e.Series,
		}, nil
	}
	return object, nil
}
