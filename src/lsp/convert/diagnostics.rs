//! Diagnostics, pushed and pulled (contract §7.6, §7.7).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::ConvertError;
use super::list;
use super::object::{Object, Ordered, Text, Uris};
use codeyard_model::diagnostic::{RawDiagnostic, RawFileDiagnostics};

/// What a pull says of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileReport {
    /// All diagnostics of the file.
    Full {
        /// To be sent with the next pull.
        result_id: Option<String>,
        /// The diagnostics.
        items: Vec<RawDiagnostic>,
    },
    /// What was reported under the previous result id still holds.
    Unchanged {
        /// To be sent with the next pull.
        result_id: String,
    },
}

/// The answer to `textDocument/diagnostic`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// All diagnostics of the document.
    Full {
        /// To be sent with the next pull.
        result_id: Option<String>,
        /// The diagnostics.
        items: Vec<RawDiagnostic>,
        /// Other files the server looked at on the way, ordered by URI.
        related: Vec<(Arc<str>, FileReport)>,
    },
    /// What was reported under the previous result id still holds.
    Unchanged {
        /// To be sent with the next pull.
        result_id: String,
        /// Other files the server looked at on the way, ordered by URI.
        related: Vec<(Arc<str>, FileReport)>,
    },
}

/// One file of the answer to `workspace/diagnostic`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceReport {
    /// The file, untrusted text.
    pub uri: Arc<str>,
    /// The version of the open document it is about; `None` for a file that isn't open.
    pub version: Option<i32>,
    /// What is said of it.
    pub report: FileReport,
}

/// A `textDocument/publishDiagnostics` notification: the file's diagnostics and the document's version, if it says one.
pub fn publish_diagnostics(params: &RawValue) -> Result<(RawFileDiagnostics, Option<i32>), ConvertError> {
    let Object(fields) = list::read_one::<Object<PublishFields<'_>>>("published diagnostics", params)?;
    let file = RawFileDiagnostics { uri: (*fields.uri.0).into(), diagnostics: fields.diagnostics.0 };
    Ok((file, fields.version))
}

/// The answer to `textDocument/diagnostic`.
pub fn document_diagnostic_report(raw: &RawValue) -> Result<Report, ConvertError> {
    list::read_one::<ReadReport>("diagnostic report", raw).map(|read| read.0)
}

/// The answer to `workspace/diagnostic`, or one part of it.
pub fn workspace_diagnostic_report(raw: &RawValue) -> Result<Vec<WorkspaceReport>, ConvertError> {
    let mut uris = Uris::default();
    let Object(fields) = list::read_one::<Object<WorkspaceFields<'_>>>("workspace diagnostic report", raw)?;
    let reports = fields.items.into_iter().map(|item| WorkspaceReport {
        uri: uris.share(&item.uri.0),
        version: item.version,
        report: item.report,
    });
    Ok(reports.collect())
}

#[derive(Debug, Deserialize)]
struct PublishFields<'a> {
    #[serde(borrow)]
    uri: Text<'a>,
    version: Option<i32>,
    diagnostics: Diagnostics,
}

#[derive(Debug, Deserialize)]
struct WorkspaceFields<'a> {
    #[serde(borrow)]
    items: Vec<WorkspaceItem<'a>>,
}

/// A report of a document, of a related one, or of one in a workspace: they differ in the fields beside these.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportFields<'a> {
    kind: Kind,
    #[serde(borrow)]
    result_id: Option<Text<'a>>,
    items: Option<Diagnostics>,
    #[serde(borrow)]
    uri: Option<Text<'a>>,
    version: Option<i32>,
    related_documents: Option<Related>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Full,
    Unchanged,
}

impl ReportFields<'_> {
    fn into_report(self) -> Result<FileReport, &'static str> {
        let result_id = self.result_id.map(|id| id.0.into_owned());
        match (self.kind, self.items, result_id) {
            (Kind::Full, Some(items), result_id) => Ok(FileReport::Full { result_id, items: items.0 }),
            (Kind::Unchanged, _, Some(result_id)) => Ok(FileReport::Unchanged { result_id }),
            (Kind::Full, None, _) => Err("a full report without items"),
            (Kind::Unchanged, _, None) => Err("an unchanged report without a result id"),
        }
    }
}

struct ReadReport(Report);

