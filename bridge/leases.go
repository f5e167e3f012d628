package bridge

import "time"

// component begins the names of the Leases by which replicas share stages.
const component = "drone-runner-tekton"

// How fast a replica that dies is replaced. A replica that ends in order gives its buckets up at once.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)
