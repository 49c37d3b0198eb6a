//! Sessions of recording.
