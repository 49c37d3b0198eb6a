// What a span (start, end) costs its thread, in nanoseconds of processor time: the best and the median of
// many rounds. bench.sh builds it without our events and with them. Not a benchmark of the SDK.
package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	rounds        = 100
	spansPerRound = 5000
)

// clockThreadCPU is CLOCK_THREAD_CPUTIME_ID of clock_gettime(2), which package syscall does not name.
const clockThreadCPU = 3

func threadTime() time.Duration {
	var now syscall.Timespec
	if _, _, failure := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&now)), 0); failure != 0 {
		panic(failure)
	}
	return time.Duration(now.Nano())
}

// A processor as any real program has one, that costs nothing.
type ignore struct{}

func (ignore) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (ignore) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (ignore) Shutdown(context.Context) error                  { return nil }
func (ignore) ForceFlush(context.Context) error                { return nil }

func main() {
	runtime.LockOSThread()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ignore{})).Tracer("cost")
	var perSpan []time.Duration
	for range rounds {
		begin := threadTime()
		for range spansPerRound {
			_, span := tracer.Start(context.Background(), "span")
			span.End()
		}
		perSpan = append(perSpan, (threadTime()-begin)/spansPerRound)
		time.Sleep(5 * time.Millisecond)
	}
	slices.Sort(perSpan)
	fmt.Printf("best %d ns, median %d ns per span\n", perSpan[0].Nanoseconds(), perSpan[rounds/2].Nanoseconds())
}
