//! What the units of work take in large batches, on one thread: what floors are made of.

use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use vesica_crypto::block::Block;
use vesica_crypto::group::{
    Elements as _, FixedBase as _, Group, Ristretto255, RistrettoBase, RistrettoElements,
};
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::{Prg, Streams};
use vesica_crypto::transpose::{COLUMNS, ROWS, transpose};

type G = Ristretto255;

/// Elements, keys or blocks of a large batch.
const BATCH: usize = 1 << 12;

/// Milliseconds of a duration.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The least of several times of `work`, in milliseconds.
pub(crate) fn least(mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        milliseconds(start.elapsed())
    };
    (0..15).map(time).fold(f64::INFINITY, f64::min)
}

/// Milliseconds a unit.
pub(crate) struct Rates {
    /// A product with one scalar for all elements.
    pub(crate) product: f64,
    /// A product of a fixed base.
    pub(crate) of_base: f64,
    pub(crate) map: f64,
    pub(crate) decode: f64,
    pub(crate) encode: f64,
    /// A block of AES in counter mode.
    pub(crate) aes: f64,
    /// A row of 128 bits, transposed.
    pub(crate) row: f64,
    /// A BLAKE3 hash of up to 64 bytes.
    pub(crate) hash: f64,
    /// A byte copied in the cache.
    pub(crate) byte: f64,
}

impl Rates {
    pub(crate) fn measure() -> Self {
        let mut rng = Prg::from_seed([7; 16]);
        let mut uniform = vec![[0; 64]; BATCH];
        rng.fill(uniform.as_flattened_mut());
        let scalars: Vec<_> = (0..BATCH).map(|_| G::random_scalar(&mut rng)).collect();
        let (elements, table) = (RistrettoElements::map(&uniform), RistrettoBase::new(&G::generator()));
        let mut encoded = vec![[0; 32]; BATCH];
        elements.encode_doubles(&mut encoded);
        let mut out = encoded.clone();
        let mut blocks = vec![Block::ZERO; BATCH];
        let seeds: Vec<Block> = (0..ROWS as u128).map(Block::from).collect();
        let mut tile = [[Block::ZERO; COLUMNS / Block::BITS]; ROWS];
        Streams::from_seeds(&seeds).fill_rows(&mut tile);
        let mut columns = [Block::ZERO; COLUMNS];
        let oracle = Context::new(&[0; 32], "example", b"", 1, 1).oracle(Label::new("rate"));
        let (inputs, mut hashes) = (vec![5; BATCH * 64], vec![0; BATCH * 32]);
        let (from, mut to) = (vec![3_u8; 1 << 18], vec![0; 1 << 18]);
        let batch = BATCH as f64;
        Self {
            product: least(|| drop(black_box(elements.multiply(&scalars[0])))) / batch,
            of_base: least(|| drop(black_box(table.multiply(&scalars)))) / batch,
            map: least(|| drop(black_box(RistrettoElements::map(&uniform)))) / batch,
            decode: least(|| drop(black_box(RistrettoElements::decode(&encoded)))) / batch,
            encode: least(|| elements.encode_doubles(black_box(&mut out))) / batch,
            aes: least(|| rng.fill_blocks(black_box(&mut blocks))) / batch,
            row: least(|| transpose(black_box(&tile), black_box(&mut columns))) / COLUMNS as f64,
            hash: least(|| oracle.hash_batch(black_box(&inputs), 64, &mut hashes, 32)) / batch,
            byte: least(|| black_box(&mut to).copy_from_slice(black_box(&from))) / from.len() as f64,
        }
    }

    pub(crate) fn print(&self) {
        println!("units of work, one thread, large batches:");
        let micro = |value: f64| value * 1e3;
        println!(
            "  ristretto255, µs: product {:.2}, product of a fixed base {:.2}, map {:.2}, decode {:.2}, encode {:.2}",
            micro(self.product),
            micro(self.of_base),
            micro(self.map),
            micro(self.decode),
            micro(self.encode)
        );
        let nano = |value: f64| value * 1e6;
        println!(
            "  ns: AES block {:.2}, row transposed {:.2}, hash of 64 bytes {:.1}, byte copied {:.3}",
            nano(self.aes),
            nano(self.row),
            nano(self.hash),
            nano(self.byte)
        );
        let [trip, spawn, page] = system();
        println!(
            "  the system's, µs: half a round trip on loopback {:.1}, a thread started and joined {:.1}, \
             a page of 4 KiB taken and cleared {:.2}",
            micro(trip),
            micro(spawn),
            micro(page)
        );
    }
}

/// Milliseconds of half a round trip on loopback (median), of a thread, and of a fresh page.
fn system() -> [f64; 3] {
    const TRIPS: usize = 1001;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut trips = thread::scope(|scope| {
        let address = listener.local_addr().unwrap();
        scope.spawn(move || {
            let mut there = TcpStream::connect(address).unwrap();
            there.set_nodelay(true).unwrap();
            let mut byte = [0];
            for _ in 0..TRIPS {
                there.read_exact(&mut byte).unwrap();
                there.write_all(&byte).unwrap();
            }
        });
        let (mut here, _) = listener.accept().unwrap();
        here.set_nodelay(true).unwrap();
        let trip = |_| {
            let start = Instant::now();
            here.write_all(&[1]).unwrap();
            here.read_exact(&mut [0]).unwrap();
            milliseconds(start.elapsed()) / 2.0
        };
        (0..TRIPS).map(trip).collect::<Vec<_>>()
    });
    trips.sort_by(f64::total_cmp);
    let spawn = least(|| thread::scope(|scope| drop(scope.spawn(|| ()))));
    const BYTES: usize = 64 << 20;
    let page = least(|| {
        let mut fresh = vec![0_u8; BYTES];
        fresh.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        black_box(&fresh);
    });
    [trips[TRIPS / 2], spawn, page / (BYTES / 4096) as f64]
}
