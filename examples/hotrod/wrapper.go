// Makes HotROD's packages requirements of the module around it (see go.mod). Built never.
package wrapper

import _ "github.com/jaegertracing/jaeger/examples/hotrod/cmd"
