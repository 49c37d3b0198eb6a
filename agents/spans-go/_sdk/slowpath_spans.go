// Goes into a copy of OpenTelemetry's package sdk/trace, made by ../instrument.sh, which renames the SDK's
// own NewTracerProvider: every provider of the program gets our processor first, so that its events lie
// close to the span's times. Not part of the module beside it, which is for programs that register the
// processor themselves.

package trace

import (
	"context"

	slowpath "go.opentelemetry.io/otel/sdk/slowpathspans"
)

// NewTracerProvider returns the SDK's provider with slowpath's span events added.
func NewTracerProvider(opts ...TracerProviderOption) *TracerProvider {
	slowpath.Load()
	first := []TracerProviderOption{WithSpanProcessor(slowpathProcessor{})}
	return newTracerProviderOfSDK(append(first, opts...)...)
}

type slowpathProcessor struct{}

func (slowpathProcessor) OnStart(_ context.Context, span ReadWriteSpan) {
	if !slowpath.StartRecorded() {
		return
	}
	if ids := span.SpanContext(); ids.IsSampled() {
		slowpath.Start(ids.TraceID(), ids.SpanID())
	}
}

func (slowpathProcessor) OnEnd(span ReadOnlySpan) {
	if !slowpath.EndRecorded() {
		return
	}
	if ids := span.SpanContext(); ids.IsSampled() {
		slowpath.End(ids.TraceID(), ids.SpanID())
	}
}

func (slowpathProcessor) Shutdown(context.Context) error   { return nil }
func (slowpathProcessor) ForceFlush(context.Context) error { return nil }
