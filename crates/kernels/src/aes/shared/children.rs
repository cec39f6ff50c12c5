//! The children of a level of a tree, made in one pass over it, once for each width of vectors.

/// Defines the kernels over the vector operations of the surrounding module.
macro_rules! children {
    ($features:literal) => {
        /// Replaces each block x of `left` by its hash, and writes x ⊕ hash (`CORRELATED`) or its hash under
        /// the second key at the same index of `right`. Returns the sums of both sides, which have the same
        /// length.
        #[target_feature(enable = $features)]
        pub(in super::super) fn children<const CORRELATED: bool>(
            keys: [&[Block; 11]; 2],
            left: &mut [Block],
            right: &mut [Block],
        ) -> [Block; 2] {
            let keys = [broadcast(keys[0]), broadcast(keys[1])];
            let mut sums = [[splat(0); FLIGHT]; 2];
            let (left, left_rest) = left.as_chunks_mut::<AT_ONCE>();
            let (right, right_rest) = right.as_chunks_mut::<AT_ONCE>();
            let mut i = 0;
            while i < left.len() && i < right.len() {
                let [a, b] = pairs::<CORRELATED>(&keys, load_all(&left[i]));
                store_all(&mut left[i], a);
                store_all(&mut right[i], b);
                sums = [xor_all(sums[0], a), xor_all(sums[1], b)];
                i += 1;
            }
            let mut totals = [total(sums[0]), total(sums[1])];
            if !left_rest.is_empty() && left_rest.len() == right_rest.len() {
                let mut last = [[Block::ZERO; AT_ONCE]; 2];
                last[0][..left_rest.len()].copy_from_slice(left_rest);
                let [a, b] = pairs::<CORRELATED>(&keys, load_all(&last[0]));
                store_all(&mut last[0], a);
                store_all(&mut last[1], b);
                for ((rest, made), total) in [left_rest, right_rest].into_iter().zip(&last).zip(&mut totals) {
                    for (rest, made) in rest.iter_mut().zip(made) {
                        *rest = *made;
                        *total ^= *made;
                    }
                }
                last.as_flattened_mut().zeroize();
            }
            totals
        }

        /// Replaces each block by its hash, and returns the sum of the hashes.
        #[target_feature(enable = $features)]
        pub(in super::super) fn ccr_sum(rounds: &[Block; 11], blocks: &mut [Block]) -> Block {
            let (keys, mut sums) = (broadcast(rounds), [splat(0); FLIGHT]);
            let (chunks, rest) = blocks.as_chunks_mut::<AT_ONCE>();
            for i in 0..chunks.len() {
                let turned = sigma_all(load_all(&chunks[i]));
                let hash = xor_all(encrypt_vectors(&keys, turned), turned);
                store_all(&mut chunks[i], hash);
                sums = xor_all(sums, hash);
            }
            let mut total = total(sums);
            if !rest.is_empty() {
                ccr(rounds, rest);
                for block in rest {
                    total ^= *block;
                }
            }
            total
        }

        /// The sum of all blocks of these vectors.
        #[target_feature(enable = $features)]
        #[inline]
        fn total(vectors: [V; FLIGHT]) -> Block {
            let mut sum = vectors[0];
            for i in 1..FLIGHT {
                sum = xor(sum, vectors[i]);
            }
            let (mut blocks, mut total) = ([Block::ZERO; LANES], Block::ZERO);
            for bytes in Block::slice_as_mut_bytes(&mut blocks).as_chunks_mut().0 {
                store(bytes, sum);
            }
            for block in blocks {
                total ^= block;
            }
            total
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn pairs<const CORRELATED: bool>(keys: &[[V; 11]; 2], x: [V; FLIGHT]) -> [[V; FLIGHT]; 2] {
            let turned = sigma_all(x);
            let hash = xor_all(encrypt_vectors(&keys[0], turned), turned);
            if CORRELATED {
                [hash, xor_all(hash, x)]
            } else {
                [hash, xor_all(encrypt_vectors(&keys[1], turned), turned)]
            }
        }

        /// Adds `value` to the block at the secret `index`, if there is such a block. All blocks are read and
        /// written alike.
        #[target_feature(enable = $features)]
        pub(in super::super) fn add_at(blocks: &mut [Block], index: usize, value: &Block) {
            let (value, index) = (load_splat(value), splat_number(index));
            let (mut numbers, step) = (in_both_halves(lane_numbers()), splat_number(LANES));
            let (vectors, rest) = blocks.as_chunks_mut::<LANES>();
            for vector in vectors {
                let bytes = Block::slice_as_mut_bytes(vector).as_chunks_mut().0;
                for bytes in bytes {
                    store(bytes, xor(load(bytes), where_equal(numbers, index, value)));
                }
                numbers = add64(numbers, step);
            }
            if !rest.is_empty() {
                let mut last = [Block::ZERO; LANES];
                last[..rest.len()].copy_from_slice(rest);
                for bytes in Block::slice_as_mut_bytes(&mut last).as_chunks_mut().0 {
                    store(bytes, xor(load(bytes), where_equal(numbers, index, value)));
                }
                rest.copy_from_slice(&last[..rest.len()]);
                last.zeroize();
            }
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn splat_number(number: usize) -> V {
            in_both_halves(splat(number as u128))
        }
    };
}
