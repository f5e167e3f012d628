package logs

import "time"

// Note adds a line of the runner's own to the log, for instance why nothing runs yet. Said again it is not repeated, so
// it may be called with the current state as often as that is looked at. Notes stand between the container's lines,
// where they were made, and begin with "[runner] ".
func (r *Relay) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text = r.config.Masker.Mask(text); text != r.said {
		r.insert(text)
	}
	r.said = text
}

// head relays the lines that the log begins with. An earlier process that has shown anything has shown them.
func (r *Relay) head() {
	for _, text := range r.config.Head {
		_, _ = r.text([]byte(noteLine(r.config.Masker.Mask(text))))
	}
	switch {
	case len(r.config.Head) == 0:
	case r.config.Cursor.Next > 0:
		r.live.skip(r.at)
	default:
		r.live.reach(r.at, time.Time{})
	}
}

// insert adds a note as soon as it does not stand inside a line, or among lines of an earlier process.
func (r *Relay) insert(text string) {
	sec := max(0, int64(time.Since(r.config.Start)/time.Second))
	r.waiting = append(r.waiting, Note{Text: text, Sec: sec})
	r.notes()
}

// notes relays the notes whose turn it is.
func (r *Relay) notes() {
	for !r.open && len(r.restore) > 0 && (r.resumed || r.isDue(r.restore[0])) {
		n := r.restore[0]
		r.restore = r.restore[1:]
		r.say(n)
		if !r.resumed {
			r.live.skip(r.at)
		}
	}
	for !r.open && r.resumed && len(r.waiting) > 0 {
		n := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.say(n)
		r.live.reach(r.at, time.Time{})
	}
}

// isDue tells whether the lines that came before a note are all relayed.
func (r *Relay) isDue(n Note) bool {
	return n.Container < r.at.Container || (n.Container == r.at.Container && n.After <= r.at.Lines)
}

func (r *Relay) say(n Note) {
	sec := r.sec
	r.sec = n.Sec
	_, _ = r.text([]byte(noteLine(n.Text)))
	r.sec = sec
	r.at.note(n)
}
