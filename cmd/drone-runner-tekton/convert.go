package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// conversion is what all commands that translate a file have in common.
type conversion struct {
	facts       factFlags
	options     translate.Options
	pipeline    string
	strict      bool
	diagnostics string
	explain     bool
}

func (c *conversion) add(flags *pflag.FlagSet) {
	c.diagnostics = "text"
	group(flags, "Build", c.facts.add)
	group(flags, "Pipeline", c.addOptions)
	group(flags, "Storage", func(flags *pflag.FlagSet) { addStorage(flags, &c.options.Workspace) })
	group(flags, "Pod", c.addPods)
	group(flags, "Output", func(flags *pflag.FlagSet) {
		flags.BoolVar(&c.strict, "strict", false, "fail on warnings")
		flags.Var(choice[string]{&c.diagnostics, []string{"text", "json"}}, "diagnostics", "form of diagnostics: text or json")
	})
}

func (c *conversion) addOptions(flags *pflag.FlagSet) {
	o := &c.options
	flags.StringVar(&c.pipeline, "pipeline", "", "take the pipeline of this name alone, whatever its trigger")
	flags.BoolVar(&o.Trusted, "trusted", false, "allow what Drone allows to trusted repositories: privileged steps, volumes of the host")
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "namespace of the objects (default: that of the pipeline, else of the context)")
	flags.StringVar(&o.Name, "name", "", "name of the PipelineRun (default: repository, build and pipeline, completed by Kubernetes)")
	flags.StringVar(&o.SecretName, "secret-name", "drone-secrets", "Kubernetes Secret with the values of from_secret")
	flags.StringVar(&o.Netrc, "netrc-secret", "", "Kubernetes Secret with the credentials for cloning: machine, username, password, file")
	flags.BoolVar(&o.NetrcCloneOnly, "netrc-clone-only", false, "give the credentials for cloning to the clone step alone")
	flags.StringVar(&o.CloneImage, "clone-image", translate.DefaultCloneImage, "image of the clone step")
	flags.Var(span{&o.Timeout}, "timeout", "how long a pipeline may run (default 1h)")
}

func (c *conversion) addPods(flags *pflag.FlagSet) {
	o := &c.options
	flags.StringVar(&o.ServiceAccount, "service-account", "", "service account of pods, where the pipeline names none")
	flags.Var(millicores{&o.Requests.CPU}, "request-cpu", "CPU that each step asks for, where the pipeline does not say")
	flags.Var(bytes{&o.Requests.Memory}, "request-memory", "memory that each step asks for, where the pipeline does not say")
	flags.Var(millicores{&o.Limits.CPU}, "limit-cpu", "CPU that each step may use, where it does not say")
	flags.Var(bytes{&o.Limits.Memory}, "limit-memory", "memory that each step may use, where it does not say")
	flags.BoolVar(&o.Restricted, "restricted", false, "keep to the Pod security standard restricted: nothing runs as root")
	flags.Int64Var(&o.FSGroup, "fs-group", 0, "group that may write to volumes, for images that do not run as root")
	flags.BoolVar(&o.InjectedSidecars, "injected-sidecars", false, "let steps wait for sidecars that others inject, as service meshes do")
	flags.StringVar(&o.ClusterDomain, "cluster-domain", "cluster.local", "DNS domain of the cluster, for names of services")
}

// result is a converted pipeline.
type result struct {
	pipeline *drone.Pipeline
	bundle   *translate.Bundle
}

// convert translates the pipelines of a file that the build triggers. Diagnostics have been reported where the error is
// errReported; there is no result then.
func (c *conversion) convert(ctx context.Context, s streams, file source) ([]result, error) {
	facts, err := c.facts.facts(ctx, folderOf(file.name))
	if err != nil {
		return nil, err
	}
	manifest, diags := parseSource(ctx, file.name, file.text, facts)
	var results []result
	if !diags.HasErrors() {
		diags = append(diags, translate.ExplainSecrets(manifest)...)
		for _, p := range c.selected(manifest, facts, &diags) {
			b, list := translate.Pipeline(p, facts, c.options)
			diags = append(diags, list...)
			if b != nil {
				results = append(results, result{p, b})
			}
		}
	}
	if len(results) == 0 && !diags.HasErrors() {
		diags.Add(diag.Diagnostic{
			Severity: diag.Error, Code: translate.CodeNothingRuns, Position: diag.Position{File: file.name},
			Message: "there is nothing to run for " + describe(facts), Hint: "choose another build with --event, --branch or --tag",
		})
	}
	if err := report(s.err, diags, c.diagnostics); err != nil {
		return nil, err
	}
	if c.fails(diags) {
		return nil, errReported
	}
	return results, nil
}

// fails reports whether diagnostics end the command.
func (c *conversion) fails(list diag.List) bool {
	return slices.ContainsFunc(list, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error || c.strict && d.Severity == diag.Warning
	})
}

