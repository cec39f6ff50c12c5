//! Made by `vesica bench fit`: not to be changed by hand.

use vesica_protocols::Profile::{Conservative, Fast, Lean};
use vesica_protocols::registry::Security::{Malicious, SemiHonest};

use super::{Fitted, Form};

/// The record that the coefficients were fitted to.
pub const SOURCE: &str = "benchmarks/record/2026-11-21-zen4: vesica/model, vesica/model-networks";

/// The coefficients of every form in the record.
#[rustfmt::skip]
pub static FITTED: &[Fitted] = &[
    Fitted {
        form: Form { protocol: "dh", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false },
        compute: [1.713e-3, 6.360e-6, 6.185e-6, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 1.5], overlap: 1.0, one_way: 0.0,
        largest: 262144, deviation: 0.076,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false },
        compute: [2.781e-2, 0.0, 1.947e-6, 0.0, 0.0, 0.0, 5.009e-9],
        parallel: 0.25, flights: [3.5, 3.5], overlap: 0.95, one_way: 1.0,
        largest: 1048576, deviation: 0.139,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false },
        compute: [3.829e-2, 0.0, 1.744e-6, 6.231e-7, 0.0, 0.0, 4.592e-9],
        parallel: 0.35, flights: [3.0, 2.5], overlap: 0.45, one_way: 1.0,
        largest: 1048576, deviation: 0.185,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: Some(32), level: 128, paper: false },
        compute: [3.106e-2, 0.0, 0.0, 0.0, 0.0, 5.755e-8, 5.858e-9],
        parallel: 0.0, flights: [3.0, 2.5], overlap: 0.0, one_way: 1.0,
        largest: 1048576, deviation: 0.086,
    },
    Fitted {
        form: Form { protocol: "gbf-random", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false },
        compute: [1.826e-2, 0.0, 1.457e-6, 0.0, 0.0, 0.0, 5.560e-9],
        parallel: 0.25, flights: [3.0, 3.0], overlap: 0.2, one_way: 0.95,
        largest: 1048576, deviation: 0.177,
    },
    Fitted {
        form: Form { protocol: "gbf", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false },
        compute: [1.630e-2, 1.292e-6, 1.824e-6, 5.033e-6, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.2, one_way: 1.0,
        largest: 1048576, deviation: 0.083,
    },
    Fitted {
        form: Form { protocol: "kkrt", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false },
        compute: [4.005e-2, 4.289e-7, 5.526e-7, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.0, one_way: 0.85,
        largest: 1048576, deviation: 0.192,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: Some(32), level: 128, paper: false },
        compute: [3.123e-2, 0.0, 6.409e-7, 3.125e-7, 0.0, 0.0, 4.322e-9],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.2, one_way: 0.85,
        largest: 1048576, deviation: 0.156,
    },
    Fitted {
        form: Form { protocol: "naive-hash", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false },
        compute: [2.749e-4, 9.612e-8, 0.0, 2.576e-8, 0.0, 1.060e-8, 0.0],
        parallel: 0.1, flights: [2.0, 2.0], overlap: 0.75, one_way: 1.0,
        largest: 1048576, deviation: 0.143,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false },
        compute: [3.021e-2, 0.0, 0.0, 0.0, 2.537e-8, 1.075e-8, 0.0],
        parallel: 0.0, flights: [3.0, 5.5], overlap: 0.2, one_way: 0.6,
        largest: 1048576, deviation: 0.141,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Fast, variant: "", sigma: None, level: 128, paper: false },
        compute: [2.055e-2, 0.0, 0.0, 5.979e-8, 1.404e-8, 0.0, 3.218e-8],
        parallel: 0.15, flights: [3.0, 2.5], overlap: 0.0, one_way: 0.75,
        largest: 1048576, deviation: 0.134,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Lean, variant: "", sigma: None, level: 128, paper: false },
        compute: [2.236e-2, 0.0, 0.0, 2.766e-7, 2.659e-8, 0.0, 0.0],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.15, one_way: 0.5,
        largest: 1048576, deviation: 0.103,
    },
    Fitted {
        form: Form { protocol: "vole", security: Malicious, profile: Conservative, variant: "", sigma: None, level: 128, paper: false },
        compute: [3.384e-2, 0.0, 0.0, 1.117e-7, 5.628e-9, 0.0, 2.232e-8],
        parallel: 0.0, flights: [5.0, 9.5], overlap: 0.3, one_way: 0.8,
        largest: 1048576, deviation: 0.174,
    },
];
