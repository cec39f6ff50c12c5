//! Groups: scalars, elements, encodings.

use vesica_crypto::backend::{Backend, Kernels};
use vesica_crypto::group::modp::{Bits1024, Bits1024Short, Modp};
use vesica_crypto::group::{
    Elements as _, FixedBase as _, Group, P256, P384, P521, Ristretto255, RistrettoBase, RistrettoElements,
    decode_mul_encode_on, map_mul_encode_on,
};
use vesica_crypto::prg::Prg;

use super::{Subject, bytes, row, rows};
use crate::measure::{Class, Operation, operation};

/// Elements of a measurement in lanes.
const COUNT: usize = 16;

/// What is measured of each group.
struct Names {
    module: &'static str,
    product: &'static str,
    product_of_base: &'static str,
    encoding: &'static str,
    map: &'static str,
    inverse: &'static str,
}

/// The names of a group's operations.
macro_rules! names {
    ($module:literal, $group:literal) => {
        Names {
            module: $module,
            product: concat!($group, ": a scalar times an element"),
            product_of_base: concat!($group, ": a scalar times the generator"),
            encoding: concat!($group, ": an element encoded"),
            map: concat!($group, ": uniform bytes mapped to an element"),
            inverse: concat!($group, ": a scalar inverted"),
        }
    };
}

pub(super) fn list() -> Vec<Subject> {
    let mut list = Vec::new();
    list.extend(of::<Ristretto255>(
        names!("crypto/src/group/ristretto.rs", "ristretto255"),
        two::<Ristretto255>,
    ));
    list.extend(in_lanes());
    list.extend(of::<P256>(names!("crypto/src/group/nist.rs", "P-256"), two::<P256>));
    list.extend(of::<P384>(names!("crypto/src/group/nist.rs", "P-384"), two::<P384>));
    list.extend(of::<P521>(names!("crypto/src/group/nist.rs", "P-521"), two::<P521>));
    list.extend(of::<Modp<Bits1024>>(
        names!("crypto/src/group/modp.rs", "modulo 1024 bits"),
        two::<Modp<Bits1024>>,
    ));
    // A short exponent has a public length, and two a longer one: here the fixed scalar is one that was drawn.
    list.extend(of::<Modp<Bits1024Short>>(
        names!("crypto/src/group/modp.rs", "modulo 1024 bits, short exponents"),
        known_scalar::<Modp<Bits1024Short>>,
    ));
    list
}

/// Two: nearly all of its bits are zero.
fn two<G: Group>() -> G::Scalar {
    // One is the last byte of a big-endian number, or the first of a little-endian one.
    let [little, big] = [0, G::UNIFORM - 1].map(|at| {
        let mut uniform = G::UNIFORM_EMPTY;
        uniform.as_mut()[at] = 1;
        G::scalar_from_uniform(&uniform)
    });
    let one = if G::mul_base(&little) == G::generator() { little } else { big };
    G::add_scalars(&one, &one)
}

/// Random scalars, or a fixed one. Both classes draw as much.
fn scalars<G: Group>(fixed: G::Scalar) -> impl Fn(Class, &mut Prg) -> G::Scalar + Clone {
    move |class, rng| {
        let (random, fixed) = (G::random_scalar(rng), fixed.clone());
        if class == Class::Random { random } else { fixed }
    }
}

/// The same scalar every time.
fn known_scalar<G: Group>() -> G::Scalar {
    G::random_scalar(&mut Prg::from_seed([2; 16]))
}

/// One of many elements, or the generator.
fn elements<G: Group>() -> impl Fn(Class, &mut Prg) -> G::Element + Clone {
    let mut own = Prg::from_seed([1; 16]);
    let many: Vec<G::Element> = (0..64).map(|_| G::random_element(&mut own)).collect();
    move |class, rng| {
        let index = usize::from(bytes::<1>(Class::Random, rng)[0]) % many.len();
        let (random, fixed) = (many[index], G::generator());
        if class == Class::Random { random } else { fixed }
    }
}