impl<'de> Deserialize<'de> for ReadReport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(mut fields) = Object::<ReportFields<'de>>::deserialize(deserializer)?;
        let related = fields.related_documents.take().map(|related| related.0).unwrap_or_default();
        Ok(Self(match fields.into_report().map_err(D::Error::custom)? {
            FileReport::Full { result_id, items } => Report::Full { result_id, items, related },
            FileReport::Unchanged { result_id } => Report::Unchanged { result_id, related },
        }))
    }
}

#[derive(Debug)]
struct WorkspaceItem<'a> {
    uri: Text<'a>,
    version: Option<i32>,
    report: FileReport,
}

impl<'de: 'a, 'a> Deserialize<'de> for WorkspaceItem<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(mut fields) = Object::<ReportFields<'a>>::deserialize(deserializer)?;
        let uri = fields.uri.take().ok_or_else(|| D::Error::missing_field("uri"))?;
        let version = fields.version;
        Ok(Self { uri, version, report: fields.into_report().map_err(D::Error::custom)? })
    }
}

/// Reports by URI, in the order of the URIs; a URI named twice is refused.
#[derive(Debug)]
struct Related(Vec<(Arc<str>, FileReport)>);

impl<'de> Deserialize<'de> for Related {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RelatedVisitor)
    }
}

struct RelatedVisitor;

impl<'de> Visitor<'de> for RelatedVisitor {
    type Value = Related;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("reports by URI")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Related, A::Error> {
        let mut reports = BTreeMap::new();
        while let Some((uri, Object(fields))) = map.next_entry::<Text<'de>, Object<ReportFields<'de>>>()? {
            let report = fields.into_report().map_err(A::Error::custom)?;
            if reports.insert(Arc::from(&*uri.0), report).is_some() {
                return Err(A::Error::custom("a document reported twice"));
            }
        }
        Ok(Related(reports.into_iter().collect()))
    }
}

/// An array of diagnostics.
#[derive(Debug)]
struct Diagnostics(Vec<RawDiagnostic>);

impl<'de> Deserialize<'de> for Diagnostics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<ReadDiagnostic>::deserialize(deserializer)?;
        Ok(Self(list.into_iter().map(|read| read.0).collect()))
    }
}

struct ReadDiagnostic(RawDiagnostic);

#[derive(Deserialize)]
struct DiagnosticFields<'a> {
    range: Ordered,
    severity: Option<Severity>,
    code: Option<Code>,
    #[serde(borrow)]
    source: Option<Text<'a>>,
    message: Message,
}

impl<'de> Deserialize<'de> for ReadDiagnostic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(fields) = Object::<DiagnosticFields<'de>>::deserialize(deserializer)?;
        Ok(Self(RawDiagnostic {
            range: fields.range.0,
            severity: fields.severity.and_then(|severity| severity.0),
            code: fields.code.and_then(|code| code.0),
            source: fields.source.and_then(Text::into_non_empty),
            message: fields.message.0,
        }))
    }
}

/// A number; only 1 to 4 mean something.
struct Severity(Option<u32>);

impl<'de> Deserialize<'de> for Severity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Scalar::Number(text) = Scalar::deserialize(deserializer)? else {
            return Err(D::Error::custom("a severity is a number"));
        };
        Ok(Self(text.parse().ok().filter(|severity| (1..=4).contains(severity))))
    }
}

/// A string, a number in decimal, or the value of `{value, target}`.
struct Code(Option<String>);

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) | Scalar::Number(text) => Some(text),
            Scalar::Fields(fields) => match fields.value.map(|inner| *inner) {
                Some(Scalar::Text(text) | Scalar::Number(text)) => Some(text),
                Some(Scalar::Fields(_)) => return Err(D::Error::custom("a code inside a code")),
                None => None,
            },
        }))
    }
}

/// A string, or marked-up text whose value is taken.
struct Message(String);

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) => Ok(Self(text)),
            Scalar::Fields(ValueFields { value: Some(value) }) => match *value {
                Scalar::Text(text) => Ok(Self(text)),
                _ => Err(D::Error::custom("a message is text")),
            },
            _ => Err(D::Error::custom("a message is text")),
        }
    }
}

/// What codes, severities and messages are made of.
enum Scalar {
    Text(String),
    /// In decimal, as short as it goes.
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
