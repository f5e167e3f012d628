package drone

import "slices"

// normalise brings a decoded pipeline into the form that the rest relies on: no nil entries, no values that the type's
// runner does not read, a type. What is lost here has been told by the check of keys.
func (p *Pipeline) normalise() {
	if p.Type == "" {
		p.Type = TypeDocker
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s *Step) bool { return s == nil })
	p.Services = slices.DeleteFunc(p.Services, func(s *Step) bool { return s == nil })
	p.Volumes = slices.DeleteFunc(p.Volumes, func(v *Volume) bool { return v == nil })
	for _, v := range p.Volumes {
		v.normalise(p.IsKubernetes())
	}
	for _, s := range slices.Concat(p.Services, p.Steps) {
		s.normalise(p.IsKubernetes())
	}
	if p.IsKubernetes() {
		p.Workspace.Base = ""
		p.Clone.Retries = 0
		return
	}
	p.Resources = Resources{}
	p.Metadata = Metadata{}
	p.NodeName, p.NodeSelector = "", nil
	p.ServiceAccountName = ""
	p.Tolerations = nil
	p.DNSConfig = DNSConfig{}
	p.HostAliases = nil
}

func (s *Step) normalise(kubernetes bool) {
	for name, v := range s.Environment {
		if v == nil { // Drone does not set a variable without a value.
			delete(s.Environment, name)
		}
	}
	for name, v := range s.Settings {
		if v == nil {
			delete(s.Settings, name)
		}
	}
	s.Volumes = slices.DeleteFunc(s.Volumes, func(v *VolumeMount) bool { return v == nil })
	if kubernetes {
		s.Devices, s.DNS, s.DNSSearch, s.ExtraHosts = nil, nil, nil, nil
		s.Network = ""
		s.MemLimit, s.MemSwap, s.ShmSize = 0, 0, 0
		s.User = decimal(s.User)
		return
	}
	s.Group = nil
	s.Resources = Resources{}
	for _, v := range s.Volumes {
		v.SubPath = ""
	}
}

func (v *Volume) normalise(kubernetes bool) {
	if !kubernetes {
		v.Claim, v.ConfigMap, v.Secret = nil, nil, nil
	}
	// A key without a value is nothing to Drone, which then drops the volume and its mounts. What was meant is plain.
	if v.Temp == nil && v.Has("temp") && v.Host == nil && v.Claim == nil && v.ConfigMap == nil && v.Secret == nil {
		v.Temp = &TempVolume{}
	}
}

// decimal writes a number in the form that Drone's decoder gives it; YAML 1.1 has octal and hexadecimal ones.
func decimal(text string) string {
	if v := plain(text); v != nil {
		return settingText(v)
	}
	return text
}
