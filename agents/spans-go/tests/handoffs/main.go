// A program with OpenTelemetry whose requests are handed from goroutine to goroutine: started by main,
// queried by three workers, ended by two others, each on a thread of its own so that it can say
// on which. Prints the events that this must fire, as "event trace_id_high trace_id_low span_id vtid".
// test.sh compares its lines with the trace. It knows nothing of slowpath unless built with
// the tag "registered" (see registered.go).
package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const requests = 200

type request struct {
	context context.Context
	span    trace.Span
}

var printing sync.Mutex

func say(event string, span trace.Span) {
	traceID, spanID := span.SpanContext().TraceID().String(), span.SpanContext().SpanID().String()
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(event, digits(traceID[:16]), digits(traceID[16:]), digits(spanID), syscall.Gettid())
}

// Without leading zeros, as the trace has them. (An id is never zero, half of one almost never.)
func digits(hexadecimal string) string {
	if trimmed := strings.TrimLeft(hexadecimal, "0"); trimmed != "" {
		return trimmed
	}
	return "0"
}

// Runs work for each request of a queue on so many threads; closed when all are done.
func onThreads(threads int, queue <-chan request, work func(request)) <-chan struct{} {
	var running sync.WaitGroup
	running.Add(threads)
	for range threads {
		go func() {
			runtime.LockOSThread()
			defer running.Done()
			for request := range queue {
				work(request)
			}
		}()
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	return done
}

func main() {
	runtime.LockOSThread()
	provider := sdktrace.NewTracerProvider(options()...)
	tracer := provider.Tracer("handoffs")
	toQuery, toAnswer := make(chan request), make(chan request)

	queried := onThreads(3, toQuery, func(request request) {
		_, query := tracer.Start(request.context, "query")
		say("start_span", query)
		query.End()
		say("end_span", query)
		toAnswer <- request
	})
	answered := onThreads(2, toAnswer, func(request request) {
		request.span.End()
		say("end_span", request.span)
	})

	for index := range requests {
		context, span := tracer.Start(context.Background(), fmt.Sprint("request ", index))
		say("start_span", span)
		toQuery <- request{context, span}
	}
	_, unsampled := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())).Tracer("").Start(context.Background(), "unsampled")
	unsampled.End()
	close(toQuery)
	<-queried
	close(toAnswer)
	<-answered
}
