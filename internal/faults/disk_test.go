//go:build e2e && linux

package faults

import (
	"context"
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
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// disk is a file system in memory that simulates a page cache above a disk. Programs see the page cache: every write,
// name and length. The disk has only synced changes: a file's bytes and length by a sync of the file, a name in a
// folder (made, renamed or removed) by a sync of the folder. Unsynced changes may reach the disk or not, see
// [disk.afterPowerLoss].
type disk struct {
	mu    sync.Mutex
	root  *node
	nodes uint64 // the number of nodes made so far: the last inode number

	// fault returns the error of an operation; nil for a healthy disk.
	fault func(operation) syscall.Errno
	// syncTakes is how long each sync takes, in nanoseconds.
	syncTakes atomic.Int64
	// liesAbout reports whether the disk acknowledges syncs of files, or of folders, without doing them, as if the
	// program had left them out.
	liesAbout func(folder bool) bool

	changes int           // operations tried so far, except opens
	dies    int           // the number of the operation at which the power goes; 0 for never
	dead    chan struct{} // closed when the power goes
}

type kind int

const (
	writes    kind = iota // bytes overwrite other bytes
	grows                 // bytes are written beyond the end of the file
	syncs                 // changes are put onto the disk
	creates               // a file, folder or link is made
	names                 // a name is changed or removed
	truncates             // a file's length is set
	opens                 // a file is opened for writing, which changes nothing yet
)

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

type node struct {
	number   uint64
	mode     uint32 // its type and permissions
	modified time.Time
	links    int // how many names it has

	data     []byte   // of a file, as programs see it
	durable  []byte   // of a file, as it is on the disk
	unsynced []change // changes of a file since its last sync

	entries         map[string]*node // of a folder, as programs see it
	durableEntries  map[string]*node
	unsyncedEntries []renaming
}

func (n *node) isFolder() bool { return n.mode&syscall.S_IFMT == syscall.S_IFDIR }

type change struct {
	offset int64
	data   []byte // nil for a change that sets the length to offset
}

// renaming is a change of a folder's names: for each name its new node, nil for a removed name. A renaming gets onto
// the disk as a whole or not at all, as on a file system with a journal.
type renaming map[string]*node

func (d *disk) newNode(mode uint32) *node {
	d.nodes++
	n := &node{number: d.nodes, mode: mode, modified: time.Now()}
	if n.isFolder() {
		n.entries, n.durableEntries = map[string]*node{}, map[string]*node{}
	}
	return n
}

// allow counts an operation, unless it is an open, and returns its error, 0 for none. The caller holds d.mu.
func (d *disk) allow(op operation) syscall.Errno {
	if d.isDead() {
		return syscall.EIO
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

func (d *disk) setFault(fault func(operation) syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = fault
}

func (d *disk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isDead() {
		close(d.dead)
	}
}

func (d *disk) isDead() bool {
	select {
	case <-d.dead:
		return true
	default:
		return false
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

func (c change) apply(data []byte) []byte {
	if c.data == nil {
		return resize(data, c.offset)
	}
	data = resize(data, max(int64(len(data)), c.offset+int64(len(c.data))))
	copy(data[c.offset:], c.data)
	return data
}

func resize(data []byte, length int64) []byte {
	if int64(len(data)) >= length {
		clear(data[length:])
		return data[:length]
	}
	return append(data, make([]byte, length-int64(len(data)))...)
}

// sync puts a file's bytes, or a folder's names, onto the disk. If it fails, these changes never reach the disk, though
// programs still see them: Linux marks pages as clean that it could not write.
func (d *disk) sync(n *node, name string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	errno := d.allow(operation{syncs, name, n.isFolder()})
	if d.isDead() {
		return errno
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

// luck decides which unsynced changes survive a power loss.
type luck struct {
	// chance is the least probability with which an unsynced change survives; with 0 no such change does.
	chance float64
	// sector is how many bytes the disk writes as a whole.
	sector int64
	random *rand.Rand
}

func (l luck) String() string {
	return fmt.Sprintf("%.0f %% of unsynced changes in sectors of %d bytes", 100*l.chance, l.sector)
}

// afterPowerLoss returns the disk as the restarted machine finds it: with all synced changes, and with some unsynced
// changes, as luck decides.
func (d *disk) afterPowerLoss(l luck) *disk {
	d.cut()
	d.mu.Lock()
	defer d.mu.Unlock()
	next := &disk{nodes: d.nodes, dead: make(chan struct{}), liesAbout: d.liesAbout}
	next.root = survivor(d.root, l, map[*node]*node{})
	return next
}

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

// leave returns a file's bytes after a power loss. Each sector, and the length, is in its state at a random moment
// since the last sync, and each has a moment of its own.
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

// mounted is a disk that programs use as a file system. Only other processes may use it: if the test waited for a page
// of a mapped file, it would stop its own threads, which have to supply the page.
type mounted struct {
	*disk
	dir    string
	server *fuse.Server
}

// canMount returns why this machine cannot mount a disk, or an empty text.
func canMount(t *testing.T) string {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return fmt.Sprintf("no /dev/fuse (%v)", err)
	}
	f.Close()
	m, err := mount(t, newDisk())
	if err != nil {
		return fmt.Sprintf("no file system can be mounted (%v)", err)
	}
	m.unmount()
	return ""
}

func mount(t *testing.T, d *disk) (*mounted, error) {
	dir := t.TempDir()
	// All changes come through this kernel, so it may cache names and attributes.
	forever := time.Hour
	server, err := fs.Mount(dir, &inode{disk: d, node: d.root}, &fs.Options{
		EntryTimeout: &forever, AttrTimeout: &forever,
		RootStableAttr: &fs.StableAttr{Ino: d.root.number},
		MountOptions:   fuse.MountOptions{DirectMount: true, FsName: "todo-mcp-faults", DisableXAttrs: true, ExplicitDataCacheControl: true},
	})
	if err != nil {
		return nil, err
	}
	m := &mounted{disk: d, dir: dir, server: server}
	t.Cleanup(m.unmount)
	return m, nil
}

func (m *mounted) unmount() {
	if m.server == nil {
		return
	}
	if err := m.server.Unmount(); err != nil {
		_ = syscall.Unmount(m.dir, syscall.MNT_DETACH)
	}
	m.server = nil
}

type inode struct {
	fs.Inode
	disk *disk
	node *node
}

func (i *inode) name() string {
	name, _ := i.Parent()
	return name
}

func (i *inode) child(ctx context.Context, n *node, out *fuse.EntryOut) *fs.Inode {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	n.describe(&out.Attr)
	return i.NewInode(ctx, &inode{disk: i.disk, node: n}, fs.StableAttr{Mode: n.mode & syscall.S_IFMT, Ino: n.number})
}

func (n *node) describe(out *fuse.Attr) {
	out.Ino, out.Mode, out.Size, out.Nlink = n.number, n.mode, uint64(len(n.data)), uint32(n.links)
	out.Blksize = 4096
	out.Blocks = (out.Size + 511) / 512
	out.SetTimes(&n.modified, &n.modified, &n.modified)
}

func (i *inode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	i.disk.mu.Lock()
	n := i.node.entries[name]
	i.disk.mu.Unlock()
	if n == nil {
		return nil, syscall.ENOENT
	}
	return i.child(ctx, n, out), 0
}

func (i *inode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	i.node.describe(&out.Attr)
	return 0
}

// Setattr sets a file's length and its modification time; it ignores other attributes.
func (i *inode) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if length, ok := in.GetSize(); ok {
		if errno := i.disk.truncate(i.node, i.name(), int64(length)); errno != 0 {
			return errno
		}
	}
	if at, ok := in.GetMTime(); ok {
		i.disk.mu.Lock()
		i.node.modified = at
		i.disk.mu.Unlock()
	}
	return i.Getattr(ctx, f, out)
}

func (i *inode) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	var all []fuse.DirEntry
	for name, n := range i.node.entries {
		all = append(all, fuse.DirEntry{Name: name, Mode: n.mode, Ino: n.number})
	}
	return fs.NewListDirStream(all), 0
}

func (i *inode) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		i.disk.mu.Lock()
		errno := i.disk.allow(operation{kind: opens, name: i.name()})
		i.disk.mu.Unlock()
		if errno != 0 {
			return nil, 0, errno
		}
	}
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (i *inode) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n, errno := i.disk.create(i.node, name, syscall.S_IFREG|mode&0o777)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return i.child(ctx, n, out), nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (i *inode) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n, errno := i.disk.create(i.node, name, syscall.S_IFDIR|mode&0o777)
	if errno != 0 {
		return nil, errno
	}
	return i.child(ctx, n, out), 0
}

func (i *inode) Link(ctx context.Context, to fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	file, ours := to.(*inode)
	if !ours {
		return nil, syscall.EXDEV
	}
	if errno := i.disk.link(i.node, name, file.node); errno != 0 {
		return nil, errno
	}
	return i.child(ctx, file.node, out), 0
}

func (i *inode) Unlink(_ context.Context, name string) syscall.Errno {
	return i.disk.remove(i.node, name)
}

func (i *inode) Rmdir(_ context.Context, name string) syscall.Errno {
	return i.disk.remove(i.node, name)
}

// Rename renames within a folder, which is all that a store needs.
func (i *inode) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if to.EmbeddedInode() != i.EmbeddedInode() || flags != 0 {
		return syscall.EXDEV
	}
	return i.disk.move(i.node, name, newName)
}

func (i *inode) Read(_ context.Context, _ fs.FileHandle, into []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	if offset >= int64(len(i.node.data)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(into[:copy(into, i.node.data[offset:])]), 0
}

func (i *inode) Write(_ context.Context, _ fs.FileHandle, data []byte, offset int64) (uint32, syscall.Errno) {
	if errno := i.disk.write(i.node, i.name(), data, offset); errno != 0 {
		return 0, errno
	}
	return uint32(len(data)), 0
}

func (i *inode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	<-time.After(time.Duration(i.disk.syncTakes.Load()))
	return i.disk.sync(i.node, i.name())
}
