//! The language of a C or C++ file, by its extension.

use crate::tree::file_name;

/// What a compiler takes a file for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SourceLanguage {
    C,
    Cpp,
    ObjectiveC,
    ObjectiveCpp,
    Cuda,
}

/// The part of a file in a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileRole {
    Source(SourceLanguage),
    /// It is included. `None`: the extension fits C and C++.
    Header(Option<SourceLanguage>),
}

impl SourceLanguage {
    /// Whether flags of C++ apply.
    pub(super) fn is_cpp(self) -> bool {
        matches!(self, Self::Cpp | Self::ObjectiveCpp | Self::Cuda)
    }

    /// The value of `-x` for a header of this language.
    pub(super) fn header_option(self) -> &'static str {
        match self {
            Self::C => "c-header",
            Self::Cpp => "c++-header",
            Self::ObjectiveC => "objective-c-header",
            Self::ObjectiveCpp => "objective-c++-header",
            Self::Cuda => "cuda",
        }
    }
}

/// The role of a file by its name; `None` for other files.
pub(super) fn role(path: &str) -> Option<FileRole> {
    use FileRole::{Header, Source};
    use SourceLanguage::{C, Cpp, Cuda, ObjectiveC, ObjectiveCpp};
    let extension = file_name(path).rsplit_once('.').map(|(_, extension)| extension)?;
    // `.C` and `.H` are C++ by convention; other extensions are compared in lower case.
    Some(match extension {
        "C" => Source(Cpp),
        "H" => Header(Some(Cpp)),
        other => match other.to_ascii_lowercase().as_str() {
            "c" => Source(C),
            "cpp" | "cc" | "cxx" | "c++" => Source(Cpp),
            "cu" => Source(Cuda),
            "m" => Source(ObjectiveC),
            "mm" => Source(ObjectiveCpp),
            "h" => Header(None),
            "hpp" | "hh" | "hxx" | "h++" | "ipp" | "tpp" | "inl" | "tcc" | "txx" => Header(Some(Cpp)),
            "cuh" => Header(Some(Cuda)),
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides() {
        assert_eq!(role("a/b.c"), Some(FileRole::Source(SourceLanguage::C)));
        assert_eq!(role("a/b.C"), Some(FileRole::Source(SourceLanguage::Cpp)));
        assert_eq!(role("a.h/b.CPP"), Some(FileRole::Source(SourceLanguage::Cpp)));
        assert_eq!(role("b.h"), Some(FileRole::Header(None)));
        assert_eq!(role("b.hxx"), Some(FileRole::Header(Some(SourceLanguage::Cpp))));
        assert_eq!((role("a.h/b"), role("b.py"), role("c")), (None, None, None));
    }
}
