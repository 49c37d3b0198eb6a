#!/bin/sh
# Prepares the Go program in the current folder for being built with span events, without a change to
# its source or its go.mod:
#     sh …/spans-go/instrument.sh FOLDER && go build -modfile FOLDER/go.mod …
# FOLDER gets a copy of go.mod that takes OpenTelemetry's SDK from FOLDER/sdk: the very version that the
# program uses, with our processor in every TracerProvider. Not a build tool: go build is.
set -eu
agent=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)

failed() {
    echo "instrument.sh: $1" >&2
    echo "hint: $2" >&2
    exit 1
}
command -v go >/dev/null 2>&1 || failed "Go is missing" "install Go 1.23 or later"
sdk=$(go list -mod=mod -m -f '{{.Dir}}' go.opentelemetry.io/otel/sdk) && [ -d "$sdk/trace" ] ||
    failed "this program does not use OpenTelemetry's SDK for Go, or the module is not here" \
        "run this in the folder of the program's go.mod, after go mod download"

rm -rf "$folder/sdk"
mkdir -p "$folder/sdk/slowpathspans"
cp -R "$sdk/." "$folder/sdk"
chmod -R u+w "$folder/sdk"
sed 's/^func NewTracerProvider(/func newTracerProviderOfSDK(/' "$sdk/trace/provider.go" >"$folder/sdk/trace/provider.go"
grep -q '^func newTracerProviderOfSDK(opts \.\.\.TracerProviderOption) \*TracerProvider' "$folder/sdk/trace/provider.go" ||
    failed "$sdk/trace/provider.go has no NewTracerProvider as this script knows it" \
        "register slowpathspans.New() in the program instead, see README.md"
cp "$agent/_sdk/slowpath_spans.go" "$folder/sdk/trace/"
cp "$agent"/native/*.go "$folder/sdk/slowpathspans/"

program=$(go env GOMOD)
cp "$program" "$folder/go.mod"
cp "${program%.mod}.sum" "$folder/go.sum"
go mod edit -replace="go.opentelemetry.io/otel/sdk=$folder/sdk" "$folder/go.mod"
