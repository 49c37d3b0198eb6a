// Starts a command (HotROD), sends it a bounded number of ride requests, prints their latencies on
// stderr, and ends it, so that `slowpath record -- load … -- hotrod all` is all there is to run.
// Not a benchmark tool: each sender waits for an answer before it asks again.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var customers = []string{"123", "392", "731", "567"}

func main() {
	requests := flag.Int("requests", 200, "requests in all")
	atOnce := flag.Int("at-once", 8, "requests at a time")
	url := flag.String("url", "http://127.0.0.1:8080", "where the command serves")
	flag.Parse()
	if err := run(*requests, *atOnce, *url, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(requests, atOnce int, url string, command []string) error {
	if len(command) == 0 || requests < 1 || atOnce < 1 {
		return fmt.Errorf("usage: load [-requests N] [-at-once N] -- COMMAND")
	}
	server := exec.Command(command[0], command[1:]...)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		server.Process.Signal(syscall.SIGTERM)
		server.Wait()
	}()
	if err := answers(url); err != nil {
		return err
	}
	latencies, failures := send(requests, atOnce, url)
	// HotROD sends its spans every second, and none at its end.
	time.Sleep(1500 * time.Millisecond)
	if len(latencies) == 0 {
		return fmt.Errorf("none of %d requests was answered", requests)
	}
	slices.Sort(latencies)
	fmt.Fprintf(os.Stderr, "load: %d answered, %d failed; median %v, p99 %v, slowest %v\n", len(latencies), failures,
		latencies[len(latencies)/2], latencies[len(latencies)*99/100], latencies[len(latencies)-1])
	return nil
}

// Waits until the server answers at all, at most half a minute.
func answers(url string) error {
	var err error
	for range 300 {
		var response *http.Response
		if response, err = http.Get(url + "/"); err == nil {
			response.Body.Close()
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("the command does not serve %s: %w", url, err)
}

func send(requests, atOnce int, url string) (latencies []time.Duration, failures int) {
	var sent, failed atomic.Int64
	var collecting sync.Mutex
	var senders sync.WaitGroup
	client := http.Client{Timeout: 30 * time.Second}
	for range atOnce {
		senders.Add(1)
		go func() {
			defer senders.Done()
			for {
				number := sent.Add(1) - 1
				if number >= int64(requests) {
					return
				}
				begin := time.Now()
				response, err := client.Get(fmt.Sprintf("%s/dispatch?customer=%s&nonse=%d", url, customers[number%4], number))
				if err == nil {
					_, err = io.Copy(io.Discard, response.Body)
					response.Body.Close()
				}
				if err != nil || response.StatusCode != http.StatusOK {
					failed.Add(1)
					continue
				}
				collecting.Lock()
				latencies = append(latencies, time.Since(begin).Round(time.Microsecond))
				collecting.Unlock()
			}
		}()
	}
	senders.Wait()
	return latencies, int(failed.Load())
}
