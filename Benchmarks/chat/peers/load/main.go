// Command load puts the same load of a chat on Roost and on an XMPP server, and prints figures as a line of JSON each.
//
//	load fan -target roost|xmpp -address 127.0.0.1:8080 -members FILE -pid PID -rates 10,20 -seconds 6
//	load idle -target roost|xmpp -address … -members FILE -pid PID
//	load requests -address … -requests FILE -parallel 32 -seconds 3
//	load sync -file FILE -seconds 2
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"
)

// Everything ends by then, whatever a server does.
const patience = 100 * time.Second

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: load fan|idle|requests|sync …")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	target := flags.String("target", "roost", "roost or xmpp")
	address := flags.String("address", "", "host and port of the server")
	path := flags.String("members", "", "a file with a line for each member: token or name, and channel or room")
	requests := flags.String("requests", "", "a file with requests as lines of JSON")
	pid := flags.Int("pid", 0, "the server's process")
	rates := flags.String("rates", "10", "messages a second, one part after the other")
	size := flags.Int("size", 200, "bytes of a message's text")
	parallel := flags.Int("parallel", 1, "requests at a time")
	seconds := flags.Int("seconds", 5, "length of a part")
	file := flags.String("file", "", "a file that is made and removed")
	flags.Parse(os.Args[2:])
	time.AfterFunc(patience, func() { log.Fatal("The load program has run for too long.") })

	switch os.Args[1] {
	case "fan":
		members := connect(*target, *address, readMembers(*path))
		fan := newFan(members, *pid, *size)
		for _, rate := range strings.Split(*rates, ",") {
			number, err := strconv.ParseFloat(rate, 64)
			check(err)
			show(fan.run(number, time.Duration(*seconds)*time.Second))
		}
	case "idle":
		show(idle(*target, *address, readMembers(*path), *pid))
	case "requests":
		show(ask(*address, *requests, *parallel, time.Duration(*seconds)*time.Second))
	case "sync":
		show(syncs(*file, time.Duration(*seconds)*time.Second))
	default:
		log.Fatalf("unknown command %s", os.Args[1])
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func show(figures map[string]float64) {
	text, err := json.Marshal(figures)
	check(err)
	fmt.Println(string(text))
}

// readMembers gives the words of each line.
func readMembers(path string) [][]string {
	text, err := os.ReadFile(path)
	check(err)
	var members [][]string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		members = append(members, strings.Fields(line))
	}
	return members
}
