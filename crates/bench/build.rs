//! Tells the crate how far it is optimised: figures of a program that is not mean nothing.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=VESICA_BENCH_OPT_LEVEL={}", std::env::var("OPT_LEVEL").unwrap_or_default());
}
