//go:build e2e

package push

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// process is a runner that is a process of this machine, not a pod, so that it can be killed at any moment and started
// again at once. To the cluster it is the one of deploy/runner.yaml: it has the token of that one's service account.
type process struct {
	*runner
	t       *testing.T
	env     []string
	logFile string
	command *exec.Cmd
}

// program builds the runner once for all tests.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "drone-push-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, deployment)
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/drone-runner-tekton").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the runner: %w\n%s", err, out)
	}
	return path, nil
})

// startProcess starts a runner that reaches the API server through dial where that is not empty. After the test it is
// checked and removed as the others are.
func startProcess(t *testing.T, s settings, through string) *process {
	t.Helper()
	r, _, err := install(t.Context())
	p := &process{runner: r, t: t, logFile: filepath.Join(t.TempDir(), "runner.log")}
	if r != nil {
		t.Cleanup(p.end)
	}
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := r.writeKubeconfig(t.Context(), kubeconfig, through); err != nil {
		t.Fatal(err)
	}
	policyFile := filepath.Join(t.TempDir(), "policies.yml")
	if err := os.WriteFile(policyFile, []byte(policies), 0o600); err != nil {
		t.Fatal(err)
	}
	env := r.env(s)
	for name, value := range rpc {
		env[name] = value
	}
	env["DRONE_POLICY_FILE"] = policyFile
	env["DRONE_KUBERNETES_CONFIG"] = kubeconfig
	env["DRONE_NAMESPACE_DEFAULT"] = r.namespace
	env["DRONE_RUNNER_NAME"] = r.namespace
	env["DRONE_SERVER_PORT"] = "127.0.0.1:0"
	for name, value := range env {
		p.env = append(p.env, name+"="+value)
	}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// writeKubeconfig writes a kubeconfig of the runner's service account, to reach the API server by another address if one
// is given.
func (r *runner) writeKubeconfig(ctx context.Context, path, through string) error {
	config, err := restConfig()
	if err != nil {
		return err
	}
	token, err := kube.Core.CoreV1().ServiceAccounts(r.namespace).CreateToken(ctx, deployment, &authenticationv1.TokenRequest{},
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("getting a token of the runner's service account: %w", err)
	}
	server := clientcmdapi.NewCluster()
	server.Server, server.CertificateAuthorityData = config.Host, config.CAData
	if through != "" {
		host, _, err := apiServer(config)
		if err != nil {
			return err
		}
		server.Server, server.TLSServerName = "https://"+through, host
	}
	user := clientcmdapi.NewAuthInfo()
	user.Token = token.Status.Token
	current := clientcmdapi.NewContext()
	current.Cluster, current.AuthInfo = "cluster", "runner"
	file := clientcmdapi.NewConfig()
	file.Clusters["cluster"], file.AuthInfos["runner"], file.Contexts["current"] = server, user, current
	file.CurrentContext = "current"
	return clientcmd.WriteToFile(*file, path)
}

// restConfig is how the tests reach the cluster.
func restConfig() (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, err
	}
	return config, rest.LoadTLSFiles(config)
}

// start starts the process, which runs until it is killed.
func (p *process) start() error {
	path, err := program()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // The process has its own.
	p.command = exec.Command(path, "daemon")
	p.command.Env = append([]string{"HOME=" + os.TempDir()}, p.env...)
	p.command.Stdout, p.command.Stderr = log, log
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // with the test, if that is killed
	return p.command.Start()
}

// kill is kill -9. It is an error if the process had ended before.
func (p *process) kill() error {
	if p.command == nil {
		return errors.New("the runner was not started")
	}
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
	status, _ := p.command.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("the runner has ended by itself: %v", p.command.ProcessState)
	}
	return nil
}

// killAgainAndAgain kills the process at random moments, some while it starts, and starts it again after a while, until
// stop is closed. It runs then, and times are how long after the beginning it was killed.
func (p *process) killAgainAndAgain(r *rand.Rand, stop <-chan struct{}) (times []time.Duration, err error) {
	begun := time.Now()
	for {
		select {
		case <-stop:
			return times, nil
		case <-time.After(time.Duration(r.Int64N(int64(8 * time.Second)))):
		}
		times = append(times, time.Since(begun).Round(time.Millisecond))
		if err := p.kill(); err != nil {
			return times, err
		}
		time.Sleep(time.Duration(r.Int64N(int64(3 * time.Second))))
		if err := p.start(); err != nil {
			return times, err
		}
	}
}

// end tells what is wrong with the process, and removes what is left of it.
func (p *process) end() {
	faults := p.runner.end(context.Background()) // while it runs, for the tidying is its own
	if err := p.kill(); err != nil {
		faults = append(faults, err.Error())
	}
	text, err := os.ReadFile(p.logFile)
	if err != nil {
		faults = append(faults, err.Error())
	}
	lines := strings.Split(string(text), "\n")
	for _, line := range lines {
		if strings.Contains(line, "forbidden") || strings.Contains(line, "panic: ") {
			faults = append(faults, "in the runner's log: "+line)
		}
	}
	for _, fault := range faults {
		p.t.Error(fault)
	}
	if p.t.Failed() {
		const most = 500
		p.t.Log("the end of the runner's log:\n" + strings.Join(slices.Clone(lines[max(0, len(lines)-most):]), "\n"))
	}
	if folder := os.Getenv("KEEP_LOGS"); folder != "" {
		_ = os.WriteFile(filepath.Join(folder, p.namespace+".log"), text, 0o600)
	}
}
