package workspace

// Problems are what no run whose steps share files could be planned with, whatever the cluster.
func Problems(o Options) []Reason {
	return Plan(Request{
		Options: o, Volumes: []Volume{{Name: "source"}},
		Steps: []Step{
			{Name: "first", Volumes: []string{"source"}},
			{Name: "left", Needs: []string{"first"}, Volumes: []string{"source"}},
			{Name: "right", Needs: []string{"first"}, Volumes: []string{"source"}},
		},
	}).Problems
}
