//! Half gates, once for each width of vectors: `GATES` of them in flight.

/// Defines the kernels over the vector operations of the surrounding modules.
macro_rules! half_gates {
    ($features:literal) => {
        /// Gates in flight.
        const GATES: usize = LANES * GATE_VECTORS;

        /// A block of each gate in flight.
        type Row = [V; GATE_VECTORS];

        /// What all gates of a batch share, in vectors.
        struct Shared {
            delta: V,
            /// σ(Δ).
            turned: V,
            cut: V,
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn shared(batch: &Batch) -> Shared {
            let delta = load_splat(&batch.delta);
            Shared { delta, turned: sigma(delta), cut: load_splat(&batch.cut) }
        }

        /// The keys of every `step`-th half from `first` on, one to a gate.
        #[target_feature(enable = $features)]
        #[inline]
        fn keys(first: V, step: usize) -> Row {
            let mut lanes = lane_numbers();
            for _ in 1..step {
                lanes = add64(lanes, lane_numbers());
            }
            let mut keys = [add64(first, lanes); GATE_VECTORS];
            for i in 1..GATE_VECTORS {
                keys[i] = add64(keys[i - 1], splat((step * LANES) as u128));
            }
            keys
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn load_row(row: &[Block; GATES]) -> Row {
            let vectors = Block::slice_as_bytes(row).as_chunks().0;
            let mut x = [splat(0); GATE_VECTORS];
            for i in 0..GATE_VECTORS {
                x[i] = load(&vectors[i]);
            }
            x
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn store_row(row: &mut [Block; GATES], x: Row) {
            let vectors = Block::slice_as_mut_bytes(row).as_chunks_mut().0;
            for i in 0..GATE_VECTORS {
                store(&mut vectors[i], x[i]);
            }
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn load_tables(tables: &[[Block; 2]; GATES]) -> [Row; 2] {
            let vectors = Block::slice_as_bytes(tables.as_flattened()).as_chunks().0;
            let mut rows = [[splat(0); GATE_VECTORS]; 2];
            for i in 0..GATE_VECTORS {
                [rows[0][i], rows[1][i]] = separate([load(&vectors[2 * i]), load(&vectors[2 * i + 1])]);
            }
            rows
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn store_tables(tables: &mut [[Block; 2]; GATES], rows: [Row; 2]) {
            let vectors = Block::slice_as_mut_bytes(tables.as_flattened_mut()).as_chunks_mut().0;
            for i in 0..GATE_VECTORS {
                let [low, high] = interleave(rows[0][i], rows[1][i]);
                store(&mut vectors[2 * i], low);
                store(&mut vectors[2 * i + 1], high);
            }
        }

        /// H(x) and cut(H(x) ⊕ H(x ⊕ Δ)) under each key.
        #[target_feature(enable = $features)]
        #[inline]
        fn hash_both(shared: &Shared, keys: Row, x: Row) -> [Row; 2] {
            let zero = sigma_all(x);
            let one = xor_all(zero, [shared.turned; GATE_VECTORS]);
            let [mut hash, mut both] = rekeyed_vectors::<GATE_VECTORS, 2, false>(keys, [zero, one]);
            for i in 0..GATE_VECTORS {
                both[i] = and(xor(xor(hash[i], both[i]), shared.turned), shared.cut);
                hash[i] = xor(hash[i], zero[i]);
            }
            [hash, both]
        }

        /// `x` where the lowest bit of a label is set.
        #[target_feature(enable = $features)]
        #[inline]
        fn select(label: V, x: V) -> V {
            and(low_bit_mask(label), x)
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn garble_gates(shared: &Shared, first: V, a: Row, b: Row) -> ([Row; 2], Row) {
            let [mut out, mut generator] = hash_both(shared, keys(first, 2), a);
            let [hash, mut evaluator] = hash_both(shared, keys(add64(first, splat(1)), 2), b);
            for i in 0..GATE_VECTORS {
                // T_G = H(A) ⊕ H(A ⊕ Δ) ⊕ p_b·Δ     W_G = H(A) ⊕ p_a·T_G
                // T_E = H(B) ⊕ H(B ⊕ Δ) ⊕ A         W_E = H(B) ⊕ p_b·(T_E ⊕ A)
                let evaluated = xor(hash[i], select(b[i], evaluator[i]));
                generator[i] = xor(generator[i], select(b[i], shared.delta));
                evaluator[i] = xor(evaluator[i], a[i]);
                out[i] = xor(xor(out[i], select(a[i], generator[i])), evaluated);
                out[i] = and(out[i], shared.cut);
            }
            ([generator, evaluator], out)
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn garble_private_gates(shared: &Shared, first: V, selected: Row, x: Row) -> [Row; 2] {
            let [mut out, mut table] = hash_both(shared, keys(first, 1), x);
            for i in 0..GATE_VECTORS {
                table[i] = xor(table[i], selected[i]);
                out[i] = and(xor(out[i], select(x[i], table[i])), shared.cut);
            }
            [table, out]
        }

        /// cut(H(x)) under each key.
        #[target_feature(enable = $features)]
        #[inline]
        fn hash<const N: usize>(cut: V, keys: [V; N], x: [V; N]) -> [V; N] {
            let turned = sigma_all(x);
            let [mut hash] = rekeyed_vectors::<N, 1, false>(keys, [turned]);
            for i in 0..N {
                hash[i] = and(xor(hash[i], turned[i]), cut);
            }
            hash
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn evaluate_gates(cut: V, first: V, a: Row, b: Row, tables: [Row; 2]) -> Row {
            let hash_a = hash(cut, keys(first, 2), a);
            let hash_b = hash(cut, keys(add64(first, splat(1)), 2), b);
            let mut out = [splat(0); GATE_VECTORS];
            for i in 0..GATE_VECTORS {
                let generated = xor(hash_a[i], select(a[i], tables[0][i]));
                let evaluated = xor(hash_b[i], select(b[i], xor(tables[1][i], a[i])));
                out[i] = xor(generated, evaluated);
            }
            out
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn evaluate_private_gates(cut: V, first: V, x: Row, table: Row) -> Row {
            let mut out = hash(cut, keys(first, 1), x);
            for i in 0..GATE_VECTORS {
                out[i] = xor(out[i], select(x[i], table[i]));
            }
            out
        }

        /// All rows have the length of `a`.
        #[target_feature(enable = $features)]
        pub(in super::super::super) fn garble(
            batch: &Batch,
            a: &[Block],
            b: &[Block],
            tables: &mut [[Block; 2]],
            out: &mut [Block],
        ) {
            let shared = shared(batch);
            let mut first = load_splat(&batch.first);
            let ((a, last_a), (b, last_b)) = (a.as_chunks::<GATES>(), b.as_chunks::<GATES>());
            let (tables, last_tables) = tables.as_chunks_mut::<GATES>();
            let (out, last_out) = out.as_chunks_mut::<GATES>();
            for i in 0..a.len() {
                let (made, labels) = garble_gates(&shared, first, load_row(&a[i]), load_row(&b[i]));
                store_tables(&mut tables[i], made);
                store_row(&mut out[i], labels);
                first = add64(first, splat(2 * GATES as u128));
            }
            if !last_a.is_empty() {
                let (padded, mut table) = ([pad(last_a), pad(last_b)], [[Block::ZERO; 2]; GATES]);
                let (made, labels) = garble_gates(&shared, first, load_row(&padded[0]), load_row(&padded[1]));
                store_tables(&mut table, made);
                last_tables.copy_from_slice(&table[..last_a.len()]);
                store_last(last_out, labels);
                wipe(padded);
                wipe(table);
            }
        }

        /// All rows have the length of `x`.
        #[target_feature(enable = $features)]
        pub(in super::super::super) fn garble_private(
            batch: &Batch,
            selected: &[Block],
            x: &[Block],
            tables: &mut [Block],
            out: &mut [Block],
        ) {
            let shared = shared(batch);
            let mut first = load_splat(&batch.first);
            let (selected, last_selected) = selected.as_chunks::<GATES>();
            let (x, last_x) = x.as_chunks::<GATES>();
            let (tables, last_tables) = tables.as_chunks_mut::<GATES>();
            let (out, last_out) = out.as_chunks_mut::<GATES>();
            for i in 0..x.len() {
                let [table, labels] =
                    garble_private_gates(&shared, first, load_row(&selected[i]), load_row(&x[i]));
                store_row(&mut tables[i], table);
                store_row(&mut out[i], labels);
                first = add64(first, splat(GATES as u128));
            }
            if !last_x.is_empty() {
                let padded = [pad(last_selected), pad(last_x)];
                let [table, labels] =
                    garble_private_gates(&shared, first, load_row(&padded[0]), load_row(&padded[1]));
                store_last(last_tables, table);
                store_last(last_out, labels);
                wipe(padded);
            }
        }

        /// All rows have the length of `a`.
        #[target_feature(enable = $features)]
        pub(in super::super::super) fn evaluate(
            batch: &Batch,
            a: &[Block],
            b: &[Block],
            tables: &[[Block; 2]],
            out: &mut [Block],
        ) {
            let cut = load_splat(&batch.cut);
            let mut first = load_splat(&batch.first);
            let ((a, last_a), (b, last_b)) = (a.as_chunks::<GATES>(), b.as_chunks::<GATES>());
            let (tables, last_tables) = tables.as_chunks::<GATES>();
            let (out, last_out) = out.as_chunks_mut::<GATES>();
            for i in 0..a.len() {
                let made = load_tables(&tables[i]);
                store_row(&mut out[i], evaluate_gates(cut, first, load_row(&a[i]), load_row(&b[i]), made));
                first = add64(first, splat(2 * GATES as u128));
            }
            if !last_a.is_empty() {
                let (padded, mut table) = ([pad(last_a), pad(last_b)], [[Block::ZERO; 2]; GATES]);
                table[..last_tables.len()].copy_from_slice(last_tables);
                let (a, b) = (load_row(&padded[0]), load_row(&padded[1]));
                store_last(last_out, evaluate_gates(cut, first, a, b, load_tables(&table)));
                wipe(padded);
            }
        }

        /// All rows have the length of `x`.
        #[target_feature(enable = $features)]
        pub(in super::super::super) fn evaluate_private(
            batch: &Batch,
            x: &[Block],
            tables: &[Block],
            out: &mut [Block],
        ) {
            let cut = load_splat(&batch.cut);
            let mut first = load_splat(&batch.first);
            let ((x, last_x), (tables, last_tables)) = (x.as_chunks::<GATES>(), tables.as_chunks::<GATES>());
            let (out, last_out) = out.as_chunks_mut::<GATES>();
            for i in 0..x.len() {
                let labels = evaluate_private_gates(cut, first, load_row(&x[i]), load_row(&tables[i]));
                store_row(&mut out[i], labels);
                first = add64(first, splat(GATES as u128));
            }
            if !last_x.is_empty() {
                let padded = [pad(last_x), pad(last_tables)];
                let labels = evaluate_private_gates(cut, first, load_row(&padded[0]), load_row(&padded[1]));
                store_last(last_out, labels);
                wipe(padded);
            }
        }

        /// The last blocks, and zeros.
        fn pad(last: &[Block]) -> [Block; GATES] {
            let mut padded = [Block::ZERO; GATES];
            padded[..last.len()].copy_from_slice(last);
            padded
        }

        fn wipe<const N: usize, const M: usize>(mut blocks: [[Block; N]; M]) {
            blocks.as_flattened_mut().zeroize();
        }

        /// Stores the first blocks, as many as fit.
        #[target_feature(enable = $features)]
        #[inline]
        fn store_last(last: &mut [Block], x: Row) {
            let mut padded = [Block::ZERO; GATES];
            store_row(&mut padded, x);
            last.copy_from_slice(&padded[..last.len()]);
            padded.zeroize();
        }
    };
}
