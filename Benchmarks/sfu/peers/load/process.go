package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// The CPU clock of another process, in nanoseconds: clock_getcpuclockid(3) makes the clock's number of the pid.
func processCPU(pid int) int64 {
	var time syscall.Timespec
	clock := (^pid)<<3 | 2
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&time)), 0); err != 0 {
		return 0
	}
	return time.Nano()
}

// User and system time in ticks, fields 14 and 15 of proc_pid_stat(5).
func ticks(pid int) (user, system int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return
	}
	fields := strings.Fields(string(text[end+1:]))
	user, _ = strconv.ParseInt(fields[11], 10, 64)
	system, _ = strconv.ParseInt(fields[12], 10, 64)
	return
}

func statusField(pid int, name string) (value int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, name+":") {
			value, _ = strconv.ParseInt(strings.Fields(line)[1], 10, 64)
		}
	}
	return
}

// Ticks in which the machine's cores did something, and all of them.
func machine() (busy, all int64) {
	text, _ := os.ReadFile("/proc/stat")
	for i, field := range strings.Fields(strings.SplitN(string(text), "\n", 2)[0])[1:9] {
		value, _ := strconv.ParseInt(field, 10, 64)
		all += value
		if idle := i == 3 || i == 4; !idle {
			busy += value
		}
	}
	return
}
