//! The identifier of a run, which is also the name of its folder.
//!
//! Invariant: a [`RunId`] has exactly the form `r_YYYY-MM-DDTHH-MM-SSZ_<8 hexadecimal digits>`, so it can't leave the folder of runs.

use std::fmt;

use codeyard_base::clock;

/// `r_2026-01-21T10-00-00Z_3f9a01bc` (`docs/internals/reference/contract-launch.md#where-a-run-lives`). Later runs sort after earlier ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct RunId(String);

/// The form: a digit stands for any digit, `x` for a lower-case hexadecimal digit, everything else for itself.
const FORM: &[u8] = b"r_0000-00-00T00-00-00Z_xxxxxxxx";

impl RunId {
    /// The identifier of a run that begins `seconds` after 1970. `random` tells runs of the same second apart.
    pub fn new(seconds: u64, random: u32) -> Self {
        Self(format!("r_{}_{random:08x}", clock::utc(seconds).replace(':', "-")))
    }

    /// The identifier that `text` is, or `None` if it has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = |(byte, form): (u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            b'x' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            other => byte == *other,
        };
        (text.len() == FORM.len() && text.bytes().zip(FORM).all(fits)).then(|| Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// When the run began, in RFC 3339.
    pub fn started_at(&self) -> String {
        let date = &self.0[2..12];
        let time = &self.0[13..22];
        format!("{date}T{}", time.replace('-', ":"))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_one_form() {
        let id = RunId::new(1_768_989_600, 0x3f9a_01bc);
        assert_eq!(id.as_str(), "r_2026-01-21T10-00-00Z_3f9a01bc");
        assert_eq!(id.started_at(), "2026-01-21T10:00:00Z");
        assert_eq!(RunId::parse(id.as_str()), Some(id));
        assert_eq!(RunId::parse(RunId::new(u64::MAX, 0).as_str()), Some(RunId::new(u64::MAX, 0)));
    }

    #[test]
    fn everything_else_is_refused() {
        let good = "r_2026-01-21T10-00-00Z_3f9a01bc";
        for at in 0..good.len() {
            for wrong in ["/", ".", "\0", " ", "\u{e9}", "Z0", ""] {
                let text = format!("{}{wrong}{}", &good[..at], &good[at + 1..]);
                assert_eq!(RunId::parse(&text), None, "{text}");
            }
        }
        for text in ["", ".", "..", "../r_2026-01-21T10-00-00Z_3f9a01bc", "R_2026-01-21T10-00-00Z_3F9A01BC"] {
            assert_eq!(RunId::parse(text), None, "{text}");
        }
    }
}
