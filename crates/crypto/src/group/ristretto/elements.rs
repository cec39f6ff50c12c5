//! Many elements of ristretto255: in lanes where the processor has them, else one after the other.

use curve25519_dalek::constants::{RISTRETTO_BASEPOINT_POINT, RISTRETTO_BASEPOINT_TABLE};
use curve25519_dalek::ristretto::{RistrettoBasepointTable, RistrettoPoint};
use curve25519_dalek::scalar::Scalar as Integer;
use curve25519_dalek::traits::VartimeMultiscalarMul;
use vesica_kernels::Backend;
use zeroize::Zeroize;
#[cfg(target_arch = "x86_64")]
use {
    curve25519_dalek::ristretto::CompressedRistretto, curve25519_dalek::traits::Identity,
    vesica_kernels::ristretto_lanes, zeroize::Zeroizing,
};

use super::{Element, LANES, Ristretto255, Scalar, decode_at, encode_doubled};
#[cfg(target_arch = "x86_64")]
use crate::group::Group;
use crate::group::InvalidElement;
use crate::group::elements::{BatchGroup, Elements, FixedBase};

impl BatchGroup for Ristretto255 {
    type Elements = RistrettoElements;
    type FixedBase = RistrettoBase;
}

/// Many elements of ristretto255.
pub struct RistrettoElements(Form);

/// A public element of ristretto255 with its tables.
pub struct RistrettoBase(Tables);

enum Form {
    Portable(Vec<RistrettoPoint>),
    #[cfg(target_arch = "x86_64")]
    Lanes(ristretto_lanes::Elements),
}

enum Tables {
    Portable(Box<RistrettoBasepointTable>),
    #[cfg(target_arch = "x86_64")]
    Lanes(ristretto_lanes::FixedBase),
}

impl Drop for RistrettoElements {
    fn drop(&mut self) {
        match &mut self.0 {
            Form::Portable(points) => points.zeroize(),
            // These wipe themselves.
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(_) => {}
        }
    }
}

impl RistrettoElements {
    /// [`Elements::map`], computed by `backend`.
    #[must_use]
    pub fn map_on(backend: Backend, uniform: &[[u8; 64]]) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(kernel) = ristretto_lanes::Kernel::of(backend) {
            return Self(Form::Lanes(ristretto_lanes::Elements::map(kernel, uniform)));
        }
        let _ = backend;
        Self(Form::Portable(uniform.iter().map(RistrettoPoint::from_uniform_bytes).collect()))
    }

    /// [`Elements::decode`], computed by `backend`.
    ///
    /// # Errors
    /// The first one that does not decode.
    pub fn decode_on(backend: Backend, encoded: &[[u8; 32]]) -> Result<Self, InvalidElement> {
        #[cfg(target_arch = "x86_64")]
        if let Some(kernel) = ristretto_lanes::Kernel::of(backend) {
            return Ok(Self(Form::Lanes(ristretto_lanes::Elements::decode(kernel, encoded)?)));
        }
        let _ = backend;
        let points = encoded.iter().enumerate().map(|(index, encoding)| decode_at(index, encoding));
        Ok(Self(Form::Portable(points.collect::<Result<_, _>>()?)))
    }
}

impl RistrettoBase {
    /// [`FixedBase::new`] for products computed by `backend`.
    #[must_use]
    pub fn new_on(backend: Backend, base: &Element) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(kernel) = ristretto_lanes::Kernel::of(backend) {
            return Self(Tables::Lanes(in_lanes(kernel, base)));
        }
        let _ = backend;
        // The library has the generator's.
        let table = match base.0 == RISTRETTO_BASEPOINT_POINT {
            true => RISTRETTO_BASEPOINT_TABLE.clone(),
            false => RistrettoBasepointTable::create(&base.0),
        };
        Self(Tables::Portable(Box::new(table)))
    }

    /// The tables in lanes, if the back end has them.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn lanes(&self) -> Option<&ristretto_lanes::FixedBase> {
        match &self.0 {
            Tables::Portable(_) => None,
            Tables::Lanes(table) => Some(table),
        }
    }
}

