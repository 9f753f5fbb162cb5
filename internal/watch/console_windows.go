package watch

import "os"

// endSignals: Windows has none but those that end the program anyway.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func stopProcess() {}

// readerGone cannot detect a closed reader on Windows; the next write fails
// instead.
func readerGone(*os.File) bool { return false }