fn of<G: Group>(names: Names, fixed: fn() -> G::Scalar) -> Vec<Subject> {
    let Names { module, product, product_of_base, encoding, map, inverse } = names;
    vec![
        row(module, product, "the scalar", move || {
            let element = elements::<G>()(Class::Random, &mut Prg::from_seed([2; 16]));
            operation(scalars::<G>(fixed()), move |scalar| G::mul(scalar, &element))
        }),
        row(module, product, "the element", || {
            let scalar = known_scalar::<G>();
            operation(elements::<G>(), move |element| G::mul(&scalar, element))
        }),
        row(module, product_of_base, "the scalar", move || {
            operation(scalars::<G>(fixed()), |scalar| G::mul_base(scalar))
        }),
        row(module, encoding, "the element", || operation(elements::<G>(), |element| G::encode(element))),
        row(module, map, "the bytes", || {
            operation(
                |class, rng| {
                    let (mut uniform, kept) =
                        (G::UNIFORM_EMPTY, u8::from(class == Class::Random).wrapping_neg());
                    rng.fill(uniform.as_mut());
                    uniform.as_mut().iter_mut().for_each(|byte| *byte &= kept);
                    uniform
                },
                |uniform| G::map_to_group(uniform),
            )
        }),
        row(module, inverse, "the scalar", move || {
            operation(scalars::<G>(fixed()), |scalar| G::invert(scalar))
        }),
    ]
}

/// ristretto255 on many elements at a time, which has code of its own at each level.
fn in_lanes() -> Vec<Subject> {
    type G = Ristretto255;
    let (kernels, module) = (Kernels::Ristretto, "crypto/src/group/ristretto.rs");
    let uniform = |class, rng: &mut Prg| [(); COUNT].map(|()| bytes::<64>(class, rng));
    let mut list =
        rows(kernels, module, "16 hashes mapped, multiplied, encoded", "the scalar", move |backend| {
            let (uniform, mut out) = (uniform(Class::Random, &mut Prg::from_seed([2; 16])), [[0; 32]; COUNT]);
            operation(scalars::<G>(two::<G>()), move |scalar| {
                map_mul_encode_on(backend, scalar, &uniform, &mut out)
            })
        });
    list.extend(rows(
        kernels,
        module,
        "16 hashes mapped, multiplied, encoded",
        "the hashes",
        move |backend| {
            let (scalar, mut out) = (known_scalar::<G>(), [[0; 32]; COUNT]);
            operation(uniform, move |uniform| map_mul_encode_on(backend, &scalar, uniform, &mut out))
        },
    ));
    list.extend(rows(kernels, module, "16 elements decoded, multiplied, encoded", "the scalar", |backend| {
        let (encoded, mut out) = (encodings(), [[0; 32]; COUNT]);
        operation(scalars::<G>(two::<G>()), move |scalar| {
            decode_mul_encode_on(backend, scalar, &encoded, &mut out).is_ok()
        })
    }));
    list.extend(rows(kernels, module, "16 products of a fixed base", "the scalars", fixed_base));
    list.extend(rows(
        kernels,
        module,
        "16 elements times a scalar, doubles encoded",
        "the scalar",
        |backend| {
            let mut out = [[0; 32]; COUNT];
            let Ok(elements) = RistrettoElements::decode_on(backend, &encodings()) else {
                unreachable!("encoded above")
            };
            operation(scalars::<G>(two::<G>()), move |scalar| {
                elements.multiply(scalar).encode_doubles(&mut out)
            })
        },
    ));
    list
}

fn encodings() -> [[u8; 32]; COUNT] {
    let rng = &mut Prg::from_seed([3; 16]);
    [(); COUNT].map(|()| Ristretto255::encode(&Ristretto255::random_element(rng)))
}

fn fixed_base(backend: Backend) -> Box<dyn Operation> {
    let element = Ristretto255::random_element(&mut Prg::from_seed([2; 16]));
    let (base, mut out) = (RistrettoBase::new_on(backend, &element), [[0; 32]; COUNT]);
    let scalar = scalars::<Ristretto255>(two::<Ristretto255>());
    operation(
        move |class, rng| [(); COUNT].map(|()| scalar(class, rng)),
        move |scalars| base.multiply(scalars).encode_doubles(&mut out),
    )
}
