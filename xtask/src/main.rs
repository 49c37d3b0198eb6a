//! Checks of the repository that no compiler makes.

fn main() {}
