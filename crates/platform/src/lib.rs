//! Memory maps, files and system calls: the room where unsafe lives.
