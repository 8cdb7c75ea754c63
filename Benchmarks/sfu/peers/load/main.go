// load: publishers that send synthetic pictures and sound, and subscribers that count what comes, against one of three
// servers. What a server has to do per packet is the CPU clock of its process (all threads, user and system) over the
// measured time, divided by the packets that reached subscribers in that time.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

var (
	target = flag.String("target", "pion", "pion, janus or livekit")
	at     = flag.String("url", "", "the server's address")
	key    = flag.String("key", "devkey:secret", "LiveKit's API key and secret")
	label  = flag.String("label", "", "written into the result")
	pid    = flag.Int("pid", 0, "the server's process")
	seed   = flag.Int64("run", time.Now().UnixNano(), "makes the names of rooms unlike those of other runs")

	rooms       = flag.Int("rooms", 1, "rooms")
	publishers  = flag.Int("publishers", 1, "publishers in each room")
	subscribers = flag.Int("subscribers", 1, "subscribers in each room")
	meeting     = flag.Bool("meeting", false, "the publishers are the subscribers (LiveKit only)")

	seconds    = flag.Float64("seconds", 5, "measured seconds")
	warmUp     = flag.Float64("warm-up", 2, "seconds before they begin")
	videoRate  = flag.Float64("video-rate", 150, "video packets a second of each publisher")
	videoSize  = flag.Int("video-size", 1150, "bytes of payload of a video packet, 50 more or less from frame to frame")
	burst      = flag.Int("burst", 1, "video packets sent back to back")
	audioRate  = flag.Float64("audio-rate", 50, "audio packets a second of each publisher")
	audioSize  = flag.Int("audio-size", 100, "bytes of payload of an audio packet")
	joining    = flag.Int("joining", 4, "subscribers that join at once; of a meeting all do")
	srtp       = flag.String("srtp", "", "gcm or cm: the only profile that is offered")
	ownAddress = flag.String("address", "127.0.0.1", "the clients' own address")
)

// Of the measured time: 0 before it, 1 in it, 2 after it.
var phase int32

// When the clock of the packets' stamps began.
var began = time.Now()

func must(err error) {
	if err != nil {
		log.Fatalf("%+v", err)
	}
}

func main() {
	flag.Parse()
	if *at == "" {
		*at = map[string]string{"pion": "http://127.0.0.1:7900", "janus": "ws://127.0.0.1:8188", "livekit": "ws://127.0.0.1:7880"}[*target]
	}
	api := newAPI()
	var everybody []*subscriber
	var senders []*sender
	var failed int32
	for room := 0; room < *rooms; room++ {
		server := newServer(room)
		var media []mediaTracks
		for i := 0; i < *publishers; i++ {
			tracks, s := publish(api, server, i)
			media = append(media, tracks)
			senders = append(senders, s...)
		}
		for _, s := range senders[len(senders)-len(media)*tracksEach():] {
			go s.run()
		}
		// So that the server has seen packets of each track.
		time.Sleep(300 * time.Millisecond)

		count := *subscribers
		if *meeting {
			count = *publishers
		}
		var wait sync.WaitGroup
		atOnce := *joining
		if *meeting {
			// Each is complete when it has the tracks of all others, which are published once those can hear, too.
			atOnce = count
		}
		places := make(chan struct{}, atOnce)
		for i := 0; i < count; i++ {
			s := newSubscriber(tracksEach() * wantedPublishers())
			everybody = append(everybody, s)
			wait.Add(1)
			places <- struct{}{}
			go func(i int) {
				defer func() { <-places; wait.Done() }()
				if err := s.join(api, server, i); err != nil {
					log.Println("subscriber", i, "of room", room, err)
					atomic.AddInt32(&failed, 1)
				}
			}(i)
		}
		wait.Wait()
	}
	time.Sleep(time.Duration(*warmUp * 1e9))
	report(measure(), everybody, senders, failed)
	os.Exit(0)
}

// How many publishers a subscriber hears: in a meeting all but itself.
func wantedPublishers() int {
	if *meeting {
		return *publishers - 1
	}
	return *publishers
}

func tracksEach() int {
	count := 0
	for _, rate := range []float64{*audioRate, *videoRate} {
		if rate > 0 {
			count++
		}
	}
	return count
}

