//! Protocols that protect nothing, kept as the baseline the papers compare with; run only with
//! `--allow-insecure`.

pub mod naive_hash;
