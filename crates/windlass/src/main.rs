//! The windlass program.

#[cfg_attr(not(test), expect(dead_code, reason = "no command reads captures yet"))]
mod input;

fn main() {}