/// The tables in lanes.
#[cfg(target_arch = "x86_64")]
fn in_lanes(kernel: ristretto_lanes::Kernel, base: &Element) -> ristretto_lanes::FixedBase {
    // Halves of the powers of 64, whose doubles are encoded all at once.
    let mut half = Integer::ONE.div_by_2() * base.0;
    let mut halves = [RistrettoPoint::identity(); ristretto_lanes::FixedBase::POWERS];
    for power in &mut halves {
        *power = half;
        (0..6).for_each(|_| half = half + half);
    }
    let mut powers = [[0; 32]; ristretto_lanes::FixedBase::POWERS];
    encode_doubled(halves.to_vec(), &mut powers);
    ristretto_lanes::FixedBase::new(kernel, &powers)
}

/// The element with this encoding, which was computed here.
#[cfg(target_arch = "x86_64")]
fn computed(encoded: [u8; 32]) -> Element {
    Element(CompressedRistretto(encoded).decompress().unwrap_or_default())
}

impl Elements<Ristretto255> for RistrettoElements {
    fn map(uniform: &[[u8; 64]]) -> Self {
        Self::map_on(Backend::detect(), uniform)
    }

    fn decode(encoded: &[[u8; 32]]) -> Result<Self, InvalidElement> {
        Self::decode_on(Backend::detect(), encoded)
    }

    fn encode_doubles(&self, out: &mut [[u8; 32]]) {
        assert_eq!(self.count(), out.len(), "one output for each element");
        match &self.0 {
            Form::Portable(points) => {
                for (points, out) in points.chunks(LANES).zip(out.chunks_mut(LANES)) {
                    encode_doubled(points.to_vec(), out);
                }
            }
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(elements) => elements.encode_doubles(out),
        }
    }

    fn encode(&self, out: &mut [[u8; 32]]) {
        assert_eq!(self.count(), out.len(), "one output for each element");
        match &self.0 {
            Form::Portable(points) => {
                out.iter_mut().zip(points).for_each(|(out, point)| *out = point.compress().to_bytes());
            }
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(elements) => elements.encode(out),
        }
    }

    fn count(&self) -> usize {
        match &self.0 {
            Form::Portable(points) => points.len(),
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(elements) => elements.count(),
        }
    }

    fn multiply(&self, scalar: &Scalar) -> Self {
        Self(match &self.0 {
            Form::Portable(points) => Form::Portable(points.iter().map(|point| scalar.0 * point).collect()),
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(elements) => Form::Lanes(elements.multiply(&*Zeroizing::new(scalar.0.to_bytes()))),
        })
    }

    fn multiply_short(&self, scalar: u128) -> Self {
        match &self.0 {
            Form::Portable(_) => self.multiply(&Scalar(scalar.into())),
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(elements) => {
                Self(Form::Lanes(elements.multiply(&*Zeroizing::new(scalar.to_le_bytes()))))
            }
        }
    }

    fn add_assign(&mut self, other: &Self) {
        assert_eq!(self.count(), other.count(), "one element for each");
        match (&mut self.0, &other.0) {
            (Form::Portable(points), Form::Portable(others)) => {
                points.iter_mut().zip(others).for_each(|(point, other)| *point += other);
            }
            #[cfg(target_arch = "x86_64")]
            (Form::Lanes(elements), Form::Lanes(others)) => elements.add_assign(others),
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("a process uses one back end; tests do not mix them"),
        }
    }

    fn add_to_all(&mut self, element: &Element) {
        match &mut self.0 {
            Form::Portable(points) => points.iter_mut().for_each(|point| *point += element.0),
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(elements) => elements.add_to_all(&Ristretto255::encode(element)),
        }
    }

    fn sub_assign(&mut self, other: &Self) {
        assert_eq!(self.count(), other.count(), "one element for each");
        match (&mut self.0, &other.0) {
            (Form::Portable(points), Form::Portable(others)) => {
                points.iter_mut().zip(others).for_each(|(point, other)| *point -= other);
            }
            #[cfg(target_arch = "x86_64")]
            (Form::Lanes(elements), Form::Lanes(others)) => elements.sub_assign(others),
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("a process uses one back end; tests do not mix them"),
        }
    }

    fn negate(&mut self) {
        match &mut self.0 {
            Form::Portable(points) => points.iter_mut().for_each(|point| *point = -*point),
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(elements) => elements.negate(),
        }
    }

    fn double_sum(&self) -> Element {
        match &self.0 {
            Form::Portable(points) => doubled(points.iter().sum()),
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(elements) => computed(elements.double_sum()),
        }
    }

