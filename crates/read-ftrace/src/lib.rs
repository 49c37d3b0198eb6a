//! Reads ftrace: trace.dat files and folders of raw ring-buffer pages.
