package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A request as a line of a file has it.
type request struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Token  string `json:"token"`
	Body   string `json:"body"`
}

// ask sends requests of a file, so many at a time, from its beginning and round again; the first quarter second is not
// counted.
func ask(address, path string, parallel int, length time.Duration) map[string]float64 {
	requests := readRequests(path)
	client := &http.Client{Transport: &http.Transport{
		DialContext: (&net.Dialer{}).DialContext, MaxIdleConnsPerHost: parallel, MaxConnsPerHost: parallel,
	}, Timeout: 30 * time.Second}
	var next, refused atomic.Int64
	var all sync.WaitGroup
	times := make([][]int64, parallel)
	begin := time.Now().Add(250 * time.Millisecond)
	end := begin.Add(length)
	for worker := 0; worker < parallel; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			// One is counted of each, however long the first of them took.
			for time.Now().Before(end) || len(times[worker]) == 0 {
				one := requests[int(next.Add(1)-1)%len(requests)]
				start := time.Now()
				status := one.send(client, address)
				took := time.Since(start)
				if status == http.StatusTooManyRequests {
					refused.Add(1)
				} else if status/100 != 2 {
					log.Fatalf("%s %s: %d", one.Method, one.Path, status)
				} else if start.After(begin) {
					times[worker] = append(times[worker], int64(took))
				}
			}
		}(worker)
	}
	all.Wait()
	took := time.Since(begin).Seconds()
	var together []int64
	for _, some := range times {
		together = append(together, some...)
	}
	return map[string]float64{
		"count": float64(len(together)), "per_second": float64(len(together)) / took, "refused": float64(refused.Load()),
		"p50": percentile(together, 0.50), "p99": percentile(together, 0.99),
	}
}

func (one request) send(client *http.Client, address string) int {
	message, err := http.NewRequest(one.Method, "http://"+address+"/api/v1"+one.Path, strings.NewReader(one.Body))
	check(err)
	message.Header.Set("Authorization", "Bearer "+one.Token)
	if one.Body != "" {
		message.Header.Set("Content-Type", "application/json")
	}
	answer, err := client.Do(message)
	check(err)
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	check(err)
	return answer.StatusCode
}

func readRequests(path string) []request {
	text, err := os.ReadFile(path)
	check(err)
	var requests []request
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one request
		check(json.Unmarshal(lines.Bytes(), &one))
		requests = append(requests, one)
	}
	check(lines.Err())
	return requests
}
