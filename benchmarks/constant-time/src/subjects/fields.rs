//! Products in GF(2^128) and GF(2^64): what VOLE multiplies by Δ, and polynomials of hashes.

use vesica_crypto::backend::Kernels;
use vesica_crypto::block::Block;
use vesica_crypto::gf64;
use vesica_crypto::gf128::{
    Gf128, RowProducts, butterfly_on, inner_product_on, multiply_add_on, multiply_on, table_products_on,
};
use vesica_crypto::prg::Prg;

use super::{Subject, block, blocks, known, row, rows};
use crate::measure::{Class, operation};

const COUNT: usize = 256;
const MODULE: &str = "crypto/src/gf128.rs";

pub(super) fn list() -> Vec<Subject> {
    let gf128 = Kernels::Gf128;
    let mut list = rows(gf128, MODULE, "256 products", "the factors", |backend| {
        let others = known(COUNT);
        operation(
            |class, rng| blocks(class, COUNT, rng),
            move |factors| multiply_on(backend, factors, &others),
        )
    });
    list.extend(rows(gf128, MODULE, "256 products with Δ, added up", "Δ and the values", |backend| {
        let mut sums = known(COUNT);
        operation(
            |class, rng| (Gf128::from(block(class, rng)), blocks(class, COUNT, rng)),
            move |(delta, values)| multiply_add_on(backend, &mut sums, *delta, values),
        )
    }));
    list.extend(rows(gf128, MODULE, "an inner product of 256", "the factors", |backend| {
        let others = known(COUNT);
        operation(
            |class, rng| blocks(class, COUNT, rng),
            move |factors| inner_product_on(backend, factors, &others),
        )
    }));
    list.extend(rows(gf128, MODULE, "256 butterflies of a transform", "the values", |backend| {
        operation(
            |class, rng| (blocks(class, COUNT, rng), blocks(class, COUNT, rng)),
            move |(low, high)| butterfly_on(backend, low, high, Gf128::from(Block::from(0x1234_5678u128))),
        )
    }));
    list.extend(rows(gf128, MODULE, "256 products with entries of 8 tables", "which entries", |backend| {
        let tables: Vec<[Block; 8]> = known(64).as_chunks().0.to_vec();
        let numbers = |class, rng: &mut Prg| -> Vec<u32> {
            blocks(class, COUNT, rng).iter().map(|block| block.to_u128() as u32 & 0xff_ffff).collect()
        };
        operation(
            move |class, rng| (known(COUNT), numbers(class, rng)),
            move |(products, numbers)| table_products_on(backend, products, &tables, numbers),
        )
    }));
    list.extend(rows(gf128, MODULE, "products of 32 rows of 8", "the rows", |backend| {
        let factors: [Block; 8] = known(8).as_chunks().0[0];
        operation(
            |class, rng| blocks(class, COUNT, rng),
            move |values| {
                let mut products = RowProducts::with_backend(backend, COUNT / 8);
                products.add(values.as_chunks().0, &factors);
                products.finish()
            },
        )
    }));
    list.push(row(MODULE, "an inverse", "the element", || {
        operation(|class: Class, rng| Gf128::from(block(class, rng)), |element| element.invert())
    }));
    list.extend(rows(
        Kernels::Gf64,
        "crypto/src/gf64.rs",
        "256 products, added up",
        "both factors",
        |backend| {
            let mut sums = known(COUNT);
            operation(
                |class, rng| {
                    let values: Vec<u64> =
                        blocks(class, COUNT, rng).iter().map(|block| block.to_halves().0).collect();
                    (block(class, rng), values)
                },
                move |(pair, values)| gf64::multiply_add_on(backend, &mut sums, *pair, values),
            )
        },
    ));
    list
}
