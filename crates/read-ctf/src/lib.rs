//! Reads the Common Trace Format 1.8 and 2.
