package translate

import (
	"time"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Options are the choices of whoever runs pipelines, as opposed to those of whoever writes them. The zero value is what
// the command line does without flags.
type Options struct {
	// Name of the PipelineRun. Empty lets Kubernetes complete a name made from the repository and the pipeline, unless
	// something beside the run has to know it.
	Name string
	// Suffix completes a name that is made from repository and pipeline, in the place of Kubernetes.
	Suffix string
	// Namespace of all objects. Empty leaves it to the pipeline, and then to whoever creates the objects.
	Namespace string
	// ClusterDomain ends the names of Services; cluster.local where empty.
	ClusterDomain string
	// Trusted lifts the restrictions that Drone puts on repositories that are not trusted: privileged steps and volumes of
	// the host, of memory and of existing objects.
	Trusted bool
	// SecretName is the Kubernetes Secret that holds the values of from_secret, by the names that the pipeline uses.
	// Empty is drone-secrets.
	SecretName string
	// Netrc is a Secret with the keys machine, username, password and file: the credentials for cloning. Empty is none.
	Netrc string
	// NetrcCloneOnly keeps the credentials out of all steps but clone.
	NetrcCloneOnly bool
	// CloneImage fetches the source; DefaultCloneImage where empty. Its shell also serves the few helpers that a run needs.
	CloneImage string
	// PrivilegedImages are images, beside Drone's own docker plugins, that run privileged by themselves.
	PrivilegedImages []string
	// Environment is given to every step, below everything else.
	Environment map[string]string
	// ServiceAccount runs the pods of pipelines that name none.
	ServiceAccount string
	// Timeout of a pipeline, where the repository has none. An hour where 0, as in Drone.
	Timeout time.Duration
	// Workspace says where files live.
	Workspace workspace.Options
	// Mounts are volumes that every step gets, services and detached steps too, whatever the pipeline says.
	Mounts []Mount
	// LocalhostPod chooses the layout pod for pipelines of type kubernetes whose steps look for a service at localhost.
	LocalhostPod bool
	// Cluster is what is known of the cluster that the run is for; nil is nothing.
	Cluster *workspace.Cluster
	// Requests and Limits of steps that name none. A request of the pipeline wins over the default, one of the step over
	// both.
	Requests, Limits drone.ResourceList
	// Restricted keeps to Kubernetes' Pod security standard of that name: no step runs as root or can become it.
	Restricted bool
	// FSGroup owns the files of volumes, so that images that do not run as root can write there. 0 derives it from the
	// users that the pipeline names.
	FSGroup int64
	// InjectedSidecars reports that others inject sidecars into pods, as service meshes do. Steps then start only once
	// these run, which takes a round through Tekton's controller.
	InjectedSidecars bool
	// Server reports that a Drone server stands behind the run: what is its work needs no mention, and what only a runner
	// can do is done.
	Server bool
}

// Mount is a volume of whoever runs pipelines, in every step. The pipeline can neither name the volume nor take its place.
type Mount struct {
	// Volume is declared as in a pipeline. A temp volume is one of each pod, on its disk or in memory: unlike one that a
	// pipeline declares, steps with pods of their own do not share it.
	Volume        *drone.Volume
	Path, SubPath string
	ReadOnly      bool
}

func (o Options) withDefaults() Options {
	if o.CloneImage == "" {
		o.CloneImage = DefaultCloneImage
	}
	if o.SecretName == "" {
		o.SecretName = "drone-secrets"
	}
	if o.ClusterDomain == "" {
		o.ClusterDomain = "cluster.local"
	}
	o.Workspace = o.Workspace.Defaults()
	return o
}

func (o Options) timeout(f Facts) time.Duration {
	switch {
	case f.Repo.Timeout > 0:
		return time.Duration(f.Repo.Timeout) * time.Minute
	case o.Timeout > 0:
		return o.Timeout
	default:
		return time.Hour
	}
}