    fn vartime_double_weighted_sum(&self, weights: &[u128]) -> Element {
        assert_eq!(self.count(), weights.len(), "one weight for each element");
        match &self.0 {
            Form::Portable(points) => {
                let weights = weights.iter().map(|&weight| Integer::from(weight));
                doubled(RistrettoPoint::vartime_multiscalar_mul(weights, points))
            }
            #[cfg(target_arch = "x86_64")]
            Form::Lanes(elements) => computed(elements.double_weighted_sum(weights)),
        }
    }
}

impl FixedBase<Ristretto255> for RistrettoBase {
    fn new(base: &Element) -> Self {
        Self::new_on(Backend::detect(), base)
    }

    fn multiply(&self, scalars: &[Scalar]) -> RistrettoElements {
        RistrettoElements(match &self.0 {
            Tables::Portable(table) => {
                Form::Portable(scalars.iter().map(|scalar| &scalar.0 * &**table).collect())
            }
            #[cfg(target_arch = "x86_64")]
            Tables::Lanes(table) => {
                let scalars: Vec<_> = scalars.iter().map(|scalar| scalar.0.to_bytes()).collect();
                Form::Lanes(ristretto_lanes::Elements::of_base(table, &Zeroizing::new(scalars)))
            }
        })
    }
}

