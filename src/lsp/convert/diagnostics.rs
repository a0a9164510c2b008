//! DiagnosticList, pushed and pulled.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::ConvertError;
use super::fields::{ObjectOnly, OrderedRange, TextField, UriInterner};
use super::list;
use codeyard_model::diagnostic::{RawDiagnostic, RawFileDiagnostics};

/// The report of a pull on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileDiagnosticReport {
    Full {
        /// To be sent with the next pull.
        result_id: Option<String>,
        items: Vec<RawDiagnostic>,
    },
    /// The diagnostics of the previous result id are still current.
    Unchanged {
        /// To be sent with the next pull.
        result_id: String,
    },
}

/// The decoded answer to `textDocument/diagnostic`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentDiagnosticReport {
    Full {
        /// To be sent with the next pull.
        result_id: Option<String>,
        items: Vec<RawDiagnostic>,
        /// Reports on other files, ordered by URI.
        related: Vec<(Arc<str>, FileDiagnosticReport)>,
    },
    /// The diagnostics of the previous result id are still current.
    Unchanged {
        /// To be sent with the next pull.
        result_id: String,
        /// Reports on other files, ordered by URI.
        related: Vec<(Arc<str>, FileDiagnosticReport)>,
    },
}

/// One file of the answer to `workspace/diagnostic`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceDiagnosticReport {
    /// The URI of the file. Untrusted.
    pub uri: Arc<str>,
    /// The version of the open document that was checked; `None` for a file that isn't open.
    pub version: Option<i32>,
    pub report: FileDiagnosticReport,
}

/// Decodes a `textDocument/publishDiagnostics` notification: the file's diagnostics, and the document's version if
/// there is one.
pub fn publish_diagnostics(params: &RawValue) -> Result<(RawFileDiagnostics, Option<i32>), ConvertError> {
    let ObjectOnly(fields) = list::read_one::<ObjectOnly<PublishFields<'_>>>("published diagnostics", params)?;
    let file = RawFileDiagnostics { uri: (*fields.uri.0).into(), diagnostics: fields.diagnostics.0 };
    Ok((file, fields.version))
}

/// Decodes only what a `textDocument/publishDiagnostics` notification is about: the file's URI, and the document's
/// version if there is one.
pub fn publish_target(params: &RawValue) -> Result<(Arc<str>, Option<i32>), ConvertError> {
    let ObjectOnly(fields) = list::read_one::<ObjectOnly<TargetFields<'_>>>("published diagnostics", params)?;
    Ok(((*fields.uri.0).into(), fields.version))
}

/// Decodes the answer to `textDocument/diagnostic`.
pub fn document_diagnostic_report(raw: &RawValue) -> Result<DocumentDiagnosticReport, ConvertError> {
    list::read_one::<DecodedReport>("diagnostic report", raw).map(|read| read.0)
}

/// Decodes the answer to `workspace/diagnostic`, or one part of it.
pub fn workspace_diagnostic_report(raw: &RawValue) -> Result<Vec<WorkspaceDiagnosticReport>, ConvertError> {
    let mut uris = UriInterner::default();
    let ObjectOnly(fields) = list::read_one::<ObjectOnly<WorkspaceFields<'_>>>("workspace diagnostic report", raw)?;
    let reports = fields.items.into_iter().map(|item| WorkspaceDiagnosticReport {
        uri: uris.intern(&item.uri.0),
        version: item.version,
        report: item.report,
    });
    Ok(reports.collect())
}

#[derive(Debug, Deserialize)]
struct PublishFields<'a> {
    #[serde(borrow)]
    uri: TextField<'a>,
    version: Option<i32>,
    diagnostics: DiagnosticList,
}

#[derive(Debug, Deserialize)]
struct TargetFields<'a> {
    #[serde(borrow)]
    uri: TextField<'a>,
    version: Option<i32>,
}

#[derive(Debug, Deserialize)]
struct WorkspaceFields<'a> {
    #[serde(borrow)]
    items: Vec<WorkspaceItem<'a>>,
}

/// The report on a document, on a related document, or on a document of a workspace. Each uses other optional fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportFields<'a> {
    kind: ReportKind,
    #[serde(borrow)]
    result_id: Option<TextField<'a>>,
    items: Option<DiagnosticList>,
    #[serde(borrow)]
    uri: Option<TextField<'a>>,
    version: Option<i32>,
    related_documents: Option<RelatedReports>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReportKind {
    Full,
    Unchanged,
}

impl ReportFields<'_> {
    fn into_report(self) -> Result<FileDiagnosticReport, &'static str> {
        let result_id = self.result_id.map(|id| id.0.into_owned());
        match (self.kind, self.items, result_id) {
            (ReportKind::Full, Some(items), result_id) => Ok(FileDiagnosticReport::Full { result_id, items: items.0 }),
            (ReportKind::Unchanged, _, Some(result_id)) => Ok(FileDiagnosticReport::Unchanged { result_id }),
            (ReportKind::Full, None, _) => Err("a full report without items"),
            (ReportKind::Unchanged, _, None) => Err("an unchanged report without a result id"),
        }
    }
}

