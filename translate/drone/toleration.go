package drone

// UnmarshalYAML reads both spellings of the seconds.
func (t *Toleration) UnmarshalYAML(unmarshal func(any) error) error {
	type plainToleration Toleration // without this method
	var both struct {
		Seconds *int64 `yaml:"toleration_seconds"`
	}
	if err := unmarshal((*plainToleration)(t)); err != nil {
		return err
	}
	if err := unmarshal(&both); err != nil {
		return err
	}
	if t.TolerationSeconds == nil {
		t.TolerationSeconds = both.Seconds
	}
	return nil
}
