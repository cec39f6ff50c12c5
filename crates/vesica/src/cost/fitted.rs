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
        compute: [1.128e-4, 3.220e-8, 1.229e-7, 7.459e-8, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.25, one_way: 1.0,
        largest: 262144, deviation: 0.126,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.127e-2, 0.0, 3.623e-8, 7.012e-8, 0.0, 0.0, 6.071e-9],
        parallel: 0.0, flights: [3.0, 5.0], overlap: 0.0, one_way: 1.0,
        largest: 262144, deviation: 0.101,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Fast, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.876e-2, 0.0, 1.719e-8, 6.148e-8, 0.0, 0.0, 9.928e-9],
        parallel: 0.0, flights: [3.0, 2.5], overlap: 0.0, one_way: 1.0,
        largest: 262144, deviation: 0.101,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Lean, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.846e-2, 0.0, 0.0, 1.078e-7, 0.0, 0.0, 6.476e-9],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.0, one_way: 0.45,
        largest: 262144, deviation: 0.052,
    },
    Fitted {
        form: Form { protocol: "vole", security: Malicious, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.589e-2, 4.204e-8, 0.0, 5.224e-8, 0.0, 0.0, 7.156e-9],
        parallel: 0.0, flights: [5.0, 9.0], overlap: 0.0, one_way: 1.0,
        largest: 262144, deviation: 0.168,
    },
    Fitted {
        form: Form { protocol: "gbf-random", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.439e-2, 0.0, 4.673e-7, 3.139e-7, 1.087e-7, 0.0, 0.0],
        parallel: 0.0, flights: [3.5, 3.5], overlap: 0.85, one_way: 0.0,
        largest: 262144, deviation: 0.179,
    },
    Fitted {
        form: Form { protocol: "gbf", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.394e-2, 8.169e-7, 7.658e-7, 3.545e-6, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.5, 4.5], overlap: 0.75, one_way: 0.85,
        largest: 262144, deviation: 0.126,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: Some(32), level: 128, paper: false, kept_base_ots: false },
        compute: [2.703e-2, 0.0, 0.0, 2.342e-7, 3.741e-8, 4.389e-8, 0.0],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.6, one_way: 1.0,
        largest: 1048576, deviation: 0.092,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: Some(32), level: 128, paper: false, kept_base_ots: false },
        compute: [2.494e-2, 0.0, 8.145e-8, 1.569e-7, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.0, 2.5], overlap: 0.2, one_way: 1.0,
        largest: 262144, deviation: 0.21,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.587e-2, 3.158e-7, 3.072e-7, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.5, 3.0], overlap: 0.65, one_way: 0.95,
        largest: 262144, deviation: 0.224,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.605e-2, 0.0, 1.211e-6, 4.452e-7, 0.0, 0.0, 1.171e-9],
        parallel: 0.0, flights: [3.5, 3.0], overlap: 0.6, one_way: 1.0,
        largest: 262144, deviation: 0.123,
    },
    Fitted {
        form: Form { protocol: "kkrt", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [4.058e-2, 5.786e-8, 1.438e-7, 5.093e-8, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.0, 3.5], overlap: 0.2, one_way: 0.45,
        largest: 262144, deviation: 0.123,
    },
    Fitted {
        form: Form { protocol: "dh", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.230e-3, 6.096e-6, 3.170e-6, 0.0, 0.0, 1.552e-7, 0.0],
        parallel: 0.0, flights: [2.0, 1.5], overlap: 0.95, one_way: 0.0,
        largest: 262144, deviation: 0.071,
    },
    Fitted {
        form: Form { protocol: "kkrt", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [9.437e-4, 2.031e-7, 2.094e-7, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.0, one_way: 0.45,
        largest: 65536, deviation: 0.144,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [1.178e-3, 0.0, 0.0, 0.0, 0.0, 2.045e-8, 1.527e-9],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.0, one_way: 0.45,
        largest: 65536, deviation: 0.018,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [1.697e-3, 1.219e-6, 1.619e-6, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.05, one_way: 0.8,
        largest: 65536, deviation: 0.24,
    },
    Fitted {
        form: Form { protocol: "gbf-random", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [1.221e-3, 3.673e-6, 0.0, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.45, one_way: 0.0,
        largest: 4096, deviation: 0.008,
    },
    Fitted {
        form: Form { protocol: "gbf", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [2.427e-3, 0.0, 0.0, 0.0, 5.757e-7, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 1.5], overlap: 0.3, one_way: 1.0,
        largest: 4096, deviation: 0.003,
    },
];
