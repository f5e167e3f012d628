package drone

import yamlv3 "go.yaml.in/yaml/v3"

// place gives a pipeline and its parts the places of their keys.
func (t tree) place(p *Pipeline) {
	p.Positions = t.positions(t.root, "steps", "services", "volumes")
	t.placeSteps(p.Steps, "steps")
	t.placeSteps(p.Services, "services")
	nodes := items(lookup(t.root, "volumes"))
	for i, v := range p.Volumes {
		if v != nil {
			v.Positions = t.positions(item(nodes, i))
		}
	}
}

func (t tree) placeSteps(steps []*Step, key string) {
	nodes := items(lookup(t.root, key))
	for i, s := range steps {
		if s != nil {
			s.Positions = t.positions(item(nodes, i))
		}
	}
}

// items are the items of a list.
func items(n *yamlv3.Node) []*yamlv3.Node {
	if n = resolve(n); n != nil && n.Kind == yamlv3.SequenceNode {
		return n.Content
	}
	return nil
}

// item is the node of an item. Where the decoder refused an item before it, the two have come apart; that is an error
// anyhow, and any place will do.
func item(nodes []*yamlv3.Node, i int) *yamlv3.Node {
	if i < len(nodes) {
		return nodes[i]
	}
	return nil
}
