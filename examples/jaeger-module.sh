# For the scripts that build programs out of Jaeger's module, which source this: goes to the folder that
# their first argument names, made where needed, and puts their go.mod there with Jaeger's checksums.
# Sets $here, the script's own folder. Builds nothing.
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
cp "$here/go.mod" .
# The versions and checksums are those that Jaeger itself was released with.
jaeger=$(go mod download -json "$(awk '$1 == "require" { print $2 "@" $3 }' go.mod)" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
cp "$jaeger/go.sum" go.sum && chmod u+w go.sum
