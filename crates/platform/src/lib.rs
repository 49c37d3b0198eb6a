//! Memory maps, files and system calls: the room where unsafe lives.

mod map;

pub use map::MappedFile;

pub mod clocks;
pub mod process;
pub mod signals;
pub mod splice;
pub mod tracefs;
pub mod wait;
