package translate

import (
	"testing"

	api "github.com/drone/drone-go/drone"
)

// In which state of the pipeline a step runs: its status condition alone decides, and where another condition does not
// match the build, it never runs.
func TestPolicyOfAStep(t *testing.T) {
	for _, test := range []struct {
		when string
		want Policy
	}{
		{"{}", OnSuccess},
		{"{status: []}", OnSuccess},
		{"{status: success}", OnSuccess},
		{"{status: [success]}", OnSuccess},
		{"{status: failure}", OnFailure},
		{"{status: [failure]}", OnFailure},
		{"{status: {include: [failure]}}", OnFailure},
		{"{status: [success, failure]}", Always},
		{"{status: [failure, success]}", Always},
		{"{status: ['*']}", Always},
		{"{status: {exclude: [success]}}", OnFailure},
		{"{status: {exclude: [failure]}}", OnSuccess},
		{"{status: {include: [failure, success], exclude: [success]}}", OnFailure},
		{"{status: [changed]}", OnSuccess},
		{"{status: [killed, changed]}", OnSuccess},
		{"{status: [Failure]}", OnSuccess},
		{"{branch: main, status: failure}", OnFailure},
		{"{branch: other, status: failure}", Never},
		{"{branch: other}", Never},
	} {
		p := parsePipeline(t, dockerHead+"steps:\n- name: a\n  image: i\n  when: "+test.when+"\n")
		if got := policyOf(p.Steps[0].When, push()); got != test.want {
			t.Errorf("when: %s gives the policy %v, want %v", test.when, got, test.want)
		}
	}
}

// Which builds a condition matches: an exclude that matches says no, then an include that matches says yes, no includes
// say yes. All conditions have to match. Patterns are doublestar's, with no star across a slash.
func TestConditions(t *testing.T) {
	build := func(change func(*Facts)) Facts {
		f := push()
		change(&f)
		return f
	}
	onBranch := func(name string) Facts { return build(func(f *Facts) { f.Build.Target = name }) }
	tag := build(func(f *Facts) { f.Build.Event, f.Build.Target, f.Build.Ref = api.EventTag, "", "refs/tags/v1.0" })
	promotion := build(func(f *Facts) { f.Build.Event, f.Build.Deploy = api.EventPromote, "production" })
	cron := build(func(f *Facts) { f.Build.Event, f.Build.Cron = "cron", "nightly" })
	pull := build(func(f *Facts) {
		f.Build.Event, f.Build.Ref, f.Build.Action = api.EventPullRequest, "refs/pull/5/head", "opened"
	})
	for _, test := range []struct {
		when  string
		facts Facts
		want  bool
	}{
		{"{branch: main}", push(), true},
		{"{branch: [main, develop]}", push(), true},
		{"{branch: {include: [main]}}", push(), true},
		{"{branch: {exclude: [main]}}", push(), false},
		{"{branch: {include: ['*'], exclude: [main]}}", push(), false},
		{"{branch: {include: [main], exclude: [develop]}}", push(), true},
		{"{branch: {exclude: [develop]}}", push(), true},
		{"{branch: Main}", push(), false},
		{"{branch: ['!develop']}", push(), false},
		{"{branch: 'm[a-z]in'}", push(), true},
		{"{branch: '{main,develop}'}", push(), true},
		{"{branch: 'ma?n'}", push(), true},
		{"{branch: '['}", push(), false},
		{"{branch: ''}", push(), false},
		{"{branch: feature/*}", onBranch("feature/a"), true},
		{"{branch: feature/*}", onBranch("feature/a/b"), false},
		{"{branch: feature/**}", onBranch("feature/a/b"), true},
		{"{branch: feature/**}", onBranch("feature"), false},
		{"{branch: '*'}", onBranch("feature/a"), false},
		{"{branch: '**'}", onBranch("feature/a"), true},
		{"{branch: ['*']}", tag, true},
		{"{branch: main}", tag, false},
		{"{branch: {exclude: [main]}}", tag, true},
		{"{event: push}", push(), true},
		{"{event: [tag, pull_request]}", push(), false},
		{"{event: {exclude: [pull_request]}}", push(), true},
		{"{event: tag, branch: main}", push(), false},
		{"{ref: refs/heads/*}", push(), true},
		{"{ref: ['refs/tags/*']}", push(), false},
		{"{ref: ['refs/tags/**']}", tag, true},
		{"{ref: refs/pull/*/head}", pull, true},
		{"{repo: octocat/*}", push(), true},
		{"{repo: other/hello}", push(), false},
		{"{repo: '**'}", push(), true},
		{"{target: production}", promotion, true},
		{"{target: production}", push(), false},
		{"{target: {exclude: [production]}}", push(), true},
		{"{target: ['*']}", push(), true},
		{"{action: opened}", pull, true},
		{"{action: [synchronized]}", pull, false},
		{"{action: opened}", push(), false},
		{"{cron: nightly}", cron, true},
		{"{cron: nightly}", push(), false},
		{"{cron: ['*']}", push(), true},
		{"{instance: drone.example.com}", push(), true},
		{"{instance: other.example.com}", push(), false},
		{"{paths: [nowhere/*]}", push(), true},
		{"{branch: {}}", push(), true},
	} {
		p := parsePipeline(t, dockerHead+"steps:\n- name: a\n  image: i\n  when: "+test.when+"\n")
		b := test.facts.Build
		if got := policyOf(p.Steps[0].When, test.facts) != Never; got != test.want {
			t.Errorf("when: %s matches a %s of %q: %v, want %v", test.when, b.Event, b.Ref, got, test.want)
		}
	}
}

// A trigger looks at the same conditions but instance, which Drone's server never checks there, and status, which is
// about other pipelines.
func TestTrigger(t *testing.T) {
	for trigger, want := range map[string]bool{
		"{}": true, "{branch: main}": true, "{branch: other}": false, "{event: [tag]}": false, "{cron: nightly}": false,
		"{repo: other/*}": false, "{ref: refs/tags/*}": false, "{target: x}": false, "{action: x}": false,
		"{instance: other.example.com}": true, "{status: [failure]}": true, "{paths: [x]}": true,
	} {
		p := parsePipeline(t, dockerHead+"trigger: "+trigger+"\nsteps: [{name: a, image: i}]\n")
		if got := Triggered(p.Trigger, push()); got != want {
			t.Errorf("trigger: %s starts the pipeline: %v, want %v", trigger, got, want)
		}
	}
}
