//! Runs analyses over chunks of packets in parallel and merges their states in order. Names no analysis.
