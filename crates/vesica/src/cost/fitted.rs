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
        compute: [1.100e-4, 4.632e-8, 1.303e-7, 6.017e-8, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.3, one_way: 1.0,
        largest: 262144, deviation: 0.138,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.123e-2, 0.0, 0.0, 7.149e-8, 0.0, 0.0, 8.267e-9],
        parallel: 0.05, flights: [3.0, 5.5], overlap: 0.4, one_way: 0.8,
        largest: 262144, deviation: 0.244,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Fast, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.773e-2, 0.0, 0.0, 4.100e-8, 0.0, 0.0, 1.238e-8],
        parallel: -0.1, flights: [3.0, 3.0], overlap: 0.6, one_way: 0.95,
        largest: 262144, deviation: 0.14,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Lean, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.934e-2, 0.0, 1.784e-8, 5.102e-8, 0.0, 0.0, 9.884e-9],
        parallel: -0.05, flights: [3.0, 3.0], overlap: 0.3, one_way: 0.6,
        largest: 262144, deviation: 0.071,
    },
    Fitted {
        form: Form { protocol: "vole", security: Malicious, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.416e-2, 0.0, 0.0, 7.483e-8, 0.0, 0.0, 7.806e-9],
        parallel: -0.15, flights: [5.0, 9.5], overlap: 0.2, one_way: 0.8,
        largest: 262144, deviation: 0.139,
    },
    Fitted {
        form: Form { protocol: "gbf-random", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.132e-2, 1.870e-6, 2.121e-7, 5.688e-7, 0.0, 0.0, 0.0],
        parallel: -0.45, flights: [3.5, 3.5], overlap: 0.8, one_way: 0.0,
        largest: 262144, deviation: 0.11,
    },
    Fitted {
        form: Form { protocol: "gbf", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.479e-2, 1.047e-6, 8.809e-7, 3.018e-6, 0.0, 0.0, 0.0],
        parallel: -0.35, flights: [3.5, 5.0], overlap: 0.65, one_way: 0.75,
        largest: 262144, deviation: 0.09,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: Some(32), level: 128, paper: false, kept_base_ots: false },
        compute: [2.683e-2, 6.473e-7, 7.411e-7, 0.0, 0.0, 0.0, 0.0],
        parallel: -0.25, flights: [3.0, 3.0], overlap: 0.6, one_way: 1.0,
        largest: 1048576, deviation: 0.101,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: Some(32), level: 128, paper: false, kept_base_ots: false },
        compute: [2.439e-2, 0.0, 1.093e-7, 4.576e-8, 0.0, 0.0, 1.055e-9],
        parallel: -0.6, flights: [3.0, 3.0], overlap: 0.55, one_way: 0.9,
        largest: 262144, deviation: 0.061,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.542e-2, 0.0, 2.441e-7, 0.0, 0.0, 0.0, 9.121e-10],
        parallel: -0.7, flights: [3.5, 3.5], overlap: 0.65, one_way: 0.55,
        largest: 262144, deviation: 0.071,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.412e-2, 1.257e-6, 1.289e-6, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.5, 3.5], overlap: 0.65, one_way: 0.95,
        largest: 262144, deviation: 0.113,
    },
    Fitted {
        form: Form { protocol: "kkrt", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [4.046e-2, 8.937e-8, 8.917e-8, 5.351e-8, 0.0, 0.0, 0.0],
        parallel: -0.5, flights: [3.0, 3.5], overlap: 0.3, one_way: 0.5,
        largest: 262144, deviation: 0.112,
    },
    Fitted {
        form: Form { protocol: "dh", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.323e-3, 0.0, 0.0, 2.442e-6, 0.0, 1.466e-7, 9.609e-8],
        parallel: -0.15, flights: [2.0, 1.0], overlap: 0.8, one_way: 0.55,
        largest: 262144, deviation: 0.046,
    },
    Fitted {
        form: Form { protocol: "kkrt", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [7.688e-4, 1.513e-7, 1.654e-7, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.0, one_way: 0.5,
        largest: 65536, deviation: 0.115,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [6.233e-4, 2.814e-7, 1.517e-7, 1.524e-7, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.0, one_way: 0.55,
        largest: 65536, deviation: 0.132,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [1.301e-3, 9.317e-7, 1.381e-6, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.0, one_way: 0.85,
        largest: 65536, deviation: 0.183,
    },
    Fitted {
        form: Form { protocol: "gbf-random", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [9.509e-4, 2.653e-6, 0.0, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.2, one_way: 0.0,
        largest: 4096, deviation: 0.009,
    },
    Fitted {
        form: Form { protocol: "gbf", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [1.155e-3, 4.677e-6, 0.0, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 1.5], overlap: 0.0, one_way: 1.0,
        largest: 4096, deviation: 0.004,
    },
];
