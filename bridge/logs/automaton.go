package logs

// automaton finds every occurrence of many patterns in one pass over the input (Aho and Corasick's algorithm).
//
// Nodes are the prefixes of the patterns, node 0 being the empty one. There is a masker for each running pipeline, so
// nodes are small: children are found through sibling lists. The root and its children, where nearly all of a log's
// bytes end, also have full rows of transitions.
type automaton struct {
	nodes   []node
	class   [256]uint16 // row of the root's child with this label, and column in rows; 0 for bytes that no pattern has
	columns int
	rows    []uint32 // transitions of the root and of its children
}

// node is one prefix of a pattern.
type node struct {
	sibling uint32 // another child of the same parent; 0 for none
	fail    uint32 // the longest proper suffix that is a node, too
	depth   uint32 // length of the prefix in bytes
	label   byte   // last byte of the prefix
	parent  bool   // has children, of which the first is the next node
	end     bool   // is a pattern
	hit     bool   // some pattern ends here
}

// newAutomaton makes the automaton for patterns, which are sorted: then the first child of a node is always made right
// after it.
func newAutomaton(patterns []string) *automaton {
	a := &automaton{nodes: make([]node, 1, 1+countPrefixes(patterns)), columns: 1}
	for _, p := range patterns {
		for i := range len(p) {
			if c := &a.class[p[i]]; *c == 0 {
				*c = uint16(a.columns)
				a.columns++
			}
		}
	}
	for _, p := range patterns {
		a.insert(p)
	}
	a.fillRows()
	a.link()
	return a
}

// countPrefixes counts the different prefixes of sorted patterns, without the empty one.
func countPrefixes(patterns []string) int {
	n, last := 0, ""
	for _, p := range patterns {
		common := 0
		for common < min(len(p), len(last)) && p[common] == last[common] {
			common++
		}
		n += len(p) - common
		last = p
	}
	return n
}

// insert adds the nodes of one pattern.
func (a *automaton) insert(pattern string) {
	var at uint32
	for i := range len(pattern) {
		next := a.child(at, pattern[i])
		if next == 0 {
			next = a.grow(at, pattern[i])
		}
		at = next
	}
	a.nodes[at].end, a.nodes[at].hit = true, true
}

// grow adds a child to a node.
func (a *automaton) grow(parent uint32, label byte) uint32 {
	child := uint32(len(a.nodes))
	n := node{depth: a.nodes[parent].depth + 1, label: label}
	if a.nodes[parent].parent {
		first := &a.nodes[parent+1]
		n.sibling, first.sibling = first.sibling, child
	}
	a.nodes[parent].parent = true
	a.nodes = append(a.nodes, n)
	return child
}

// firstChild is the first child of a node; 0 for none.
func (a *automaton) firstChild(at uint32) uint32 {
	if a.nodes[at].parent {
		return at + 1
	}
	return 0
}

// child is the child of a node with a label; 0 for none.
func (a *automaton) child(at uint32, label byte) uint32 {
	for c := a.firstChild(at); c != 0; c = a.nodes[c].sibling {
		if a.nodes[c].label == label {
			return c
		}
	}
	return 0
}

func (a *automaton) fillRows() {
	a.rows = make([]uint32, a.columns*a.columns)
	root := a.rows[:a.columns]
	for c := a.firstChild(0); c != 0; c = a.nodes[c].sibling {
		root[a.class[a.nodes[c].label]] = c
	}
	for c := a.firstChild(0); c != 0; c = a.nodes[c].sibling {
		row := a.rows[int(a.class[a.nodes[c].label])*a.columns:][:a.columns]
		copy(row, root)
		for g := a.firstChild(c); g != 0; g = a.nodes[g].sibling {
			row[a.class[a.nodes[g].label]] = g
		}
	}
}

// link finds the fail nodes, breadth first.
func (a *automaton) link() {
	queue := append(make([]uint32, 0, len(a.nodes)), 0)
	for i := 0; i < len(queue); i++ {
		parent := queue[i]
		for c := a.firstChild(parent); c != 0; c = a.nodes[c].sibling {
			n := &a.nodes[c]
			if parent != 0 {
				n.fail = a.step(a.nodes[parent].fail, n.label)
			}
			n.hit = n.hit || a.nodes[n.fail].hit
			queue = append(queue, c)
		}
	}
}

// step is the node after one more byte: the longest suffix of the input that is a prefix of a pattern.
func (a *automaton) step(at uint32, b byte) uint32 {
	column := a.class[b]
	if column == 0 {
		return 0
	}
	for a.nodes[at].depth > 1 {
		if c := a.child(at, b); c != 0 {
			return c
		}
		at = a.nodes[at].fail
	}
	row := uint16(0)
	if at != 0 {
		row = a.class[a.nodes[at].label]
	}
	return a.rows[int(row)*a.columns+int(column)]
}

// match is the length of the longest pattern that ends at a node; 0 for none.
func (a *automaton) match(at uint32) int {
	if !a.nodes[at].hit {
		return 0
	}
	for !a.nodes[at].end {
		at = a.nodes[at].fail
	}
	return int(a.nodes[at].depth)
}
