//! Times the kernels in plain Rust and with the vectors of WebAssembly:
//!
//! ```console
//! $ cargo run --profile ci --target wasm32-unknown-unknown -p vesica-kernels --example times
//! ```

#![forbid(unsafe_code)]

#[cfg(target_family = "wasm")]
fn main() {
    wasm::main();
}

#[cfg(not(target_family = "wasm"))]
fn main() {}

#[cfg(target_family = "wasm")]
mod wasm {
    use std::hint::black_box;
    use std::time::Duration;

    use vesica_kernels::aes::{self, Key};
    use vesica_kernels::block::Block;
    use vesica_kernels::{Backend, blake3, gf64, gf128, host, transpose};

    /// As long as a round takes at least.
    const ROUND: Duration = Duration::from_millis(200);

    /// Prints the least time for an element in five rounds.
    fn time(name: &str, backend: Backend, elements: usize, mut work: impl FnMut()) {
        let mut least = f64::INFINITY;
        for _ in 0..5 {
            let (start, mut calls) = (host::now(), 0);
            while host::now() - start < ROUND {
                work();
                calls += 1;
            }
            least = least.min((host::now() - start).as_secs_f64() / (calls * elements) as f64);
        }
        host::print(&format!("{name:32} {:10} {:8.1} ns", backend.level().to_string(), least * 1e9));
    }

    pub(crate) fn main() {
        let mut blocks = vec![Block::ONES; 4096];
        let others: Vec<Block> = (0..4096u128).map(|i| Block::from(i * 0x1234_5678_9abc_def1)).collect();
        let numbers: Vec<u64> = (0..4096).map(|i| i * 0x1234_5678_9abc_def1).collect();
        for backend in Backend::available() {
            let key = Key::new(backend, &Block::ONES);
            time("AES keystream, a block", backend, 4096, || {
                key.keystream(7, Block::slice_as_mut_bytes(&mut blocks));
            });
            time("AES keystream, rows of two", backend, 4096, || {
                for pair in blocks.as_chunks_mut::<2>().0 {
                    key.keystream(7, Block::slice_as_mut_bytes(pair));
                }
            });
            time("hash (ccr), a block", backend, 4096, || key.ccr(&mut blocks));
            time("AES under a fresh key, a block", backend, 4096, || {
                aes::rekeyed::<1, false>(backend, &others, [&mut blocks]);
            });
            time("GF(2^128), a product", backend, 4096, || gf128::multiply(backend, &mut blocks, &others));
            time("GF(2^64), two products", backend, 4096, || {
                gf64::multiply_add(backend, &mut blocks, Block::ONES, &numbers);
            });
            let keyed = blake3::Keyed { key: &[9; 32], mode: blake3::Mode::Keyed };
            let rows = Block::slice_as_bytes(&others);
            time("BLAKE3, an input of 16 bytes", backend, 4096, || {
                keyed.hash_side_by_side(backend, rows, 16, Block::slice_as_mut_bytes(&mut blocks), 16);
            });
            let tile: Box<transpose::Tile> = Box::new([[Block::ONES; 8]; 128]);
            let mut columns = [Block::ZERO; transpose::COLUMNS];
            time("transposition, a column of 128", backend, transpose::COLUMNS, || {
                transpose::transpose(backend, black_box(&tile), &mut columns);
            });
        }
    }
}
