//! What the features of a candidate say about the words of a query: which of them it has, where, and how its name matches. Pure
//! arithmetic in a fixed order.

use super::feature_kinds::FeatureKind;
use super::schema::RankingInfo;

/// How much a word of a field counts.
pub(super) struct FieldWeight {
    pub(super) boost: f64,
    /// How much the field's length reduces the boost.
    slope: f64,
    /// The field's usual length.
    usual: f64,
}

pub(super) const NAME: FieldWeight = FieldWeight { boost: 3.0, slope: 0.6, usual: 3.0 };
pub(super) const START: FieldWeight = FieldWeight { boost: 1.8, slope: 0.6, usual: 3.0 };
pub(super) const SCOPE: FieldWeight = FieldWeight { boost: 0.8, slope: 0.0, usual: 1.0 };
pub(super) const SIGNATURE: FieldWeight = FieldWeight { boost: 0.6, slope: 0.3, usual: 6.0 };
pub(super) const DOC: FieldWeight = FieldWeight { boost: 1.6, slope: 0.5, usual: 12.0 };
pub(super) const PAIR: FieldWeight = FieldWeight { boost: 1.4, slope: 0.3, usual: 12.0 };
pub(super) const NEAR: FieldWeight = FieldWeight { boost: 2.0, slope: 0.6, usual: 3.0 };
pub(super) const SYNONYM: FieldWeight = FieldWeight { boost: 1.4, slope: 0.6, usual: 3.0 };
pub(super) const DOC_SYNONYM: FieldWeight = FieldWeight { boost: 0.6, slope: 0.5, usual: 12.0 };
/// `exact_match_boost` of a name that differs in case and separators only.
pub(super) const NORMALIZED_NAME: f64 = 0.85;
/// `exact_match_boost` of a name with one different letter, and what each further one takes away.
const NEAR_NAME: f64 = 0.75;
const NEAR_NAME_STEP: f64 = 0.1;
/// What a near name gains if its case and separators are those of the query.
const NEAR_SPELLING: f64 = 0.04;
/// The saturation parameter of BM25. Each word counts once here, so it only scales the effect of the length.
const K1: f64 = 1.2;

/// The words of the query that a candidate has, as sets of bits, and how its name matches.
#[derive(Default)]
pub(super) struct MatchedWords {
    /// In the name.
    pub(super) named: u64,
    /// At the beginning of a word of the name.
    pub(super) prefixed: u64,
    /// In the names of enclosing symbols.
    pub(super) scoped: u64,
    /// In the signature or the comment.
    pub(super) in_other_fields: u64,
    /// In the name, nearly.
    pub(super) near: u64,
    /// As a word of the same meaning: in the name or the comment, and in the name.
    pub(super) similar: u64,
    pub(super) similar_in_name: u64,
    /// Pairs of words in the comment.
    pub(super) pairs: usize,
    /// `exact_match_boost` of the exact name, of the name without case, of its beginning, of a near or mentioned name.
    pub(super) names: [f64; 4],
    pub(super) is_whole: bool,
    pub(super) qualifiers: u32,
    pub(super) bm25: f64,
}

impl MatchedWords {
    /// What a set of features says about the words of the query.
    pub(super) fn new(parts: &[(FeatureKind, f64)], features: u64, info: RankingInfo, mentioned: f64) -> Self {
        let mut of = Self::default();
        let mut left = features;
        let mut spelling = 0.0;
        while left != 0 {
            let (kind, part) = parts[left.trailing_zeros() as usize];
            left &= left - 1;
            match kind {
                FeatureKind::Name => of.names[0] = 1.0,
                FeatureKind::QualifiedName => {
                    of.names[0] = 1.0;
                    of.is_whole = true;
                }
                FeatureKind::NormalizedName => of.names[1] = NORMALIZED_NAME,
                FeatureKind::NamePrefix => of.names[2] = 0.5,
                FeatureKind::Qualifier(at) => of.qualifiers |= 1 << at,
                FeatureKind::Word(at) => {
                    of.named |= 1 << at;
                    of.bm25 += part * shortness(NAME, info.name_words);
                }
                FeatureKind::WordPrefix(at) if of.named >> at & 1 == 0 => {
                    of.prefixed |= 1 << at;
                    of.bm25 += part * shortness(START, info.name_words);
                }
                FeatureKind::WordPrefix(_) => {}
                FeatureKind::Scope(at) => {
                    of.scoped |= 1 << at;
                    of.bm25 += part;
                }
                FeatureKind::Signature(at) => {
                    of.in_other_fields |= 1 << at;
                    of.bm25 += part * shortness(SIGNATURE, info.signature_words);
                }
                FeatureKind::Doc(at) => {
                    of.in_other_fields |= 1 << at;
                    of.bm25 += part * shortness(DOC, info.doc_words);
                }
                FeatureKind::DocPair(_) => {
                    of.pairs += 1;
                    of.bm25 += part * shortness(PAIR, info.doc_words);
                }
                FeatureKind::MentionedName => of.names[3] = of.names[3].max(mentioned),
                FeatureKind::NearName(distance) => {
                    of.names[3] = of.names[3].max(NEAR_NAME - NEAR_NAME_STEP * f64::from(distance.saturating_sub(1)));
                }
                FeatureKind::NearSpelling => spelling = NEAR_SPELLING,
                FeatureKind::NearWord(at) => {
                    of.near |= 1 << at;
                    of.bm25 += part * shortness(NEAR, info.name_words);
                }
                FeatureKind::Synonym(at) => {
                    of.similar |= 1 << at;
                    of.similar_in_name |= 1 << at;
                    of.bm25 += part * shortness(SYNONYM, info.name_words);
                }
                FeatureKind::DocSynonym(at) => {
                    of.similar |= 1 << at;
                    of.bm25 += part * shortness(DOC_SYNONYM, info.doc_words);
                }
            }
        }
        if of.names[3] > 0.0 {
            of.names[3] += spelling;
        }
        of
    }
}

fn shortness(FieldWeight { slope, usual, .. }: FieldWeight, length: usize) -> f64 {
    (K1 + 1.0) / (1.0 + K1 * (1.0 - slope + slope * length as f64 / usual))
}
