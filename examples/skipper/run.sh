#!/bin/sh
# Runs Spring Cloud Skipper, an application that nobody here wrote, from Maven Central under the agent for transfers,
# installs releases, asks for the manifest of each, and shows what of its database's answers it never reads; check.py holds
# that against what Skipper's source code does.
#     run.sh [RELEASES] [ROUNDS]     SLOWPATH names the binary, BACKEND the agent's backend.        Not a benchmark.
example=skipper
. "$(dirname "$0")/../begin.sh"
releases=${1:-12}
rounds=${2:-40}
backend=${BACKEND:-auto}
version=2.6.0
port=17577
skipper=$cache/spring-cloud-skipper-server-$version.jar
agent=agents/java/target/slowpath-transfers.jar
report=$cache/report.jsonl

for tool in java javac jar jcmd mvn python3; do
    command -v "$tool" >/dev/null 2>&1 || failed "$tool is missing" "apt-get install openjdk-17-jdk maven python3"
done
make --silent -C agents/java >&2
[ -f "$agent" ] || failed "the Java agent for transfers could not be built" "make setup, see above"
[ -f "$skipper" ] || timeout 300 mvn --quiet --batch-mode dependency:copy -DoutputDirectory="$cache" \
    -Dartifact="org.springframework.cloud:spring-cloud-skipper-server:$version" >&2 ||
    failed "Skipper is not to be had" "mvn must reach Maven Central, 90 MB"
javac -d "$cache" examples/skipper/Clock.java
jar --create --file "$cache/clock-1.0.0.jar" --main-class Clock -C "$cache" Clock.class

echo "skipper: starts Skipper, which takes a minute" >&2
rm -rf "$report" "$cache/files"
mkdir -p "$cache/files"
# Its libraries are older than Java 17 and look into java.lang. Its classes have the prefix of a framework's.
timeout 900 java -Xmx512m -Djava.io.tmpdir="$cache/files" \
    --add-opens java.base/java.lang=ALL-UNNAMED -Dnet.bytebuddy.experimental=true \
    -javaagent:"$agent=report=$report,report-every=2,packages=org.springframework.cloud.skipper,arms-per-second=1000,backend=$backend" \
    -jar "$skipper" --server.address=127.0.0.1 --server.port="$port" --spring.datasource.url=jdbc:h2:mem:skipper \
    >"$cache/said" 2>&1 &
server=$!
end() {
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    rm -rf "$cache/files"
}
trap end EXIT
trap 'exit 130' INT TERM

timeout 800 python3 examples/skipper/load.py "http://127.0.0.1:$port/api" "$cache/clock-1.0.0.jar" "$releases" "$rounds" \
    >"$cache/asked.json" || failed "Skipper did not answer as it should" "see $cache/said"
# What is not read counts when it is dead: two collections, and the report that follows them.
for collection in 1 2; do
    # `timeout` is the shell's child, Java its.
    jcmd "$(pgrep -P "$server" java)" GC.run >/dev/null
    sleep 3
done

"$slowpath" transfers "$report" --top 3
"$slowpath" transfers "$report" --top 0 --json >"$cache/transfers.json"
python3 examples/skipper/check.py "$cache"
