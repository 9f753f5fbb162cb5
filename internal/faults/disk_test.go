//go:build e2e && linux

package faults

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// disk is a file system in memory that knows what of it is on the disk. What
// programs see is the page cache: every write, name and length. On the disk is
// what was synced: a file's bytes and length by a sync of the file, a name in a
// folder (made, renamed or removed) by a sync of the folder. The rest may get
// there or not, see [disk.afterPowerLoss].
type disk struct {
	mu    sync.Mutex
	root  *node
	nodes uint64 // how many there have been, for inode numbers

	// fault returns the error of an operation; nil for a healthy disk.
	fault func(operation) syscall.Errno
	// syncTakes is how long each sync takes, in nanoseconds.
	syncTakes atomic.Int64
	// liesAbout says whether a sync of a file (or folder) is acknowledged without
	// being done, which is what a program that leaves it out gets.
	liesAbout func(folder bool) bool

	changes int           // how many changes the disk has taken
	dies    int           // the change at which the power goes; 0 for never
	dead    chan struct{} // closed when the power goes
}

// kind is what an operation does to the disk.
type kind int

const (
	writes    kind = iota // bytes over others that are there
	grows                 // bytes for which the file needs more of the disk
	syncs                 // what was changed gets onto the disk
	creates               // a file or folder is made
	names                 // a name is changed or removed
	truncates             // a file's length is set
	opens                 // a file is opened for writing, which changes nothing yet
)

// operation is what a program wants to do to a file or folder of a name.
type operation struct {
	kind   kind
	name   string
	folder bool
}

func newDisk() *disk {
	d := &disk{dead: make(chan struct{})}
	d.root = d.newNode(syscall.S_IFDIR | 0o755)
	return d
}

// node is a file or a folder.
type node struct {
	number   uint64
	mode     uint32 // its type and permissions
	modified time.Time
	links    int // how many names it has

	data     []byte   // of a file, as programs see it
	durable  []byte   // as it is on the disk
	unsynced []change // since the last sync

	entries         map[string]*node // of a folder, as programs see it
	durableEntries  map[string]*node
	unsyncedEntries []renaming
}

func (n *node) isFolder() bool { return n.mode&syscall.S_IFMT == syscall.S_IFDIR }

// change is bytes that were written at an offset, or a length that was set.
type change struct {
	offset int64
	data   []byte // nil when the length was set, to offset
}

// renaming is what a change of a folder makes of names; nil removes one. The whole
// of it gets onto the disk or nothing, as journals of file systems have it.
type renaming map[string]*node

func (d *disk) newNode(mode uint32) *node {
	d.nodes++
	n := &node{number: d.nodes, mode: mode, modified: time.Now()}
	if n.isFolder() {
		n.entries, n.durableEntries = map[string]*node{}, map[string]*node{}
	}
	return n
}

// allow returns whether an operation can be done now. The caller holds d.mu.
func (d *disk) allow(op operation) syscall.Errno {
	select {
	case <-d.dead:
		return syscall.EIO
	default:
	}
	if op.kind != opens {
		if d.changes++; d.changes == d.dies {
			close(d.dead)
			return syscall.EIO
		}
	}
	if d.fault != nil {
		return d.fault(op)
	}
	return 0
}

// setFault sets or ends a fault.
func (d *disk) setFault(fault func(operation) syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = fault
}

// cut takes the power away now: from here on nothing changes.
func (d *disk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.dead:
	default:
		close(d.dead)
	}
}

func (d *disk) write(n *node, name string, data []byte, offset int64) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	op := operation{kind: writes, name: name}
	if offset+int64(len(data)) > int64(len(n.data)) {
		op.kind = grows
	}
	if errno := d.allow(op); errno != 0 {
		return errno
	}
	c := change{offset, slices.Clone(data)}
	n.data, n.unsynced, n.modified = c.apply(n.data), append(n.unsynced, c), time.Now()
	return 0
}

func (d *disk) truncate(n *node, name string, length int64) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errno := d.allow(operation{kind: truncates, name: name}); errno != 0 {
		return errno
	}
	c := change{offset: length}
	n.data, n.unsynced, n.modified = c.apply(n.data), append(n.unsynced, c), time.Now()
	return 0
}

// apply returns what a change makes of a file's bytes, which it may write to.
func (c change) apply(data []byte) []byte {
	if c.data == nil {
		return resize(data, c.offset)
	}
	data = resize(data, max(int64(len(data)), c.offset+int64(len(c.data))))
	copy(data[c.offset:], c.data)
	return data
}

// resize returns bytes cut or filled with zeros to a length.
func resize(data []byte, length int64) []byte {
	if int64(len(data)) >= length {
		clear(data[length:])
		return data[:length]
	}
	return append(data, make([]byte, length-int64(len(data)))...)
}

// sync puts a file's bytes, or a folder's names, onto the disk. When it fails, what
// it was to put there never gets there, though programs go on seeing it: Linux
// takes pages for clean that it could not write.
func (d *disk) sync(n *node, name string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	errno := d.allow(operation{syncs, name, n.isFolder()})
	select {
	case <-d.dead:
		return errno
	default:
	}
	if errno == 0 && d.liesAbout != nil && d.liesAbout(n.isFolder()) {
		return 0
	}
	if errno == 0 {
		for _, c := range n.unsynced {
			n.durable = c.apply(n.durable)
		}
		for _, r := range n.unsyncedEntries {
			r.apply(n.durableEntries)
		}
	}
	n.unsynced, n.unsyncedEntries = nil, nil
	return errno
}

