// With the tag "registered" the program registers our processor itself, the other way to get events.

//go:build registered

package main

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	slowpathspans "slowpath/spans-go"
)

func options() []sdktrace.TracerProviderOption {
	return []sdktrace.TracerProviderOption{sdktrace.WithSpanProcessor(slowpathspans.New())}
}
