package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuTime is what a process has had, in user space and in the kernel, all threads (proc(5), utime and stime).
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	check(err)
	// Behind the name, which may have spaces: the third field and on.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	user, err := strconv.Atoi(string(fields[11]))
	check(err)
	system, err := strconv.Atoi(string(fields[12]))
	check(err)
	// Linux counts in hundredths of a second there, on every architecture that Debian has.
	return time.Duration(user+system) * 10 * time.Millisecond
}

func residentKiB(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check(err)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "VmRSS:") {
			size, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
			check(err)
			return size
		}
	}
	return 0
}

// syncs writes 4 KiB to the end of a file and waits until the disk has them, again and again: the least that a durable
// write costs on this machine.
func syncs(path string, length time.Duration) map[string]float64 {
	file, err := os.Create(path)
	check(err)
	defer os.Remove(path)
	defer file.Close()
	page := bytes.Repeat([]byte{1}, 4096)
	var times []int64
	begin := time.Now()
	for time.Since(begin) < length {
		start := time.Now()
		_, err := file.Write(page)
		check(err)
		check(syscall.Fdatasync(int(file.Fd())))
		times = append(times, int64(time.Since(start)))
	}
	return map[string]float64{
		"per_second": float64(len(times)) / time.Since(begin).Seconds(), "p50": percentile(times, 0.50),
		"p99": percentile(times, 0.99),
	}
}
