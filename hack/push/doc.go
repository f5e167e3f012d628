// Package push starts builds as users do, by a push to Gitea, and compares what a real Drone server then shows of them
// with what Drone's rules say. The runner is the Deployment of deploy/runner.yaml with its Role.
//
// Pipelines are those of testdata/e2e, and those of testdata/push, whose expectations also say how the repository is set
// up and what starts the build. What takes more than one event is a test in Go:
//
//	r := newRepo(t, expect.Repository{Trusted: true}) // a repository of its own, deleted after the test
//	b := r.push(docker.claim(source))                 // docker is the suite's runner for pipelines of that type
//	b.waitFor("its first step runs", func(b *drone.Build) bool { … })
//	b.cancel()
//	b.ended()                                         // waits
//	b.check(expect.Stage{…})                          // waits, and compares
//	docker.clean(t, b)                                // waits until nothing of it is left in the cluster
//
// A test that kills its runner, or needs other settings, starts one of its own by startProcess. The tests have the build
// tag e2e; script run starts what they need.
package push