struct DecodedReport(DocumentDiagnosticReport);

impl<'de> Deserialize<'de> for DecodedReport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ObjectOnly(mut fields) = ObjectOnly::<ReportFields<'de>>::deserialize(deserializer)?;
        let related = fields.related_documents.take().map(|related| related.0).unwrap_or_default();
        Ok(Self(match fields.into_report().map_err(D::Error::custom)? {
            FileDiagnosticReport::Full { result_id, items } => {
                DocumentDiagnosticReport::Full { result_id, items, related }
            }
            FileDiagnosticReport::Unchanged { result_id } => DocumentDiagnosticReport::Unchanged { result_id, related },
        }))
    }
}

#[derive(Debug)]
struct WorkspaceItem<'a> {
    uri: TextField<'a>,
    version: Option<i32>,
    report: FileDiagnosticReport,
}

impl<'de: 'a, 'a> Deserialize<'de> for WorkspaceItem<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ObjectOnly(mut fields) = ObjectOnly::<ReportFields<'a>>::deserialize(deserializer)?;
        let uri = fields.uri.take().ok_or_else(|| D::Error::missing_field("uri"))?;
        let version = fields.version;
        Ok(Self { uri, version, report: fields.into_report().map_err(D::Error::custom)? })
    }
}

/// Reports keyed by URI, in the order of the URIs. A repeated URI is refused.
#[derive(Debug)]
struct RelatedReports(Vec<(Arc<str>, FileDiagnosticReport)>);

impl<'de> Deserialize<'de> for RelatedReports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RelatedVisitor)
    }
}

struct RelatedVisitor;

impl<'de> Visitor<'de> for RelatedVisitor {
    type Value = RelatedReports;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("reports by URI")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RelatedReports, A::Error> {
        let mut reports = BTreeMap::new();
        while let Some((uri, ObjectOnly(fields))) = map.next_entry::<TextField<'de>, ObjectOnly<ReportFields<'de>>>()? {
            let report = fields.into_report().map_err(A::Error::custom)?;
            if reports.insert(Arc::from(&*uri.0), report).is_some() {
                return Err(A::Error::custom("two reports on one document"));
            }
        }
        Ok(RelatedReports(reports.into_iter().collect()))
    }
}

#[derive(Debug)]
struct DiagnosticList(Vec<RawDiagnostic>);

impl<'de> Deserialize<'de> for DiagnosticList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<DecodedDiagnostic>::deserialize(deserializer)?;
        Ok(Self(list.into_iter().map(|read| read.0).collect()))
    }
}

struct DecodedDiagnostic(RawDiagnostic);

#[derive(Deserialize)]
struct DiagnosticFields<'a> {
    range: OrderedRange,
    severity: Option<SeverityField>,
    code: Option<CodeField>,
    #[serde(borrow)]
    source: Option<TextField<'a>>,
    message: MessageField,
}

impl<'de> Deserialize<'de> for DecodedDiagnostic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ObjectOnly(fields) = ObjectOnly::<DiagnosticFields<'de>>::deserialize(deserializer)?;
        Ok(Self(RawDiagnostic {
            range: fields.range.0,
            severity: fields.severity.and_then(|severity| severity.0),
            code: fields.code.and_then(|code| code.0),
            source: fields.source.and_then(TextField::into_non_empty),
            message: fields.message.0,
        }))
    }
}

/// A number; only 1 to 4 are valid.
struct SeverityField(Option<u32>);

impl<'de> Deserialize<'de> for SeverityField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Scalar::Number(text) = Scalar::deserialize(deserializer)? else {
            return Err(D::Error::custom("a severity must be a number"));
        };
        Ok(Self(text.parse().ok().filter(|severity| (1..=4).contains(severity))))
    }
}

/// A string, a number in decimal, or the value of `{value, target}`.
struct CodeField(Option<String>);

impl<'de> Deserialize<'de> for CodeField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) | Scalar::Number(text) => Some(text),
            Scalar::Fields(fields) => match fields.value.map(|inner| *inner) {
                Some(Scalar::Text(text) | Scalar::Number(text)) => Some(text),
                Some(Scalar::Fields(_)) => {
                    return Err(D::Error::custom("the value of a code must be a string or a number"));
                }
                None => None,
            },
        }))
    }
}

/// A string, or the value of marked-up text.
struct MessageField(String);

impl<'de> Deserialize<'de> for MessageField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) => Ok(Self(text)),
            Scalar::Fields(ValueFields { value: Some(value) }) => match *value {
                Scalar::Text(text) => Ok(Self(text)),
                _ => Err(D::Error::custom("a message must be text")),
            },
            _ => Err(D::Error::custom("a message must be text")),
        }
    }
}

/// The value of a code, a severity or a message.
enum Scalar {
    Text(String),
    /// In decimal, in the shortest form.
    Number(String),
    Fields(ValueFields),
}

#[derive(Deserialize)]
struct ValueFields {
    value: Option<Box<Scalar>>,
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or an object with a value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number.to_string()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number.to_string()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scalar, A::Error> {
        ValueFields::deserialize(MapAccessDeserializer::new(map)).map(Scalar::Fields)
    }
}
