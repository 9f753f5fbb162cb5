package page

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// Machine returns the beginning of a sentence, which says when and on which machine something was measured.
func Machine() (string, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return "", err
	}
	cores, err := fs.CPUInfo()
	if err != nil || len(cores) == 0 {
		return "", fmt.Errorf("read the processor: %w", err)
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Measured on %s: %d cores of %s, Linux %s",
		time.Now().UTC().Format(time.DateOnly), len(cores), cores[0].ModelName, strings.TrimSpace(string(kernel))), nil
}
