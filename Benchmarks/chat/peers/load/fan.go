package main

import (
	"bytes"
	"fmt"
	"log"
	"math"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A member is somebody who is connected and in the channel.
type member interface {
	// send writes a message into the channel.
	send(text string) error
	// receive calls back with the bytes that come, in order, until the connection ends. A message's text is never cut.
	receive(func([]byte)) error
}

// How many connections are opened at a time.
const opening = 16

// Members who write, in turn: one person may only so often.
const writers = 20

func connect(target, address string, members [][]string) []member {
	open := openRoost
	if target == "xmpp" {
		open = openXMPP
	}
	opened := make([]member, len(members))
	var next atomic.Int64
	var all sync.WaitGroup
	for worker := 0; worker < opening; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			for {
				place := int(next.Add(1)) - 1
				if place >= len(members) {
					return
				}
				member, err := open(address, place, members[place])
				if err != nil {
					log.Fatalf("member %d: %v", place, err)
				}
				opened[place] = member
			}
		}(worker)
	}
	all.Wait()
	return opened
}

// A fan sends messages and takes the time until each member has them.
type fan struct {
	members []member
	pid     int
	filling string
	start   time.Time
	// When each message was sent, in nanoseconds since start.
	sent []atomic.Int64
	next int
	// The messages of a part, and what has come of them.
	first, last atomic.Int64
	came        atomic.Int64
	latencies   [][]int64
}

// Messages of all parts together.
const mostMessages = 1 << 16

var mark = []byte("number=")

func newFan(members []member, pid, size int) *fan {
	fan := &fan{members: members, pid: pid, start: time.Now(), sent: make([]atomic.Int64, mostMessages)}
	words := strings.Repeat(" the quick brown fox jumps over the lazy dog", size/40+1)
	fan.filling = words[:size-len(mark)-6]
	fan.last.Store(-1)
	fan.latencies = make([][]int64, len(members))
	for place := range members {
		go func(place int) {
			err := members[place].receive(func(bytes []byte) { fan.received(place, bytes) })
			log.Fatalf("member %d was left by the server: %v", place, err)
		}(place)
	}
	settle(pid)
	return fan
}

// settle waits until a server has done what its start and the joining of all members have left to do, or ten seconds.
func settle(pid int) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		cpu := cpuTime(pid)
		time.Sleep(time.Second)
		if cpuTime(pid)-cpu <= 20*time.Millisecond {
			return
		}
	}
}

func (fan *fan) now() int64 { return int64(time.Since(fan.start)) }

func (fan *fan) received(place int, text []byte) {
	now := fan.now()
	for {
		found := bytes.Index(text, mark)
		if found < 0 || len(text) < found+len(mark)+6 {
			return
		}
		text = text[found+len(mark):]
		number := 0
		for _, digit := range text[:6] {
			number = number*10 + int(digit-'0')
		}
		if int64(number) >= fan.first.Load() && int64(number) <= fan.last.Load() {
			fan.latencies[place] = append(fan.latencies[place], now-fan.sent[number].Load())
			fan.came.Add(1)
		}
	}
}

// send writes so many messages, at a steady rate, and waits until everybody has them, or for five seconds.
func (fan *fan) send(count int, rate float64) {
	fan.came.Store(0)
	fan.first.Store(int64(fan.next))
	fan.last.Store(int64(fan.next + count - 1))
	begin := time.Now()
	for index := 0; index < count; index++ {
		time.Sleep(time.Until(begin.Add(time.Duration(float64(index) / rate * float64(time.Second)))))
		number := fan.next
		fan.next++
		fan.sent[number].Store(fan.now())
		writer := fan.members[number%writers%len(fan.members)]
		check(writer.send(fmt.Sprintf("%s%06d%s", mark, number, fan.filling)))
	}
	end := time.Now().Add(5 * time.Second)
	for fan.came.Load() < int64(count*len(fan.members)) && time.Now().Before(end) {
		time.Sleep(5 * time.Millisecond)
	}
}

func (fan *fan) run(rate float64, length time.Duration) map[string]float64 {
	fan.send(int(2*rate), rate)
	for place := range fan.latencies {
		fan.latencies[place] = fan.latencies[place][:0]
	}
	count := int(rate * length.Seconds())
	cpu, begin := cpuTime(fan.pid), time.Now()
	fan.send(count, rate)
	took := time.Since(begin).Seconds()
	cpu = cpuTime(fan.pid) - cpu
	var all []int64
	for _, some := range fan.latencies {
		all = append(all, some...)
	}
	return map[string]float64{
		"rate": rate, "deliveries": float64(len(all)), "per_second": float64(len(all)) / took,
		"lost": float64(count*len(fan.members) - len(all)), "us": cpu.Seconds() * 1e6 / math.Max(float64(len(all)), 1),
		"p50": percentile(all, 0.50), "p99": percentile(all, 0.99), "cores": cpu.Seconds() / took,
	}
}

// percentile is in milliseconds.
func percentile(times []int64, part float64) float64 {
	if len(times) == 0 {
		return 0
	}
	sort.Slice(times, func(a, b int) bool { return times[a] < times[b] })
	return float64(times[int(float64(len(times)-1)*part)]) / 1e6
}

// idle opens connections that say nothing more, and tells what each takes of the server's memory.
func idle(target, address string, names [][]string, pid int) map[string]float64 {
	settle(pid)
	before := residentKiB(pid)
	members := connect(target, address, names)
	for place := range members {
		go func(place int) {
			err := members[place].receive(func([]byte) {})
			log.Fatalf("member %d was left by the server: %v", place, err)
		}(place)
	}
	settle(pid)
	cpu := cpuTime(pid)
	time.Sleep(5 * time.Second)
	cpu = cpuTime(pid) - cpu
	after := residentKiB(pid)
	return map[string]float64{
		"before_kib": before, "after_kib": after, "kib": (after - before) / float64(len(members)),
		"sockets": float64(len(members)), "cores": cpu.Seconds() / 5,
	}
}
