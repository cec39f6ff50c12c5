//! The program `vesica`.
fn main() {}
