//! Made by `vesica bench fit`: not to be changed by hand.

use vesica_protocols::Profile::{Conservative, Fast, Lean};
use vesica_protocols::registry::Security::{Malicious, SemiHonest};

use super::{Fitted, Form};

/// The record that the coefficients were fitted to.
#[rustfmt::skip]
pub const SOURCE: &str = "benchmarks/record/2026-11-22-zen4: vesica/model, vesica/model-networks, vesica/kept-base-ots";

/// The coefficients of every form in the record.
#[rustfmt::skip]
pub static FITTED: &[Fitted] = &[
    Fitted {
        form: Form { protocol: "naive-hash", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.580e-4, 3.155e-8, 1.152e-7, 7.768e-8, 0.0, 0.0, 0.0],
        parallel: 0.1, flights: [2.0, 2.0], overlap: 0.0, one_way: 1.0,
        largest: 1048576, deviation: 0.065,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.159e-2, 0.0, 3.253e-8, 8.294e-8, 0.0, 0.0, 5.587e-9],
        parallel: 0.0, flights: [3.0, 5.5], overlap: 0.0, one_way: 1.0,
        largest: 1048576, deviation: 0.211,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Fast, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.932e-2, 0.0, 0.0, 5.796e-8, 0.0, 0.0, 1.058e-8],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.3, one_way: 0.8,
        largest: 1048576, deviation: 0.135,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Lean, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.708e-2, 0.0, 0.0, 7.505e-8, 0.0, 0.0, 8.457e-9],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.0, one_way: 0.8,
        largest: 1048576, deviation: 0.174,
    },
    Fitted {
        form: Form { protocol: "vole", security: Malicious, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.573e-2, 0.0, 0.0, 7.707e-8, 4.566e-9, 0.0, 5.578e-9],
        parallel: 0.0, flights: [5.0, 9.0], overlap: 0.0, one_way: 1.0,
        largest: 1048576, deviation: 0.13,
    },
    Fitted {
        form: Form { protocol: "gbf-random", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.248e-2, 6.324e-7, 4.473e-7, 3.511e-7, 8.662e-8, 0.0, 0.0],
        parallel: 0.0, flights: [3.5, 3.0], overlap: 0.85, one_way: 0.6,
        largest: 1048576, deviation: 0.235,
    },
    Fitted {
        form: Form { protocol: "gbf", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.030e-2, 0.0, 7.480e-7, 5.105e-6, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.5, 5.0], overlap: 0.65, one_way: 0.75,
        largest: 1048576, deviation: 0.206,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: Some(32), level: 128, paper: false, kept_base_ots: false },
        compute: [2.504e-2, 0.0, 0.0, 1.157e-7, 3.108e-8, 4.606e-8, 0.0],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.6, one_way: 1.0,
        largest: 1048576, deviation: 0.072,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: Some(32), level: 128, paper: false, kept_base_ots: false },
        compute: [2.318e-2, 0.0, 0.0, 6.820e-8, 0.0, 1.144e-8, 1.311e-9],
        parallel: 0.0, flights: [3.5, 3.0], overlap: 0.65, one_way: 1.0,
        largest: 1048576, deviation: 0.063,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.495e-2, 0.0, 0.0, 0.0, 7.063e-8, 8.502e-8, 0.0],
        parallel: 0.25, flights: [3.5, 3.5], overlap: 0.65, one_way: 0.9,
        largest: 1048576, deviation: 0.137,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.011e-2, 0.0, 4.255e-7, 1.300e-7, 1.921e-8, 0.0, 0.0],
        parallel: 0.0, flights: [3.5, 3.5], overlap: 0.65, one_way: 0.5,
        largest: 1048576, deviation: 0.233,
    },
    Fitted {
        form: Form { protocol: "dh", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.007e-3, 0.0, 0.0, 2.848e-6, 0.0, 1.278e-7, 9.083e-8],
        parallel: 0.0, flights: [2.0, 0.0], overlap: 0.55, one_way: 1.0,
        largest: 262144, deviation: 0.09,
    },
    Fitted {
        form: Form { protocol: "kkrt", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [3.602e-2, 0.0, 9.570e-8, 0.0, 0.0, 0.0, 2.104e-9],
        parallel: 0.0, flights: [3.5, 3.5], overlap: 0.25, one_way: 0.45,
        largest: 1048576, deviation: 0.092,
    },
    Fitted {
        form: Form { protocol: "kkrt", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [7.226e-4, 1.559e-7, 1.746e-7, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.0, one_way: 0.45,
        largest: 65536, deviation: 0.146,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [7.568e-4, 3.369e-7, 4.411e-7, 1.028e-7, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.0, one_way: 0.35,
        largest: 65536, deviation: 0.136,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [1.321e-3, 1.008e-6, 1.459e-6, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.0, one_way: 0.85,
        largest: 65536, deviation: 0.175,
    },
    Fitted {
        form: Form { protocol: "gbf-random", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [1.356e-3, 2.873e-6, 0.0, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.35, one_way: 0.0,
        largest: 4096, deviation: 0.006,
    },
    Fitted {
        form: Form { protocol: "gbf", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [2.406e-3, 0.0, 0.0, 0.0, 4.467e-7, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.55, one_way: 1.0,
        largest: 4096, deviation: 0.003,
    },
];
