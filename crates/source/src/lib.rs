//! What every trace reader implements, and how a format is recognised. No I/O: readers get bytes.
