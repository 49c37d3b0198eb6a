#!/bin/sh
# The libraries of the families (test_families.py) in earlier versions, as Spring Boot of those days had them.
set -eu
cd "$(dirname "$0")"

with() {
    target=$1
    shift
    mvn --quiet --batch-mode --file families/pom.xml -Dfamilies.target="$target" "$@" clean package
    FAMILIES="$target" python3 test_families.py
}

with target-spring-boot-3.5 -Dspring-boot.version=3.5.7 -Dgrpc.version=1.68.1 -Delasticsearch-client.version=8.18.8
with target-spring-boot-3.1 -Dspring-boot.version=3.1.12 -Dfeign.version=11.10 -Dgrpc.version=1.50.2 \
    -Delasticsearch-client.version=7.17.28
