package drone

import "github.com/drone-tekton/drone-runner-tekton/translate/diag"

// privileges refuses keys of a step that Drone allows to trusted repositories only.
func (l *linter) privileges(s *Step) {
	for _, use := range []struct {
		key  string
		used bool
	}{
		{"privileged", s.Privileged},
		{"devices", len(s.Devices) > 0},
		{"dns", len(s.DNS) > 0},
		{"dns_search", len(s.DNSSearch) > 0},
		{"extra_hosts", len(s.ExtraHosts) > 0},
		{"network_mode", s.Network != ""},
		{"shm_size", s.ShmSize > 0},
	} {
		if use.used {
			l.untrusted(s.At(use.key), use.key)
		}
	}
}

// volumeKind refuses kinds of volumes that Drone allows to trusted repositories only. The first kind of several counts.
func (l *linter) volumeKind(v *Volume) {
	switch {
	case v.Temp != nil:
		if v.Temp.Medium == "memory" {
			l.untrusted(v.At("temp.medium"), "a temp volume in memory")
		}
	case v.Host != nil:
		l.untrusted(v.At("host"), "a host volume")
	case v.Claim != nil:
		l.untrusted(v.At("claim"), "a claim volume")
	case v.ConfigMap != nil:
		l.untrusted(v.At("config_map"), "a config_map volume")
	case v.Secret != nil:
		l.untrusted(v.At("secret"), "a secret volume")
	}
}

func (l *linter) untrusted(pos diag.Position, what string) {
	l.errorf(pos, CodeUntrusted, "ask an administrator of Drone to mark the repository as trusted",
		"%s is for trusted repositories only", what)
}
