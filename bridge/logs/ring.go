package logs

// ring is a queue in one piece of memory, which grows with it and is given up when the queue is empty, unless it is
// small.
type ring[T any] struct {
	buf         []T
	start, size int
	most        int // elements that it is meant for
}

// keepEmpty is the number of elements up to which the memory of an empty ring is kept.
const keepEmpty = 4096

// at is the element at position i.
func (r *ring[T]) at(i int) *T { return &r.buf[(r.start+i)%len(r.buf)] }

// push appends elements.
func (r *ring[T]) push(elements ...T) {
	if need := r.size + len(elements); need > len(r.buf) {
		grown := make([]T, max(need, min(2*need, r.most)))
		a, b := r.first(r.size)
		copy(grown[copy(grown, a):], b)
		r.buf, r.start = grown, 0
	}
	end := (r.start + r.size) % len(r.buf)
	copy(r.buf, elements[copy(r.buf[end:], elements):])
	r.size += len(elements)
}

// first returns the first n elements, which are in one or two parts.
func (r *ring[T]) first(n int) (a, b []T) {
	inA := min(n, len(r.buf)-r.start)
	return r.buf[r.start : r.start+inA], r.buf[:n-inA]
}

// drop removes the first n elements.
func (r *ring[T]) drop(n int) {
	if n == 0 {
		return
	}
	r.start = (r.start + n) % len(r.buf)
	if r.size -= n; r.size > 0 {
		return
	}
	r.start = 0
	if len(r.buf) > keepEmpty {
		r.buf = nil
	}
}
