//! Sums, carries and products of the field with limbs of 26 and 25 bits, whose bounds are in `field26.rs`.

/// Defines them for the surrounding field. `$inlined` is how products and squares are compiled: inline, or as calls
/// where a product alone fills the registers. Inlined there, its limbs would go back and forth to memory.
macro_rules! field26_products {
    ($features:literal, $inlined:meta) => {
        #[inline]
        #[target_feature(enable = $features)]
        fn add_all(a: &Part, b: &Part) -> Part {
            let mut sum = *a;
            for k in 0..10 {
                sum[k] = add(sum[k], b[k]);
            }
            sum
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn biases() -> Part {
            let mut biases = [all(0); 10];
            for k in 0..10 {
                biases[k] = all(BIAS * P[k]);
            }
            biases
        }

        /// Carries limb `I` into the next one.
        #[inline]
        #[target_feature(enable = $features)]
        fn carry<const I: usize>(z: &mut Part) {
            let carry = if I % 2 == 0 { right::<26>(z[I]) } else { right::<25>(z[I]) };
            z[I] = and(z[I], all(LOW[I % 2]));
            // 2^255 = 19.
            let carry = if I == 9 { add(add(carry, left::<1>(carry)), left::<4>(carry)) } else { carry };
            let next = (I + 1) % 10;
            z[next] = add(z[next], carry);
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn carried(columns: &Part) -> Part {
            let mut z = *columns;
            carry::<0>(&mut z);
            carry::<4>(&mut z);
            carry::<1>(&mut z);
            carry::<5>(&mut z);
            carry::<2>(&mut z);
            carry::<6>(&mut z);
            carry::<3>(&mut z);
            carry::<7>(&mut z);
            carry::<4>(&mut z);
            carry::<8>(&mut z);
            carry::<9>(&mut z);
            carry::<0>(&mut z);
            z
        }

        /// Adds the products of limb `I` of `a`. `twice` and `times_19` are those multiples of a and b.
        #[inline]
        #[target_feature(enable = $features)]
        fn add_row<const I: usize>(z: &mut Part, [a, twice]: [&Part; 2], [b, times_19]: [&Part; 2]) {
            for j in 0..10 {
                let first = if I % 2 == 1 && j % 2 == 1 { twice[I] } else { a[I] };
                let second = if I + j < 10 { b[j] } else { times_19[j] };
                let k = (I + j) % 10;
                z[k] = add(z[k], multiply(first, second));
            }
        }

        /// `start + a · b`.
        #[$inlined]
        #[target_feature(enable = $features)]
        fn product(start: Part, a: &Part, b: &Part) -> Part {
            let (twice, mut times_19) = (add_all(a, a), *b);
            for j in 1..10 {
                times_19[j] = multiply(b[j], all(19));
            }
            let (a, b, mut z) = ([a, &twice], [b, &times_19], start);
            add_row::<0>(&mut z, a, b);
            add_row::<1>(&mut z, a, b);
            add_row::<2>(&mut z, a, b);
            add_row::<3>(&mut z, a, b);
            add_row::<4>(&mut z, a, b);
            add_row::<5>(&mut z, a, b);
            add_row::<6>(&mut z, a, b);
            add_row::<7>(&mut z, a, b);
            add_row::<8>(&mut z, a, b);
            add_row::<9>(&mut z, a, b);
            z
        }

        /// Adds the products of limb `I` of `a` with itself and with the later ones. Then come the multiples of a
        /// by 2, 19 and 38.
        #[inline]
        #[target_feature(enable = $features)]
        fn add_square_row<const I: usize>(z: &mut Part, a: &Part, multiples: &[Part; 3]) {
            let [twice, times_19, times_38] = multiples;
            for j in I..10 {
                let first = if I == j { a[I] } else { twice[I] };
                let second = match (I + j < 10, I % 2 == 1 && j % 2 == 1) {
                    (true, false) => a[j],
                    (true, true) => twice[j],
                    (false, false) => times_19[j],
                    (false, true) => times_38[j],
                };
                let k = (I + j) % 10;
                z[k] = add(z[k], multiply(first, second));
            }
        }

        /// `start + a²`.
        #[$inlined]
        #[target_feature(enable = $features)]
        fn square(start: Part, a: &Part) -> Part {
            let (twice, mut times_19, mut z) = (add_all(a, a), *a, start);
            for j in 5..10 {
                times_19[j] = multiply(a[j], all(19));
            }
            let multiples = [twice, times_19, add_all(&times_19, &times_19)];
            add_square_row::<0>(&mut z, a, &multiples);
            add_square_row::<1>(&mut z, a, &multiples);
            add_square_row::<2>(&mut z, a, &multiples);
            add_square_row::<3>(&mut z, a, &multiples);
            add_square_row::<4>(&mut z, a, &multiples);
            add_square_row::<5>(&mut z, a, &multiples);
            add_square_row::<6>(&mut z, a, &multiples);
            add_square_row::<7>(&mut z, a, &multiples);
            add_square_row::<8>(&mut z, a, &multiples);
            add_square_row::<9>(&mut z, a, &multiples);
            z
        }
    };
}
