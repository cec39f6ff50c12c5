//! Many elements, held in lanes between one operation and the next.

/// Defines the module over the field of the surrounding level.
macro_rules! elements {
    ($features:literal) => {
        use zeroize::Zeroize;

        use super::edwards::{Multiples, Point};
        use super::field::LANES;
        use super::{InvalidElement, Kernel, VECTORS, decode, fixed_base, ristretto, vector, weighted_sum};

        /// Elements, eight a vector. The lanes beyond the last element hold some element that does not count. Wiped
        /// when dropped.
        pub(crate) struct Elements {
            kernel: Kernel,
            points: Vec<Point>,
            count: usize,
        }

        impl Drop for Elements {
            fn drop(&mut self) {
                self.points.zeroize();
            }
        }

        impl Elements {
            /// The elements that uniform bytes map to.
            pub(crate) fn map(kernel: Kernel, uniform: &[[u8; 64]]) -> Self {
                // SAFETY: a kernel exists only where its instructions do.
                Self { kernel, points: unsafe { map(uniform) }, count: uniform.len() }
            }

            /// The elements with these encodings.
            ///
            /// # Errors
            /// The first one whose encoding is not canonical or that of the identity.
            pub(crate) fn decode(kernel: Kernel, encoded: &[[u8; 32]]) -> Result<Self, InvalidElement> {
                // SAFETY: a kernel exists only where its instructions do.
                Ok(Self { kernel, points: unsafe { decode_all(encoded)? }, count: encoded.len() })
            }

            /// One product of the table's base with each scalar.
            pub(crate) fn of_base(base: &FixedBase, scalars: &[[u8; 32]]) -> Self {
                // SAFETY: a kernel exists only where its instructions do.
                let points = unsafe { multiply_base(&base.table, scalars) };
                Self { kernel: base.kernel, points, count: scalars.len() }
            }

            /// How many there are.
            pub(crate) fn count(&self) -> usize {
                self.count
            }

            /// The encodings of their doubles.
            pub(crate) fn encode_doubles(&self, out: &mut [[u8; 32]]) {
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { encode_doubles(&self.points, out) }
            }

            /// The encodings.
            pub(crate) fn encode(&self, out: &mut [[u8; 32]]) {
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { encode(&self.points, out) }
            }

            /// The products with one secret scalar, little-endian: 16 bytes, or 32 and below the group order.
            pub(crate) fn multiply(&self, scalar: &[u8]) -> Self {
                // SAFETY: a kernel exists only where its instructions do.
                let points = unsafe { multiply(scalar, &self.points) };
                Self { kernel: self.kernel, points, count: self.count }
            }

            /// Adds `other`, one by one.
            pub(crate) fn add_assign(&mut self, other: &Self) {
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { add(&mut self.points, &other.points) }
            }

            /// Adds the element with this encoding, which may be the identity, to each.
            pub(crate) fn add_to_all(&mut self, encoded: &[u8; 32]) {
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { add_to_all(&mut self.points, encoded) }
            }

            /// Negates each.
            pub(crate) fn negate(&mut self) {
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { negate(&mut self.points) }
            }

            /// Subtracts `other`, one by one.
            pub(crate) fn sub_assign(&mut self, other: &Self) {
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { sub(&mut self.points, &other.points) }
            }

            /// The encoding of twice the sum.
            pub(crate) fn double_sum(&self) -> [u8; 32] {
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { double_sum(&self.points, self.count) }
            }

            /// The encoding of twice the weighted sum, in time that does not depend on the weights.
            pub(crate) fn double_weighted_sum(&self, weights: &[u128]) -> [u8; 32] {
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { first_double(weighted_sum::weighted_sum(weights, &self.points)) }
            }
        }

        /// A public element, ready to be multiplied by many scalars.
        pub(crate) struct FixedBase {
            kernel: Kernel,
            table: Vec<Multiples>,
        }

        impl FixedBase {
            /// Powers of 64 of the base.
            pub(crate) const POWERS: usize = fixed_base::DIGITS;

            /// The base whose multiples by 1, 64, 64², … have these encodings.
            pub(crate) fn new(kernel: Kernel, powers: &[[u8; 32]; Self::POWERS]) -> Self {
                // SAFETY: a kernel exists only where its instructions do.
                Self { kernel, table: unsafe { table(powers) } }
            }

            /// The right to run the kernels that take it.
            pub(crate) fn kernel(&self) -> Kernel {
                self.kernel
            }

            /// The multiples for each digit.
            pub(super) fn table(&self) -> &[Multiples] {
                &self.table
            }
        }

        #[target_feature(enable = $features)]
        fn table(powers: &[[u8; 32]]) -> Vec<Multiples> {
            let points: Vec<_> =
                powers.chunks(LANES).map(|powers| decode_or_identity(vector(powers))).collect();
            fixed_base::table(&points)
        }

        /// The elements with these encodings, of which those of the identity alone may fail to decode.
        #[target_feature(enable = $features)]
        fn decode_or_identity(encoded: [&[u8; 32]; LANES]) -> Point {
            let [(valid, points)] = ristretto::decode([encoded]);
            points.where_in(valid, &Point::identity())
        }

        #[target_feature(enable = $features)]
        fn map(uniform: &[[u8; 64]]) -> Vec<Point> {
            uniform.chunks(LANES).map(|uniform| ristretto::map(vector(uniform))).collect()
        }

        #[target_feature(enable = $features)]
        fn decode_all(encoded: &[[u8; 32]]) -> Result<Vec<Point>, InvalidElement> {
            decode(encoded)
        }

        #[target_feature(enable = $features)]
        fn multiply_base(table: &[Multiples], scalars: &[[u8; 32]]) -> Vec<Point> {
            let mut points = Vec::with_capacity(scalars.len().div_ceil(LANES));
            for pair in scalars.chunks(2 * LANES) {
                let (first, second) = pair.split_at(pair.len().min(LANES));
                if second.is_empty() {
                    points.extend(fixed_base::multiply(table, &[vector(first)]));
                } else {
                    points.extend(fixed_base::multiply(table, &[vector(first), vector(second)]));
                }
            }
            points
        }

        #[target_feature(enable = $features)]
        fn encode_doubles(points: &[Point], out: &mut [[u8; 32]]) {
            for (points, out) in points.chunks(VECTORS).zip(out.chunks_mut(VECTORS * LANES)) {
                for (out, encoded) in out.chunks_mut(LANES).zip(ristretto::encode_doubled(points)) {
                    out.copy_from_slice(&encoded[..out.len()]);
                }
            }
        }

        #[target_feature(enable = $features)]
        fn encode(points: &[Point], out: &mut [[u8; 32]]) {
            let (pairs, rest) = points.as_chunks::<2>();
            let pairs = pairs.iter().flat_map(|pair| ristretto::encode(pair));
            let encoded = pairs.chain(rest.iter().flat_map(|point| ristretto::encode(&[*point])));
            for (out, encoded) in out.chunks_mut(LANES).zip(encoded) {
                out.copy_from_slice(&encoded[..out.len()]);
            }
        }

        #[target_feature(enable = $features)]
        fn multiply(scalar: &[u8], points: &[Point]) -> Vec<Point> {
            let mut products = Vec::with_capacity(points.len());
            for points in points.chunks(VECTORS) {
                super::products(scalar, points, &mut products);
            }
            // What comes out is to be added to other points.
            products.iter_mut().for_each(|product| *product = product.cleared());
            products
        }

        #[target_feature(enable = $features)]
        fn add(points: &mut [Point], others: &[Point]) {
            points.iter_mut().zip(others).for_each(|(point, other)| *point = point.add(other));
        }

        #[target_feature(enable = $features)]
        fn add_to_all(points: &mut [Point], encoded: &[u8; 32]) {
            let element = decode_or_identity([encoded; LANES]);
            points.iter_mut().for_each(|point| *point = point.add(&element));
        }

        #[target_feature(enable = $features)]
        fn negate(points: &mut [Point]) {
            points.iter_mut().for_each(|point| *point = point.negate());
        }

        #[target_feature(enable = $features)]
        fn sub(points: &mut [Point], others: &[Point]) {
            points.iter_mut().zip(others).for_each(|(point, other)| *point = point.add(&other.negate()));
        }

        #[target_feature(enable = $features)]
        fn double_sum(points: &[Point], count: usize) -> [u8; 32] {
            let mut sum = Point::identity();
            for (i, point) in points.iter().enumerate() {
                let lanes = (count - i * LANES).min(LANES);
                sum = sum.add(&point.where_in(u8::MAX >> (LANES - lanes), &Point::identity()));
            }
            first_double(sum.across())
        }

        /// The encoding of twice the first lane.
        #[target_feature(enable = $features)]
        fn first_double(point: Point) -> [u8; 32] {
            ristretto::encode_doubled(&[point])[0][0]
        }
    };
}