func (r renaming) apply(entries map[string]*node) {
	for name, n := range r {
		if n == nil {
			delete(entries, name)
		} else {
			entries[name] = n
		}
	}
}

// rename carries out a change of a folder's names.
func (d *disk) rename(folder *node, op operation, r renaming) syscall.Errno {
	if errno := d.allow(op); errno != 0 {
		return errno
	}
	for name, n := range r {
		if was := folder.entries[name]; was != nil {
			was.links--
		}
		if n != nil {
			n.links++
		}
	}
	r.apply(folder.entries)
	folder.unsyncedEntries, folder.modified = append(folder.unsyncedEntries, r), time.Now()
	return 0
}

func (d *disk) create(folder *node, name string, mode uint32) (*node, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if folder.entries[name] != nil {
		return nil, syscall.EEXIST
	}
	n := d.newNode(mode)
	return n, d.rename(folder, operation{creates, name, n.isFolder()}, renaming{name: n})
}

// link gives a file one more name.
func (d *disk) link(folder *node, name string, n *node) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if folder.entries[name] != nil {
		return syscall.EEXIST
	}
	return d.rename(folder, operation{creates, name, false}, renaming{name: n})
}

func (d *disk) remove(folder *node, name string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := folder.entries[name]
	switch {
	case n == nil:
		return syscall.ENOENT
	case len(n.entries) > 0:
		return syscall.ENOTEMPTY
	}
	return d.rename(folder, operation{names, name, n.isFolder()}, renaming{name: nil})
}

func (d *disk) move(folder *node, from, to string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := folder.entries[from]
	if n == nil {
		return syscall.ENOENT
	}
	return d.rename(folder, operation{names, from, n.isFolder()}, renaming{from: nil, to: n})
}

// luck is what the power loss leaves of what was not synced.
type luck struct {
	// chance is how likely each change got onto the disk by itself: 0 for none.
	chance float64
	// sector is how many bytes get there together.
	sector int64
	random *rand.Rand
}

func (l luck) String() string {
	return fmt.Sprintf("%.0f %% of unsynced changes in sectors of %d bytes", 100*l.chance, l.sector)
}

// afterPowerLoss returns the disk as a machine finds it that starts again: what was
// synced, and what of the rest luck left.
func (d *disk) afterPowerLoss(l luck) *disk {
	d.cut()
	d.mu.Lock()
	defer d.mu.Unlock()
	next := &disk{nodes: d.nodes, dead: make(chan struct{}), liesAbout: d.liesAbout}
	next.root = survivor(d.root, l, map[*node]*node{})
	return next
}

// survivor returns what is left of a file or folder; found has those that were seen
// before.
func survivor(n *node, l luck, found map[*node]*node) *node {
	if s := found[n]; s != nil {
		return s
	}
	s := &node{number: n.number, mode: n.mode, modified: n.modified}
	found[n] = s
	if !n.isFolder() {
		s.durable = l.leave(n)
		s.data = slices.Clone(s.durable)
		return s
	}
	entries := maps.Clone(n.durableEntries)
	for _, r := range n.unsyncedEntries {
		if l.random.Float64() < l.chance {
			r.apply(entries)
		}
	}
	s.entries = map[string]*node{}
	for name, entry := range entries {
		s.entries[name] = survivor(entry, l, found)
		s.entries[name].links++
	}
	s.durableEntries = maps.Clone(s.entries)
	return s
}

// leave returns the bytes that are left of a file. Each sector has what was written
// to it up to some moment, and so has the length; the moments are not the same, as
// a disk writes in the order that suits it.
func (l luck) leave(n *node) []byte {
	moment := func() int {
		if l.random.Float64() < l.chance {
			return len(n.unsynced)
		}
		if l.chance == 0 {
			return 0
		}
		return l.random.IntN(len(n.unsynced) + 1)
	}
	data, length := slices.Clone(n.durable), int64(len(n.durable))
	lengthMoment, moments := moment(), map[int64]int{}
	for i, c := range n.unsynced {
		end := c.offset + int64(len(c.data))
		if i < lengthMoment && (c.data == nil || end > length) {
			length = end
		}
		for at := c.offset; at < end; {
			sector := at / l.sector
			to := min(end, (sector+1)*l.sector)
			if _, drawn := moments[sector]; !drawn {
				moments[sector] = moment()
			}
			if i < moments[sector] {
				data = change{at, c.data[at-c.offset : to-c.offset]}.apply(data)
			}
			at = to
		}
	}
	return resize(data, length)
}

// copyTo copies what is on the disk to a folder of another one.
func (d *disk) copyTo(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.root.copyTo(dir)
}

func (n *node) copyTo(path string) error {
	if !n.isFolder() {
		return errors.Join(os.WriteFile(path, n.data, 0o600), os.Chtimes(path, time.Time{}, n.modified))
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for name, entry := range n.entries {
		if err := entry.copyTo(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}
