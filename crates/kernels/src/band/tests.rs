use super::*;
use rand::SeedableRng;
use rand::rngs::StdRng;

/// One bit at a time.
fn reference<V: XorValue, const N: usize>(table: &[V], row: &BandRow<N>) -> V {
    (0..64 * N).filter(|bit| row.band[bit / 64] >> (bit % 64) & 1 == 1).fold(V::ZERO, |mut sum, bit| {
        sum ^= table[row.start as usize + bit];
        sum
    })
}

fn random_band<const N: usize>(rng: &mut StdRng) -> [u64; N] {
    let mut band = [0; N];
    u64::randomise(&mut band, rng);
    band
}

fn sums_equal_the_reference<V: XorValue, const N: usize>() {
    let mut rng = StdRng::seed_from_u64(1);
    for columns in [64 * N, 64 * N + 1, 64 * N + 7, 64 * N + 40, 64 * N + 200] {
        let mut table = vec![V::ZERO; columns + 8];
        V::randomise(&mut table, &mut rng);
        // Every alignment, every start.
        for offset in 0..8 {
            let table = &table[offset..][..columns];
            let rows: &[BandRow<N>] = &(0..=columns - 64 * N)
                .flat_map(|start| [[u64::MAX; N], [0; N], random_band(&mut rng)].map(|band| (start, band)))
                .map(|(start, band)| BandRow { start: start as u32, band })
                .collect::<Vec<_>>();
            // Once more far from one another, and by steps of a few columns.
            let order = |step: usize| (0..rows.len()).map(move |i| i * step % rows.len());
            let rows: Vec<BandRow<N>> =
                rows.iter().copied().chain([101, 13].into_iter().flat_map(order).map(|i| rows[i])).collect();
            for backend in Backend::available() {
                let mut found = vec![V::ZERO; rows.len()];
                sums(backend, table, &rows, &mut found);
                for (row, sum) in rows.iter().zip(found) {
                    assert!(sum == reference(table, row), "{backend:?} {columns} {offset} {}", row.start);
                }
            }
        }
    }
}

fn solutions_satisfy_their_system<V: XorValue, const N: usize>() {
    let mut rng = StdRng::seed_from_u64(2);
    for columns in (0..20).chain([200, 333]) {
        let bands: Vec<[u64; N]> = (0..columns)
            .map(|column| {
                let mut band = random_band(&mut rng);
                band[0] |= 1;
                if column % 5 == 3 { [0; N] } else { band }
            })
            .collect();
        for offset in 0..8 {
            let mut memory = vec![V::ZERO; offset + columns + margin(N)];
            V::randomise(&mut memory, &mut rng);
            for backend in Backend::available() {
                let mut memory = memory.clone();
                let given = memory[offset..].to_vec();
                let table = &mut memory[offset..];
                back_substitute(backend, &bands, table);
                for (column, band) in bands.iter().enumerate() {
                    let row = BandRow { start: column as u32, band: *band };
                    let expected = if *band == [0; N] { table[column] } else { reference(table, &row) };
                    assert!(expected == given[column], "{backend:?} {columns} {offset} {column}");
                }
                assert!(table[columns..] == given[columns..], "columns behind the bands stay");
            }
        }
    }
}

macro_rules! for_widths {
    ($($name:ident: $value:ty, $words:literal;)*) => {$(
        #[test]
        fn $name() {
            sums_equal_the_reference::<$value, $words>();
            solutions_satisfy_their_system::<$value, $words>();
        }
    )*};
}

for_widths! {
    words_under_a_word: u64, 1;
    words_under_128: u64, 2;
    words_under_192: u64, 3;
    words_under_256: u64, 4;
    words_under_512: u64, 8;
    words_under_1024: u64, 16;
    blocks_under_a_word: Block, 1;
    blocks_under_128: Block, 2;
    blocks_under_192: Block, 3;
    blocks_under_256: Block, 4;
    blocks_under_512: Block, 8;
    blocks_under_1024: Block, 16;
}

/// Rows of one step may start less than 64 columns apart.
#[test]
fn steps_of_rows_as_far_apart_as_they_may_be() {
    let mut rng = StdRng::seed_from_u64(3);
    let mut table = vec![Block::ZERO; 400];
    Block::randomise(&mut table, &mut rng);
    for (first, apart) in (0..8).flat_map(|first| (56..72).map(move |apart| (first, apart))) {
        for last in [7, 8, 15, 16, 63] {
            let rows: Vec<BandRow<2>> = (0..64)
                .map(|i| BandRow {
                    start: first + if i >= last { apart } else { i % 4 },
                    band: [u64::MAX; 2],
                })
                .collect();
            for backend in Backend::available() {
                let mut found = vec![Block::ZERO; rows.len()];
                sums(backend, &table, &rows, &mut found);
                for (row, sum) in rows.iter().zip(found) {
                    assert!(sum == reference(&table, row), "{backend:?} {first} {apart} {last}");
                }
            }
        }
    }
}

#[test]
#[cfg(panic = "unwind")]
fn a_row_beyond_the_table_is_refused() {
    for backend in Backend::available() {
        for (count, place) in [(1, 0), (8, 7), (16, 0), (16, 15), (64, 40), (70, 69)] {
            for start in [73, 100, u32::MAX - 127, u32::MAX] {
                let mut rows = vec![BandRow { start: 60, band: [u64::MAX; 2] }; count];
                rows[place].start = start;
                let refused = std::panic::catch_unwind(|| {
                    sums(backend, &[0u64; 200], &rows, &mut vec![0; count]);
                });
                assert!(refused.is_err(), "words, {backend:?} {count} {place} {start}");
                let refused = std::panic::catch_unwind(|| {
                    sums(backend, &[Block::ZERO; 200], &rows, &mut vec![Block::ZERO; count]);
                });
                assert!(refused.is_err(), "blocks, {backend:?} {count} {place} {start}");
            }
        }
    }
}

#[test]
#[should_panic = "margin"]
fn a_system_without_margin_is_refused() {
    back_substitute(Backend::detect(), &[[1u64; 2]], &mut [0u64; 128]);
}
