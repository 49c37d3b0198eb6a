//! Services: what spans alone tell, aggregated over many distributed traces.

#![forbid(unsafe_code)]
