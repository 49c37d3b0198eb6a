// Without the tag "registered" the program is one that has never heard of slowpath.

//go:build !registered

package main

import sdktrace "go.opentelemetry.io/otel/sdk/trace"

func options() []sdktrace.TracerProviderOption { return nil }