type usage struct {
	seconds                  float64
	server, ourselves        int64
	userTicks, systemTicks   int64
	machineBusy, machineAll  int64
	residentKiB, threadCount int64
}

func measure() usage {
	// For whoever attaches a profiler.
	fmt.Fprintln(os.Stderr, "measuring")
	server, ourselves := processCPU(*pid), processCPU(os.Getpid())
	user, system := ticks(*pid)
	busy, all := machine()
	start := time.Now()
	atomic.StoreInt32(&phase, 1)
	time.Sleep(time.Duration(*seconds * 1e9))
	atomic.StoreInt32(&phase, 2)
	elapsed := time.Since(start).Seconds()
	// What was sent last is still on its way.
	time.Sleep(30 * time.Millisecond)
	u := usage{seconds: elapsed, server: processCPU(*pid) - server, ourselves: processCPU(os.Getpid()) - ourselves}
	userAfter, systemAfter := ticks(*pid)
	busyAfter, allAfter := machine()
	u.userTicks, u.systemTicks = userAfter-user, systemAfter-system
	u.machineBusy, u.machineAll = busyAfter-busy, allAfter-all
	u.residentKiB, u.threadCount = statusField(*pid, "VmRSS"), statusField(*pid, "Threads")
	time.Sleep(700 * time.Millisecond)
	return u
}

func report(u usage, everybody []*subscriber, senders []*sender, failed int32) {
	var got int64
	var latencies, setups, firsts, completes []int
	// Whose own p99 is above 50 ms: one or two of them are a path that was taken for narrow, all of them a machine that
	// stood still.
	late := 0
	for _, s := range everybody {
		got += atomic.LoadInt64(&s.measured)
		s.lock.Lock()
		latencies = append(latencies, s.latencies...)
		if percentile(s.latencies, .99) > 50_000 {
			late++
		}
		s.lock.Unlock()
		setups = append(setups, int(s.connected/time.Microsecond))
		firsts = append(firsts, int(s.firstPacket/time.Microsecond))
		if s.complete > 0 {
			completes = append(completes, int(s.complete/time.Microsecond))
		}
	}
	var sent int64
	for _, s := range senders {
		sent += atomic.LoadInt64(&s.measured)
	}
	perRoom := *subscribers
	if *meeting {
		perRoom = *publishers - 1
	}
	expected := sent * int64(perRoom)
	ourCPU := 100 * float64(u.ourselves) / 1e9 / u.seconds
	serverCPU := 100 * float64(u.server) / 1e9 / u.seconds
	busy := 100 * float64(u.machineBusy) / float64(u.machineAll)
	result := map[string]interface{}{
		"label": *label, "rooms": *rooms, "publishers": *publishers, "subscribers": len(everybody), "failed": failed,
		"srtp": *srtp, "burst": *burst, "seconds": u.seconds,
		"sent_per_second":      float64(sent) / u.seconds,
		"forwarded_per_second": float64(got) / u.seconds,
		"forwarded":            got,
		"loss_percent":         100 * float64(expected-got) / float64(max(expected, 1)),
		"cpu_us_per_packet":    float64(u.server) / 1e3 / float64(max(got, 1)),
		"cpu_percent":          serverCPU,
		"user_ticks":           u.userTicks, "system_ticks": u.systemTicks,
		"resident_kib": u.residentKiB, "threads": u.threadCount,
		"load_cpu_percent":  ourCPU,
		"other_cpu_percent": busy*float64(runtime.NumCPU()) - ourCPU - serverCPU,
		"latency_us_p50":    percentile(latencies, .5), "latency_us_p99": percentile(latencies, .99),
		"late_subscribers": late,
		"connected_ms_p50": float64(percentile(setups, .5)) / 1e3, "connected_ms_max": float64(percentile(setups, 1)) / 1e3,
		"first_packet_ms_p50": float64(percentile(firsts, .5)) / 1e3,
		"complete_ms_p50":     float64(percentile(completes, .5)) / 1e3, "complete_ms_max": float64(percentile(completes, 1)) / 1e3,
	}
	text, err := json.Marshal(result)
	must(err)
	fmt.Println(string(text))
}

func percentile(values []int, part float64) int {
	if len(values) == 0 {
		return 0
	}
	sort.Ints(values)
	return values[int(part*float64(len(values)-1))]
}

func max(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}
