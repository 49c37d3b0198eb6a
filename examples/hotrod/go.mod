// A module around HotROD: Go builds a program of another module only where some module requires that one.
// The replacement is Jaeger's own, which does not count for those who require it.
module hotrod

go 1.24.6

require github.com/jaegertracing/jaeger v1.76.0

replace github.com/Shopify/sarama => github.com/Shopify/sarama v1.33.0
