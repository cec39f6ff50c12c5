//! What the modules of a level have in common.

/// Defines the kernels of a level, whose module has a field.
macro_rules! lanes {
    ($level:ident, $features:literal) => {
        mod edwards {
            edwards!($features);
        }
        mod elements {
            elements!($features);
        }
        mod fixed_base {
            fixed_base!($features);
        }
        mod ladder {
            ladder!($features);
        }
        mod polynomial {
            polynomial!($features);
        }
        mod power {
            power!($features);
        }
        mod ristretto {
            ristretto!($features);
        }
        mod weighted_sum {
            weighted_sum!($features);
        }
        mod window {
            window!($features);
        }
        #[cfg(test)]
        mod tests {
            tests!($features);
        }

        use curve25519_dalek::Scalar;
        use zeroize::Zeroize;

        use self::edwards::Point;
        pub(super) use self::elements::{Elements, FixedBase};
        use self::field::LANES;
        use self::ladder::Scalars;
        use super::{Coefficient, InvalidElement, Query, VECTORS, half, vector};
        use crate::{Backend, Kernels, Level};

        /// The level of these instructions.
        const LEVEL: Level = Level::$level;

        /// The right to run these kernels.
        #[derive(Clone, Copy)]
        pub(crate) struct Kernel(());

        impl Kernel {
            /// The kernels, if the back end has their instructions.
            pub(crate) fn of(backend: Backend) -> Option<Self> {
                (backend.level_for(Kernels::Ristretto) == LEVEL).then_some(Self(()))
            }

            /// `out[i] = encode(scalar · map(uniform[i]))`.
            ///
            /// # Panics
            /// If the slices differ in length.
            pub(crate) fn map_mul_encode(self, scalar: &Scalar, uniform: &[[u8; 64]], out: &mut [[u8; 32]]) {
                assert_eq!(uniform.len(), out.len(), "one output per input");
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { map_mul_encode(scalar, uniform, out) }
            }

            /// `out[i] = encode(scalar · decode(encoded[i]))`.
            ///
            /// # Errors
            /// The first element whose encoding is not canonical or that of the identity; the content of `out` is
            /// then undefined.
            ///
            /// # Panics
            /// If the slices differ in length.
            pub(crate) fn decode_mul_encode(
                self,
                scalar: &Scalar,
                encoded: &[[u8; 32]],
                out: &mut [[u8; 32]],
            ) -> Result<(), InvalidElement> {
                assert_eq!(encoded.len(), out.len(), "one output per input");
                // SAFETY: a kernel exists only where its instructions do.
                unsafe { decode_mul_encode(scalar, encoded, out) }
            }
        }

        #[target_feature(enable = $features)]
        fn map_mul_encode(scalar: &Scalar, uniform: &[[u8; 64]], out: &mut [[u8; 32]]) {
            let half = half(scalar);
            for (uniform, out) in uniform.chunks(LANES * VECTORS).zip(out.chunks_mut(LANES * VECTORS)) {
                let points: Vec<Point> =
                    uniform.chunks(LANES).map(|uniform| ristretto::map(vector(uniform))).collect();
                mul_encode_doubled(&half, &points, out);
            }
        }

        #[target_feature(enable = $features)]
        fn decode_mul_encode(
            scalar: &Scalar,
            encoded: &[[u8; 32]],
            out: &mut [[u8; 32]],
        ) -> Result<(), InvalidElement> {
            let half = half(scalar);
            let chunks = encoded.chunks(LANES * VECTORS).zip(out.chunks_mut(LANES * VECTORS));
            for (chunk, (encoded, out)) in chunks.enumerate() {
                let points = decode(encoded).map_err(|InvalidElement { index }| InvalidElement {
                    index: chunk * LANES * VECTORS + index,
                })?;
                mul_encode_doubled(&half, &points, out);
            }
            Ok(())
        }

        /// The points of a chunk, two vectors at a time.
        #[target_feature(enable = $features)]
        fn decode(encoded: &[[u8; 32]]) -> Result<Vec<Point>, InvalidElement> {
            let mut decoded = Vec::with_capacity(VECTORS);
            for pair in encoded.chunks(2 * LANES) {
                let (first, second) = pair.split_at(pair.len().min(LANES));
                if second.is_empty() {
                    decoded.extend(ristretto::decode([vector(first)]));
                } else {
                    decoded.extend(ristretto::decode([vector(first), vector(second)]));
                }
            }
            for (n, (valid, _)) in decoded.iter().enumerate() {
                // Lanes beyond the end repeat the first element.
                if *valid != u8::MAX {
                    return Err(InvalidElement { index: n * LANES + valid.trailing_ones() as usize });
                }
            }
            Ok(decoded.into_iter().map(|(_, point)| point).collect())
        }

        /// `out[i] = encode(2 · half · points[i])`.
        #[target_feature(enable = $features)]
        fn mul_encode_doubled(half: &[u8; 32], points: &[Point], out: &mut [[u8; 32]]) {
            let mut products = Vec::with_capacity(points.len());
            self::products(half, points, &mut products);
            for (out, encoded) in out.chunks_mut(LANES).zip(ristretto::encode_doubled(&products)) {
                out.copy_from_slice(&encoded[..out.len()]);
            }
            products.zeroize();
        }

        /// Appends `scalar · points[i]` as the ladder leaves it. The inversions of all points are shared.
        #[target_feature(enable = $features)]
        fn products(scalar: &[u8], points: &[Point], products: &mut Vec<Point>) {
            let (scalars, bases) = (Scalars::one(scalar), ladder::bases(points));
            let (together, rest) = bases.as_chunks::<{ field::TOGETHER }>();
            for bases in together {
                products.extend(ladder::multiply(&scalars, bases));
            }
            for base in rest {
                products.extend(ladder::multiply(&scalars, &[*base]));
            }
        }
    };
}
