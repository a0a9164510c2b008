//! From the URL of a product page to what it says about a run: site, product, platform and language.
//!
//! It doesn't fetch the page. Invariants: the text is taken as it is, never normalised: what has a dot segment, an escape, a user name or a port isn't
//! the URL of a page. Source: `docs/internals/reference/contract-launch.md#product-urls`.

use serde::Serialize;

use crate::request::sites::{Segment, Site, Sites};

/// What a URL says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProductUrl {
    pub site: String,
    /// The section that its pages belong to.
    #[serde(skip)]
    pub section: String,
    pub product_slug: String,
    /// The platform, by its own name.
    pub platform: String,
    /// The language; `en` where the URL names none.
    pub locale: String,
}

/// Why a URL says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProductUrlError {
    /// It isn't the URL of a page of a known site.
    #[error("{reason}; a URL looks like {example}")]
    Invalid {
        reason: String,
        /// The form that would be right.
        example: String,
    },
    /// No known site has its host.
    #[error("the host {host:?} is none of the known sites: {known}")]
    Unsupported { host: String, known: String },
}

/// The language of URLs that name none.
const DEFAULT_LOCALE: &str = "en";

/// What `url` says.
///
/// # Errors
/// If it isn't the URL of a page of a known site.
pub fn parse(sites: &Sites, url: &str) -> Result<ProductUrl, ProductUrlError> {
    let example = || sites.sites.first().map_or_else(String::new, example_of);
    let invalid = |reason: &str| ProductUrlError::Invalid { reason: reason.to_owned(), example: example() };
    if url.contains(['?', '#']) {
        return Err(invalid("the URL has a query or a fragment"));
    }
    if url
        .chars()
        .any(|c| !c.is_ascii_graphic() || matches!(c, '\\' | '%' | '"' | '<' | '>' | '{' | '}' | '|' | '^' | '`'))
    {
        return Err(invalid("the URL has a character or an escape that no URL of a page has"));
    }
    let parsed: http::Uri = url.parse().map_err(|_| invalid("the text is no URL"))?;
    let (Some("https"), Some(authority)) = (parsed.scheme_str(), parsed.authority()) else {
        return Err(invalid("the URL doesn't begin with https://"));
    };
    if authority.as_str() != authority.host() || authority.host().is_empty() {
        return Err(invalid("the URL has a user name or a port"));
    }
    let Some(site) = sites.site(authority.host()) else {
        let known: Vec<&str> = sites.sites.iter().map(|site| site.host.as_str()).collect();
        return Err(ProductUrlError::Unsupported { host: authority.host().to_owned(), known: known.join(", ") });
    };
    let path = parsed.path();
    let inner = path.strip_prefix('/').unwrap_or(path);
    let segments: Vec<&str> = inner.strip_suffix('/').unwrap_or(inner).split('/').collect();
    of_path(sites, site, &segments).map_err(|reason| ProductUrlError::Invalid { reason, example: example_of(site) })
}

/// What the segments of a path say, or what is wrong with them.
fn of_path(sites: &Sites, site: &Site, path: &[&str]) -> Result<ProductUrl, String> {
    let mut found = ProductUrl {
        site: site.host.clone(),
        section: site.section.clone(),
        product_slug: String::new(),
        platform: String::new(),
        locale: DEFAULT_LOCALE.into(),
    };
    let mut left = path.iter().copied().peekable();
    for segment in site.segments().unwrap_or_default() {
        match segment {
            Segment::OptionalLocale => {
                let mut ahead = left.clone();
                let is_locale = ahead.next().is_some_and(|word| sites.locales.contains(word));
                if is_locale && ahead.next().is_some_and(|word| sites.families.contains(word)) {
                    found.locale = left.next().unwrap_or_default().to_owned();
                }
            }
            Segment::OptionalPage => {
                if left.next_if(|word| !word.is_empty()).is_none() && left.peek().is_some() {
                    return Err("the path has an empty segment".into());
                }
            }
            Segment::Product => {
                let word = left.next().unwrap_or_default();
                let known = sites.families.contains(word).then(|| word.to_owned());
                found.product_slug = known.ok_or_else(|| format!("{word:?} is no known product"))?;
            }
            Segment::Locale => {
                let word = left.next().unwrap_or_default();
                let known = sites.locales.contains(word).then(|| word.to_owned());
                found.locale = known.ok_or_else(|| format!("{word:?} is no known locale"))?;
            }
            Segment::Platform => {
                let word = left.next().unwrap_or_default();
                let is_lower = !word.chars().any(|c| c.is_ascii_uppercase());
                let known = sites.platform(word).filter(|_| is_lower).map(str::to_owned);
                found.platform = known.ok_or_else(|| format!("{word:?} is no known platform"))?;
            }
        }
    }
    match left.next() {
        None => Ok(found),
        Some(word) => Err(format!("the path goes on with {word:?}")),
    }
}

fn example_of(site: &Site) -> String {
    let path: Vec<&str> = site.path.split('/').filter(|segment| !segment.contains('?')).collect();
    format!("https://{}/{}/", site.host, path.join("/"))
}

#[cfg(test)]
mod tests;
