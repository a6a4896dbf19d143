//! The windlass program.
fn main() {}
