//! What a person is told once both sides have agreed: protocol, parts, base OTs, security.

use vesica_protocols::{DEFAULT_LEVEL, KeyAgreement};
use vesica_text::text;

use super::Reporter;
use crate::session::Agreed;
use crate::words::parts::Parts;

impl Reporter<'_> {
    /// Shows which protocol runs, and how secure it is.
    pub(super) fn announce(&self, agreed: &Agreed, security: &str, keeps_base_ots: bool) {
        let (entry, level) = (agreed.protocol, agreed.parameters.level);
        self.notice(format!("protocol {}: {}", entry.name, agreed.reason));
        if agreed.parts != Parts::ONE {
            let (parts, keys) = (agreed.parts.count(), agreed.played().of(agreed.role()));
            self.notice(format!("parts: {parts}, each padded to {keys} of our keys"));
        }
        if agreed.parameters.base_ots == KeyAgreement::MlKem {
            self.notice("base OTs: from ML-KEM-768");
        }
        self.notice(match (entry.needs_allow_insecure(), security) {
            (true, _) => {
                format!("WARNING: {} is {}. It reveals {}", entry.name, entry.status.name(), entry.leakage)
            }
            (false, "semi-honest") => {
                "security: holds against a curious partner that follows the protocol (semi-honest)".into()
            }
            (false, security) => format!("security: holds even if the partner cheats ({security})"),
        });
        if agreed.parts == Parts::ONE {
            self.questions(agreed, 0);
        }
        if entry.has_helper() {
            self.notice(
                "helper: it learns both sizes and how many keys match; if it works with the partner, the two of them can \
                 learn our keys",
            );
        }
        if level < DEFAULT_LEVEL {
            self.notice(text!(
                "WARNING: level {} is only for comparison with the papers: 2^{} steps are within reach; without `[level]` a \
                 run has level {}",
                level,
                level,
                DEFAULT_LEVEL
            ));
        }
        if keeps_base_ots {
            self.notice(text!("base OTs: {}", agreed.base_ots.text()));
        }
    }
}
