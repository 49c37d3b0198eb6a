//! Kernel analyses: count, cpu, io, latency, and the time lines of threads and processors.
