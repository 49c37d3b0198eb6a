//! Requests: which thread served which span when, and where each request's time went.

#![forbid(unsafe_code)]
