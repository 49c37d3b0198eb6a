// Package slowpathspans fires LTTng-UST events where spans of OpenTelemetry's SDK start and end:
//
//	sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(slowpathspans.New()), …)
//
// For programs whose source is not to be touched see instrument.sh instead; not both. It neither keeps
// nor exports spans.
package slowpathspans

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"slowpath/spans-go/native"
)

// New returns a processor that fires start_span and end_span for each sampled span while a session
// records them. Where libslowpath_spans cannot be loaded it does nothing, and says so once on stderr.
func New() sdktrace.SpanProcessor {
	native.Load()
	return processor{}
}

type processor struct{}

func (processor) OnStart(_ context.Context, span sdktrace.ReadWriteSpan) {
	if !native.StartRecorded() {
		return
	}
	if ids := span.SpanContext(); ids.IsSampled() {
		native.Start(ids.TraceID(), ids.SpanID())
	}
}

func (processor) OnEnd(span sdktrace.ReadOnlySpan) {
	if !native.EndRecorded() {
		return
	}
	if ids := span.SpanContext(); ids.IsSampled() {
		native.End(ids.TraceID(), ids.SpanID())
	}
}

func (processor) Shutdown(context.Context) error   { return nil }
func (processor) ForceFlush(context.Context) error { return nil }
