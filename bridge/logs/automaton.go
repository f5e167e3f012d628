package logs

// automaton finds every occurrence of many patterns in one pass over the input (Aho and Corasick's algorithm).
//
// Nodes are the prefixes of the patterns. The empty prefix and those of one byte, where nearly all of a log's bytes
// end, come first, have full rows of transitions, and are numbered by the columns of their bytes. There is a masker for
// each running pipeline, so the other nodes are small: their children are found through sibling lists.
type automaton struct {
	nodes   []node
	column  [256]uint16 // of a byte in rows; 0 for bytes that no pattern has
	columns uint32
	rows    []uint32 // transitions of the first nodes, as many as there are columns
}

// node is one prefix of a pattern.
type node struct {
	sibling uint32 // another child of the same parent; 0 for none
	fail    uint32 // the longest proper suffix that is a node, too
	depth   uint32 // length of the prefix in bytes
	label   byte   // last byte of the prefix
	parent  bool   // has children, of which the first is the next node; not for nodes with rows
	end     bool   // is a pattern
	hit     bool   // some pattern ends here
}

// newAutomaton makes the automaton for patterns, which are sorted: then the first child of a node is always made right
// after it.
func newAutomaton(patterns []string) *automaton {
	a := &automaton{columns: 1}
	for _, p := range patterns {
		for i := range len(p) {
			if c := &a.column[p[i]]; *c == 0 {
				*c = uint16(a.columns)
				a.columns++
			}
		}
	}
	a.rows = make([]uint32, a.columns*a.columns)
	a.nodes = make([]node, a.columns, int(a.columns)+countPrefixes(patterns))
	for _, p := range patterns {
		a.insert(p)
	}
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
		switch {
		case at == 0:
			at = a.insertFirst(pattern[i])
		case at < a.columns:
			to := &a.rows[at*a.columns+uint32(a.column[pattern[i]])]
			if *to == 0 {
				*to = a.grow(at, pattern[i])
			}
			at = *to
		default:
			next := a.child(at, pattern[i])
			if next == 0 {
				next = a.grow(at, pattern[i])
			}
			at = next
		}
	}
	a.nodes[at].end, a.nodes[at].hit = true, true
}

// insertFirst adds the node for the first byte of a pattern.
func (a *automaton) insertFirst(label byte) uint32 {
	at := uint32(a.column[label])
	a.rows[at] = at
	a.nodes[at].depth, a.nodes[at].label = 1, label
	return at
}

// grow adds a child to a node.
func (a *automaton) grow(parent uint32, label byte) uint32 {
	child := uint32(len(a.nodes))
	n := node{depth: a.nodes[parent].depth + 1, label: label}
	if parent >= a.columns {
		if a.nodes[parent].parent {
			first := &a.nodes[parent+1]
			n.sibling, first.sibling = first.sibling, child
		}
		a.nodes[parent].parent = true
	}
	a.nodes = append(a.nodes, n)
	return child
}

// firstChild is the first child of a node without a row; 0 for none.
func (a *automaton) firstChild(at uint32) uint32 {
	if a.nodes[at].parent {
		return at + 1
	}
	return 0
}

// child is the child, with a label, of a node without a row; 0 for none.
func (a *automaton) child(at uint32, label byte) uint32 {
	for c := a.firstChild(at); c != 0; c = a.nodes[c].sibling {
		if a.nodes[c].label == label {
			return c
		}
	}
	return 0
}

// link finds the fail nodes, breadth first, and fills the gaps in the rows.
func (a *automaton) link() {
	queue := make([]uint32, 0, len(a.nodes))
	root := a.rows[:a.columns]
	for first := uint32(1); first < a.columns; first++ {
		row := a.rows[first*a.columns:][:a.columns]
		for column, child := range row {
			if child == 0 {
				row[column] = root[column]
				continue
			}
			a.fail(child, root[column])
			queue = append(queue, child)
		}
	}
	for i := 0; i < len(queue); i++ {
		parent := queue[i]
		for c := a.firstChild(parent); c != 0; c = a.nodes[c].sibling {
			a.fail(c, a.step(a.nodes[parent].fail, a.nodes[c].label))
			queue = append(queue, c)
		}
	}
}

func (a *automaton) fail(at, to uint32) {
	a.nodes[at].fail = to
	a.nodes[at].hit = a.nodes[at].hit || a.nodes[to].hit
}

// step is the node after one more byte: the longest suffix of the input that is a prefix of a pattern.
func (a *automaton) step(at uint32, b byte) uint32 {
	column := a.column[b]
	if column == 0 {
		return 0
	}
	for at >= a.columns {
		if c := a.child(at, b); c != 0 {
			return c
		}
		at = a.nodes[at].fail
	}
	return a.rows[at*a.columns+uint32(column)]
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