fn doubled(point: RistrettoPoint) -> Element {
    Element(point + point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use crate::prg::Prg;

    fn scalars(rng: &mut Prg, count: usize) -> Vec<Scalar> {
        // Zero, one, minus one, the digits at their limits, then random ones.
        let limits = [[0x20, 0x08, 0x82], [0xdf, 0xf7, 0x7d], [0x1f, 0xf8, 0x81]].map(|pattern| {
            let mut bytes: [u8; 32] = std::array::from_fn(|i| pattern[i % 3]);
            bytes[31] &= 0x0f;
            Scalar(Integer::from_bytes_mod_order(bytes))
        });
        let special = [Integer::ZERO, Integer::ONE, -Integer::ONE, Integer::from(u128::MAX)].map(Scalar);
        let random = (0..count).map(|_| Ristretto255::random_scalar(rng));
        special.into_iter().chain(limits).chain(random).take(count).collect()
    }

    fn uniform(rng: &mut Prg, count: usize) -> Vec<[u8; 64]> {
        let mut uniform = vec![[0; 64]; count];
        rng.fill(uniform.as_flattened_mut());
        uniform
    }

    fn doubles(elements: &RistrettoElements) -> Vec<[u8; 32]> {
        let mut out = vec![[0xaa; 32]; elements.count()];
        elements.encode_doubles(&mut out);
        out
    }

    fn expected(elements: impl Iterator<Item = Element>) -> Vec<[u8; 32]> {
        elements.map(|element| Ristretto255::encode(&Ristretto255::add(&element, &element))).collect()
    }

    const COUNTS: [usize; 9] = [0, 1, 7, 8, 9, 16, 17, 130, 300];

    #[test]
    fn many_elements_compute_as_single_ones_do() {
        let mut rng = Prg::from_seed([1; 16]);
        for (backend, count) in Backend::available().flat_map(|backend| COUNTS.map(|count| (backend, count)))
        {
            let (first, second) = (uniform(&mut rng, count), uniform(&mut rng, count));
            let singles =
                |uniform: &[[u8; 64]]| uniform.iter().map(Ristretto255::map_to_group).collect::<Vec<_>>();
            let (p, q) = (singles(&first), singles(&second));
            let what = format!("{backend:?}, {count}");
            let mut elements = RistrettoElements::map_on(backend, &first);
            assert_eq!(doubles(&elements), expected(p.iter().copied()), "{what}: map");
            let encoded: Vec<_> = q.iter().map(Ristretto255::encode).collect();
            let others = RistrettoElements::decode_on(backend, &encoded).ok().unwrap();
            assert_eq!(doubles(&others), expected(q.iter().copied()), "{what}: decode");
            let mut singles = vec![[0xaa; 32]; count];
            others.encode(&mut singles);
            assert_eq!(singles, encoded, "{what}: encode");
            let scalar = Ristretto255::random_scalar(&mut rng);
            let product = |element| Ristretto255::mul(&scalar, element);
            assert_eq!(
                doubles(&others.multiply(&scalar)),
                expected(q.iter().map(product)),
                "{what}: product"
            );
            let short = u128::MAX - 5;
            let product = |element| Ristretto255::mul(&Scalar(short.into()), element);
            assert_eq!(
                doubles(&others.multiply_short(short)),
                expected(q.iter().map(product)),
                "{what}: short"
            );
            let sum: RistrettoPoint = p.iter().map(|p| p.0).sum();
            assert!(elements.double_sum() == doubled(sum), "{what}: sum");
            elements.negate();
            elements.add_assign(&others);
            elements.negate();
            elements.sub_assign(&others);
            elements.add_assign(&others);
            let one = Ristretto255::random_element(&mut rng);
            elements.add_to_all(&one);
            let sums = p.iter().zip(&q).map(|(p, q)| Ristretto255::add(&Ristretto255::sub(p, q), &one));
            assert_eq!(doubles(&elements), expected(sums), "{what}: sums");
        }
    }

    #[test]
    fn fixed_bases_multiply_as_the_library_does() {
        let mut rng = Prg::from_seed([2; 16]);
        let bases =
            [Ristretto255::generator(), Ristretto255::random_element(&mut rng), Ristretto255::identity()];
        for (backend, base) in Backend::available().flat_map(|backend| bases.map(|base| (backend, base))) {
            let table = RistrettoBase::new_on(backend, &base);
            for count in COUNTS {
                let scalars = scalars(&mut rng, count);
                let products = scalars.iter().map(|scalar| Ristretto255::mul(scalar, &base));
                assert_eq!(doubles(&table.multiply(&scalars)), expected(products), "{backend:?}, {count}");
            }
        }
    }

    #[test]
    fn weighted_sums_are_those_of_the_library() {
        let mut rng = Prg::from_seed([3; 16]);
        for (backend, count) in Backend::available().flat_map(|backend| COUNTS.map(|count| (backend, count)))
        {
            let uniform = uniform(&mut rng, count);
            let elements = RistrettoElements::map_on(backend, &uniform);
            let mut weights: Vec<u128> = (0..count).map(|_| rng.block().to_u128()).collect();
            let limits = [0, 1, u128::MAX, 8, 0x7777 << 112, 0x8888 << 112, u128::MAX / 15 * 8];
            weights.iter_mut().zip(limits).for_each(|(weight, limit)| *weight = limit);
            let terms = uniform.iter().zip(&weights).map(|(uniform, &weight)| {
                Ristretto255::mul(&Scalar(weight.into()), &Ristretto255::map_to_group(uniform))
            });
            let sum: RistrettoPoint = terms.map(|term| term.0).sum();
            assert!(elements.vartime_double_weighted_sum(&weights) == doubled(sum), "{backend:?}, {count}");
        }
    }

    /// Sums may be the identity, which no encoding brings in. What a ladder leaves of it is still the identity
    /// in the sums that follow.
    #[test]
    fn the_identity_stays_the_identity() {
        let mut rng = Prg::from_seed([4; 16]);
        for backend in Backend::available() {
            let uniform = uniform(&mut rng, 11);
            let mut zeros = RistrettoElements::map_on(backend, &uniform);
            zeros.sub_assign(&RistrettoElements::map_on(backend, &uniform));
            assert_eq!(doubles(&zeros), [[0; 32]; 11]);
            let mut singles = [[0xaa; 32]; 11];
            zeros.encode(&mut singles);
            assert_eq!(singles, [[0; 32]; 11]);
            let scalar = Ristretto255::random_scalar(&mut rng);
            let one = Ristretto255::random_element(&mut rng);
            let other = RistrettoElements::map_on(backend, &uniform);
            let none = Scalar(Integer::ZERO);
            for mut product in [
                zeros.multiply(&scalar),
                zeros.multiply_short(77),
                other.multiply_short(0),
                other.multiply(&none),
            ] {
                product.add_to_all(&one);
                assert_eq!(doubles(&product), expected([one; 11].into_iter()), "{backend:?}");
                product.add_to_all(&Ristretto255::sub(&Ristretto255::identity(), &one));
                product.add_to_all(&Ristretto255::identity());
                assert!(product.double_sum() == Ristretto255::identity());
                assert!(product.vartime_double_weighted_sum(&[u128::MAX; 11]) == Ristretto255::identity());
            }
        }
    }

    #[test]
    fn invalid_encodings_are_named() {
        let good = Ristretto255::encode(&Ristretto255::generator());
        for backend in Backend::available() {
            for index in [0, 7, 8, 100] {
                let mut encoded = [good; 101];
                encoded[index] = [0; 32];
                encoded[100] = [0xff; 32];
                let refused = RistrettoElements::decode_on(backend, &encoded).err();
                assert_eq!(refused, Some(InvalidElement { index }), "{backend:?}");
            }
        }
    }
}
