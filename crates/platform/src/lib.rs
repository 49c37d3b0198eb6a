//! Memory maps, files and system calls: the room where unsafe lives.

mod long_list;
mod map;
mod shared_memory;
mod shelf;

pub use long_list::LongList;
pub use map::MappedFile;
pub use shared_memory::SharedMemory;
pub use shelf::{Kept, Shelf, ShelfWriter};

pub mod clocks;
pub mod connections;
pub mod ownership;
pub mod process;
pub mod room;
pub mod signals;
pub mod splice;
pub mod tracefs;
pub mod uprobes;
pub mod wait;
pub mod written_files;
