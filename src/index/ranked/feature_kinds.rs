//! The ways in which a symbol can match a query. Pure.

/// The kinds of features. The number is the index in [`ParsedQuery::words`] or [`ParsedQuery::qualifiers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeatureKind {
    /// The name, character by character.
    Name,
    /// The name is the whole query, including the qualifiers.
    QualifiedName,
    /// The name, ignoring case and separators.
    NormalizedName,
    /// The name begins with the query's name, ignoring case and separators.
    NamePrefix,
    /// The name contains the word.
    Word(usize),
    /// The name contains a word that begins with the word.
    WordPrefix(usize),
    /// The name of an enclosing symbol contains the word.
    Scope(usize),
    /// The signature contains the word.
    Signature(usize),
    /// The comment contains the word.
    Doc(usize),
    /// The comment contains this pair of consecutive words of the query.
    DocPair(usize),
    /// The name of an enclosing symbol is the qualifier.
    Qualifier(usize),
    /// The name is a name that the sentence mentions, ignoring case and separators.
    MentionedName,
    /// The name, ignoring case and separators, differs from the query's name by this many letters.
    NearName(u8),
    /// The name as it is spelt differs from the query's name by one letter, or by two.
    NearSpelling,
    /// The name contains a word that is nearly the word, which occurs nowhere.
    NearWord(usize),
    /// The name contains a word that means the same as the word.
    Synonym(usize),
    /// The comment contains a word that means the same as the word.
    DocSynonym(usize),
}

impl FeatureKind {
    /// The index of the word that the feature finds.
    pub(super) fn word(self) -> Option<usize> {
        match self {
            Self::Word(at)
            | Self::WordPrefix(at)
            | Self::Scope(at)
            | Self::Signature(at)
            | Self::Doc(at)
            | Self::NearWord(at)
            | Self::Synonym(at)
            | Self::DocSynonym(at) => Some(at),
            Self::Name
            | Self::QualifiedName
            | Self::NormalizedName
            | Self::NamePrefix
            | Self::DocPair(_)
            | Self::Qualifier(_)
            | Self::MentionedName
            | Self::NearName(_)
            | Self::NearSpelling => None,
        }
    }

    /// Whether the feature means that the name is the query's.
    pub(super) fn is_whole_name(self) -> bool {
        matches!(self, Self::Name | Self::QualifiedName | Self::NormalizedName)
    }
}

pub(super) struct MatchFeature {
    pub kind: FeatureKind,
    /// The number of documents that have it.
    pub frequency: u64,
}
