// A module around Jaeger's all-in-one: Go builds a program of another module only where some module requires
// that one. Of the versions that take OTLP this is an older one, as it builds in minutes. The replacement is
// Jaeger's own, which does not count for those who require it.
module jaeger

go 1.24.6

require github.com/jaegertracing/jaeger v1.45.0

replace github.com/Shopify/sarama => github.com/Shopify/sarama v1.33.0
