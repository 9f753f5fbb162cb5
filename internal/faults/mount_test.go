//go:build e2e && linux

package faults

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// mounted is a disk that programs use as a file system. Only other processes may:
// a page of a mapped file that the test itself waited for would stop the threads
// that have to bring it.
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

// mount mounts a disk until unmount, or the end of the test.
func mount(t *testing.T, d *disk) (*mounted, error) {
	dir := t.TempDir()
	// Nothing changes but through this kernel, so it may keep what it knows.
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

// unmount takes the file system away, whoever still uses it.
func (m *mounted) unmount() {
	if m.server == nil {
		return
	}
	if err := m.server.Unmount(); err != nil {
		_ = syscall.Unmount(m.dir, syscall.MNT_DETACH)
	}
	m.server = nil
}

// inode is a node of a disk as the kernel sees it.
type inode struct {
	fs.Inode
	disk *disk
	node *node
}

var (
	_ fs.NodeLookuper  = (*inode)(nil)
	_ fs.NodeGetattrer = (*inode)(nil)
	_ fs.NodeSetattrer = (*inode)(nil)
	_ fs.NodeReaddirer = (*inode)(nil)
	_ fs.NodeOpener    = (*inode)(nil)
	_ fs.NodeCreater   = (*inode)(nil)
	_ fs.NodeMkdirer   = (*inode)(nil)
	_ fs.NodeLinker    = (*inode)(nil)
	_ fs.NodeUnlinker  = (*inode)(nil)
	_ fs.NodeRmdirer   = (*inode)(nil)
	_ fs.NodeRenamer   = (*inode)(nil)
	_ fs.NodeReader    = (*inode)(nil)
	_ fs.NodeWriter    = (*inode)(nil)
	_ fs.NodeFsyncer   = (*inode)(nil)
)

// name is the file's name, for faults that only some files have.
func (i *inode) name() string {
	name, _ := i.Parent()
	return name
}

// child returns the inode of an entry of a folder, and describes it.
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

// Setattr sets a file's length and when it was changed; what else may be set is not kept.
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

// Rename renames within a folder, which is all that a store does.
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
