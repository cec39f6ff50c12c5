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
        compute: [1.733e-4, 2.332e-8, 1.078e-7, 8.465e-8, 0.0, 0.0, 0.0],
        parallel: 0.05, flights: [2.0, 2.0], overlap: 0.0, one_way: 1.0,
        largest: 1048576, deviation: 0.173,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: Some(32), level: 128, paper: false, kept_base_ots: false },
        compute: [2.325e-2, 4.603e-7, 1.278e-7, 1.036e-7, 0.0, 3.810e-8, 0.0],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.55, one_way: 1.0,
        largest: 1048576, deviation: 0.101,
    },
    Fitted {
        form: Form { protocol: "gbf-random", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.358e-2, 1.924e-6, 6.019e-7, 1.587e-7, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.85, one_way: 1.0,
        largest: 1048576, deviation: 0.166,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Fast, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.971e-2, 3.108e-8, 0.0, 7.003e-8, 0.0, 0.0, 6.190e-9],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.15, one_way: 0.45,
        largest: 1048576, deviation: 0.156,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Lean, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.791e-2, 2.472e-8, 0.0, 8.564e-8, 0.0, 0.0, 6.304e-9],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.55, one_way: 0.95,
        largest: 1048576, deviation: 0.12,
    },
    Fitted {
        form: Form { protocol: "gbf", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [1.343e-2, 5.637e-7, 7.081e-7, 3.922e-6, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.5, 4.0], overlap: 0.95, one_way: 0.95,
        largest: 1048576, deviation: 0.081,
    },
    Fitted {
        form: Form { protocol: "vole", security: Malicious, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.560e-2, 0.0, 0.0, 7.302e-8, 0.0, 0.0, 7.094e-9],
        parallel: 0.0, flights: [5.0, 9.0], overlap: 0.15, one_way: 1.0,
        largest: 1048576, deviation: 0.149,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.294e-2, 0.0, 3.478e-7, 1.321e-7, 0.0, 0.0, 8.375e-10],
        parallel: 0.0, flights: [3.5, 3.0], overlap: 0.8, one_way: 0.85,
        largest: 1048576, deviation: 0.228,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.606e-2, 6.588e-7, 1.222e-6, 4.010e-7, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [3.5, 3.0], overlap: 0.7, one_way: 1.0,
        largest: 1048576, deviation: 0.085,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: Some(32), level: 128, paper: false, kept_base_ots: false },
        compute: [2.393e-2, 0.0, 1.630e-7, 8.791e-8, 0.0, 0.0, 8.236e-10],
        parallel: 0.0, flights: [3.5, 2.5], overlap: 0.55, one_way: 1.0,
        largest: 1048576, deviation: 0.083,
    },
    Fitted {
        form: Form { protocol: "kkrt", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [3.885e-2, 0.0, 1.573e-7, 0.0, 4.651e-9, 0.0, 0.0],
        parallel: 0.0, flights: [3.0, 3.0], overlap: 0.3, one_way: 0.8,
        largest: 1048576, deviation: 0.097,
    },
    Fitted {
        form: Form { protocol: "dh", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.264e-3, 2.747e-6, 5.759e-6, 0.0, 1.715e-7, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 0.0], overlap: 0.5, one_way: 0.95,
        largest: 262144, deviation: 0.062,
    },
    Fitted {
        form: Form { protocol: "vole", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: false },
        compute: [2.197e-2, 0.0, 3.048e-8, 6.891e-8, 0.0, 0.0, 5.614e-9],
        parallel: 0.0, flights: [3.0, 5.0], overlap: 0.05, one_way: 1.0,
        largest: 1048576, deviation: 0.129,
    },
    Fitted {
        form: Form { protocol: "kkrt", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [1.135e-3, 1.927e-7, 2.691e-7, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.0, one_way: 0.3,
        largest: 65536, deviation: 0.185,
    },
    Fitted {
        form: Form { protocol: "ot-phasing", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [7.431e-4, 0.0, 5.585e-7, 1.778e-7, 0.0, 0.0, 1.666e-9],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.0, one_way: 0.05,
        largest: 65536, deviation: 0.013,
    },
    Fitted {
        form: Form { protocol: "ot-psi", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [1.446e-3, 0.0, 2.374e-6, 0.0, 0.0, 0.0, 2.819e-9],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.6, one_way: 1.0,
        largest: 65536, deviation: 0.017,
    },
    Fitted {
        form: Form { protocol: "gbf-random", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [2.321e-3, 0.0, 0.0, 0.0, 0.0, 0.0, 4.946e-9],
        parallel: 0.0, flights: [2.0, 2.0], overlap: 0.35, one_way: 0.0,
        largest: 4096, deviation: 0.01,
    },
    Fitted {
        form: Form { protocol: "gbf", security: SemiHonest, profile: Conservative, variant: "", sigma: None, level: 128, paper: false, kept_base_ots: true },
        compute: [3.371e-3, 1.053e-5, 0.0, 0.0, 0.0, 0.0, 0.0],
        parallel: 0.0, flights: [2.0, 1.5], overlap: 0.35, one_way: 1.0,
        largest: 4096, deviation: 0.001,
    },
];