// selected are the pipelines to convert: the one that was asked for, or those whose trigger matches the build.
func (c *conversion) selected(m *drone.Manifest, f translate.Facts, diags *diag.List) []*drone.Pipeline {
	var out []*drone.Pipeline
	var names []string
	for _, p := range m.Pipelines {
		names = append(names, p.DisplayName())
		switch {
		case c.pipeline != "" && p.DisplayName() == c.pipeline:
			return []*drone.Pipeline{p}
		case c.pipeline != "":
		case translate.Triggered(p.Trigger, f):
			out = append(out, p)
		default:
			diags.Infof(p.At("trigger"), translate.CodeNotTriggered,
				"the trigger of %s does not match %s, so it is left out", p.DisplayName(), describe(f))
		}
	}
	if len(out) > 0 {
		return out
	}
	d := diag.Diagnostic{Severity: diag.Error, Code: translate.CodeNotTriggered, Position: diag.Position{File: m.File}}
	switch {
	case c.pipeline != "":
		d.Message = fmt.Sprintf("there is no pipeline %q", c.pipeline)
		d.Hint = "the file has " + strings.Join(names, ", ")
	default:
		d.Message = "no pipeline is triggered by " + describe(f)
		d.Hint = "choose the build with --event, --branch or --tag, or the pipeline with --pipeline"
	}
	diags.Add(d)
	return nil
}

// describe names a build in a few words.
func describe(f translate.Facts) string {
	b := f.Build
	switch {
	case b.Event == "tag":
		return "the tag " + strings.TrimPrefix(b.Ref, "refs/tags/")
	case b.Target == "":
		return "a " + b.Event + " of " + b.Ref
	default:
		return "a " + b.Event + " on branch " + b.Target
	}
}

func newConvert(s streams) *cobra.Command {
	c := &conversion{}
	output := "yaml"
	var dir string
	cmd := &cobra.Command{
		Use:   "convert [FILE|-]",
		Short: "Print a Drone pipeline as a Tekton PipelineRun",
		Long: `Print a Drone pipeline as a Tekton PipelineRun, and the objects that it needs beside it.

The file is .drone.yml where none is named; - is standard input. Pipelines whose trigger
does not match the build are left out. Build facts come from flags, from --env-file, from
the git checkout around the file, and else are those of a push to the default branch.

Objects go to standard output, diagnostics to standard error. Nothing is printed when a
pipeline cannot be converted.`,
		Example: `  # Convert the pipeline of the checkout you are in, and run it
  drone-runner-tekton convert | kubectl create -f -

  # The pipelines of a tag, of a promotion, and of one name whatever its trigger
  drone-runner-tekton convert --tag v1.2.3
  drone-runner-tekton convert --target production --param VERSION=1.2.3
  drone-runner-tekton convert --pipeline nightly

  # A trusted repository, with secrets from the Secret ci, in the namespace builds, into a file
  drone-runner-tekton convert --trusted --secret-name ci -n builds >run.yaml

  # One file for each pipeline
  drone-runner-tekton convert .drone.yml --output-dir tekton/`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := sourceOf(args, s.in)
			if err != nil {
				return err
			}
			results, err := c.convert(cmd.Context(), s, file)
			if err != nil {
				return err
			}
			c.tellReasons(s, results)
			if dir != "" {
				return writeDir(s, dir, results, output)
			}
			return writeAll(s, results, output)
		},
	}
	c.add(cmd.Flags())
	group(cmd.Flags(), "Output", func(flags *pflag.FlagSet) {
		c.addExplain(flags)
		flags.VarP(choice[string]{&output, []string{"yaml", "json"}}, "output", "o", "form of the output on standard output: yaml or json")
		flags.StringVar(&dir, "output-dir", "", "write a file for each pipeline into this folder instead")
	})
	return cmd
}

func (c *conversion) addExplain(flags *pflag.FlagSet) {
	flags.BoolVar(&c.explain, "explain", false, "tell why files are where they are, on standard error")
}

// tellReasons prints the planner's reasons, where they are asked for.
func (c *conversion) tellReasons(s streams, results []result) {
	if !c.explain {
		return
	}
	for _, r := range results {
		for _, reason := range r.bundle.Reasons {
			fmt.Fprintf(s.err, "%s: %s\n", r.pipeline.DisplayName(), reason)
		}
	}
}

func encode(objects []runtime.Object, output string) ([]byte, error) {
	if output == "json" {
		return translate.JSON(objects)
	}
	return translate.YAML(objects)
}

func writeAll(s streams, results []result, output string) error {
	var objects []runtime.Object
	for _, r := range results {
		objects = append(objects, r.bundle.Objects()...)
	}
	text, err := encode(objects, output)
	if err != nil {
		return err
	}
	_, err = s.out.Write(text)
	return err
}

// writeDir writes a file for each pipeline. All texts exist before the first is written.
func writeDir(s streams, dir string, results []result, output string) error {
	type file struct {
		path string
		text []byte
	}
	var files []file
	taken := map[string]bool{}
	for _, r := range results {
		text, err := encode(r.bundle.Objects(), output)
		if err != nil {
			return err
		}
		name := translate.FileName(r.pipeline.DisplayName())
		for base, i := name, 2; taken[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		taken[name] = true
		files = append(files, file{filepath.Join(dir, name+"."+output), text})
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(f.path, f.text, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(s.err, "wrote %s\n", f.path)
	}
	return nil
}
