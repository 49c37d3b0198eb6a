// HotROD without its pretended delays, as the paper measured it. Only how it is started differs.
package main

import (
	"github.com/jaegertracing/jaeger/examples/hotrod/cmd"
	"github.com/jaegertracing/jaeger/examples/hotrod/services/config"
)

func main() {
	config.RedisFindDelay, config.RedisFindDelayStdDev = 0, 0
	config.RedisGetDelay, config.RedisGetDelayStdDev = 0, 0
	config.RouteCalcDelay, config.RouteCalcDelayStdDev = 0, 0
	config.MySQLGetDelayStdDev = 0 // the delay itself is an option
	cmd.Execute()
}
