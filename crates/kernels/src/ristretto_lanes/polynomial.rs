//! Polynomials encrypted by ElGamal, evaluated at a point a lane: what
//! `PublicKey::evaluate` of `vesica-crypto` does.

/// Defines the module over the field of the surrounding level.
macro_rules! polynomial {
    ($features:literal) => {
        use zeroize::Zeroize;

        use super::edwards::Point;
        use super::elements::FixedBase;
        use super::field::{Fe, LANES};
        use super::ladder::{self, Base, Scalars};
        use super::window::{self, Digits};
        use super::{
            Coefficient, InvalidElement, Kernel, Query, VECTORS, decode, fixed_base, ristretto, vector,
        };

        impl Kernel {
            /// Ciphertexts as points.
            ///
            /// # Errors
            /// The first component whose encoding is not canonical or that of the identity.
            pub(crate) fn coefficients(
                self,
                encoded: &[[u8; 64]],
            ) -> Result<Vec<Coefficient>, InvalidElement> {
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { coefficients(encoded) }
            }

            /// `out[i] = 2 · (r · Σ_j x^j · a_j + e · (0, G) + t · (G, H))` for the encrypted coefficients a_j of query i,
            /// G and H the two bases. Points are below 2^`bits`.
            ///
            /// # Panics
            /// If the slices differ in length, or the queries in their numbers of coefficients, or those are none.
            pub(crate) fn evaluate(
                self,
                bases: [&FixedBase; 2],
                bits: usize,
                queries: &[Query<'_>],
                out: &mut [[u8; 64]],
            ) {
                assert_eq!(queries.len(), out.len(), "one output per query");
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { evaluate(bases, bits, queries, out) }
            }
        }

        #[target_feature(enable = $features)]
        fn coefficients(encoded: &[[u8; 64]]) -> Result<Vec<Coefficient>, InvalidElement> {
            let components: &[[u8; 32]] = encoded.as_flattened().as_chunks().0;
            let mut affine = Vec::with_capacity(components.len());
            for (chunk, components) in components.chunks(LANES * VECTORS).enumerate() {
                let points = decode(components).map_err(|InvalidElement { index }| InvalidElement {
                    index: chunk * LANES * VECTORS + index,
                })?;
                for (components, point) in components.chunks(LANES).zip(points) {
                    let (x, y) = (point.x.to_bytes(), point.y.to_bytes());
                    affine.extend((0..components.len()).map(|lane| [x[lane], y[lane]]));
                }
            }
            Ok(affine.as_chunks().0.to_vec())
        }

        #[target_feature(enable = $features)]
        fn evaluate(bases: [&FixedBase; 2], bits: usize, queries: &[Query<'_>], out: &mut [[u8; 64]]) {
            for (queries, out) in queries.chunks(LANES * VECTORS / 2).zip(out.chunks_mut(LANES * VECTORS / 2))
            {
                let (mut values, mut points) = (Vec::with_capacity(VECTORS), Vec::with_capacity(VECTORS));
                for queries in queries.chunks(LANES) {
                    values.extend(value(bits, queries));
                }
                // The conversion to the ladder's form shares one inversion.
                let mut converted = ladder::bases(&values);
                for (queries, value) in queries.chunks(LANES).zip(converted.as_chunks().0) {
                    points.extend(hidden(bases, value, queries));
                }
                let encoded = ristretto::encode_doubled(&points);
                for (out, [first, second]) in out.chunks_mut(LANES).zip(encoded.as_chunks().0) {
                    for ((out, first), second) in out.iter_mut().zip(first).zip(second) {
                        out[..32].copy_from_slice(first);
                        out[32..].copy_from_slice(second);
                    }
                }
                values.zeroize();
                converted.zeroize();
                points.zeroize();
            }
        }

        /// Both components of the polynomials' values, by Horner's rule with the point as a short factor.
        #[target_feature(enable = $features)]
        fn value(bits: usize, queries: &[Query<'_>]) -> [Point; 2] {
            let point = Digits::new(queries.iter().map(|query| &query.point[..]), bits);
            let last = queries[0].coefficients.len() - 1;
            let mut value = [load(queries, last, 0), load(queries, last, 1)];
            for index in (0..last).rev() {
                value = window::multiply(&point, &value);
                value = [value[0].add(&load(queries, index, 0)), value[1].add(&load(queries, index, 1))];
            }
            value
        }

        /// Half of the result: the value times r, and what is added.
        #[target_feature(enable = $features)]
        fn hidden([base, key]: [&FixedBase; 2], value: &[Base; 2], queries: &[Query<'_>]) -> [Point; 2] {
            let lanes = vector(queries);
            let products = ladder::multiply(&Scalars::each(lanes.map(|query| query.factor)), value);
            let [first, second] = [products[0].cleared(), products[1].cleared()];
            let (nonces, plain) = (lanes.map(|query| query.nonce), lanes.map(|query| query.plain));
            let [of_base, plain] = fixed_base::multiply(base.table(), &[nonces, plain]);
            let [of_key] = fixed_base::multiply(key.table(), &[nonces]);
            [first.add(&of_base), second.add(&of_key).add(&plain)]
        }

        /// One component of the coefficients at `index`.
        #[inline]
        #[target_feature(enable = $features)]
        fn load(queries: &[Query<'_>], index: usize, component: usize) -> Point {
            let lanes = vector(queries);
            let [x, y] =
                [0, 1].map(|coordinate| lanes.map(|query| &query.coefficients[index][component][coordinate]));
            let (x, y) = (Fe::from_bytes(x), Fe::from_bytes(y));
            Point { x, y, z: Fe::small(1), t: x.mul(&y) }
        }
    };
}
