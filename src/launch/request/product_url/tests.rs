//! URLs of all known products and platforms, those of the contract, and texts that only look like URLs.

use super::*;

/// What a URL gives, in short: `site section product platform locale`, or the code of its error.
fn short(url: &str) -> String {
    match parse(&Sites::builtin(), url) {
        Ok(found) => [found.section, found.product_slug, found.platform, found.locale].join(" "),
        Err(ProductUrlError::Invalid { .. }) => "INVALID_URL".into(),
        Err(ProductUrlError::Unsupported { .. }) => "UNSUPPORTED_SITE".into(),
    }
}

#[test]
fn every_product_and_platform_of_every_site_is_understood() {
    let sites = Sites::builtin();
    let mut cases = 0;
    for site in &sites.sites {
        for product in &sites.families {
            for (platform, words) in &sites.platforms {
                // What can stand in a path as it is.
                let usable = words.iter().filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric()));
                for word in usable.chain([platform]) {
                    for (locale, ending) in [("en", ""), ("de", "/"), ("zh-hant", "/")] {
                        let path = match site.section.as_str() {
                            "blog" => format!("{locale}/{product}/{word}"),
                            _ => format!("{product}/{locale}/{word}"),
                        };
                        let url = format!("https://{}/{path}{ending}", site.host);
                        assert_eq!(short(&url), format!("{} {product} {platform} {locale}", site.section), "{url}");
                        cases += 1;
                    }
                }
            }
        }
    }
    assert!(cases > 3_000, "{cases}");
}

#[test]
fn urls_of_the_contract() {
    let cases = [
        ("https://products.aspose.org/3d/en/python/", "products 3d python en"),
        ("https://PRODUCTS.Aspose.ORG/3d/en/python", "products 3d python en"),
        ("HTTPS://products.aspose.org/3d/en/python/", "products 3d python en"),
        ("https://docs.aspose.org/cells/fr/java/getting-started/", "docs cells java fr"),
        ("https://docs.aspose.org/cells/fr/java/", "docs cells java fr"),
        ("https://kb.aspose.org/pdf/en/net/merge-files", "kb pdf dotnet en"),
        ("https://blog.aspose.org/words/python/", "blog words python en"),
        ("https://blog.aspose.org/words/python/a-post/", "blog words python en"),
        ("https://blog.aspose.org/de/words/python/a-post/", "blog words python de"),
        ("https://reference.aspose.org/zip/ja/cpp/", "reference zip cpp ja"),
        // A locale counts only before a known product.
        ("https://blog.aspose.org/de/python/", "INVALID_URL"),
        ("https://blog.aspose.org/xx/words/python/", "INVALID_URL"),
        ("https://blog.aspose.org/en/unknown/python/", "INVALID_URL"),
        ("https://products.aspose.org/3d/en/python/more/", "INVALID_URL"),
        ("https://reference.aspose.org/3d/en/python/class/", "INVALID_URL"),
        ("https://docs.aspose.org/3d/en/python/a/b/", "INVALID_URL"),
        ("https://docs.aspose.org/3d/en/", "INVALID_URL"),
        ("https://docs.aspose.org/", "INVALID_URL"),
        ("https://docs.aspose.org", "INVALID_URL"),
        ("https://docs.aspose.org/3d/en/cobol/", "INVALID_URL"),
        ("https://docs.aspose.org/4d/en/python/", "INVALID_URL"),
        ("https://docs.aspose.org/3d/xx/python/", "INVALID_URL"),
        ("https://docs.aspose.org/en/3d/python/", "INVALID_URL"),
        ("https://docs.aspose.org/3D/en/python/", "INVALID_URL"),
        ("https://docs.aspose.org/3d/EN/python/", "INVALID_URL"),
        ("https://docs.aspose.org/3d/en/Python/", "INVALID_URL"),
        ("https://docs.aspose.com/3d/en/python/", "UNSUPPORTED_SITE"),
        ("https://aspose.org/3d/en/python/", "UNSUPPORTED_SITE"),
        ("https://forum.aspose.org/3d/en/python/", "UNSUPPORTED_SITE"),
        ("https://docs.aspose.org.evil.example/3d/en/python/", "UNSUPPORTED_SITE"),
        ("https://evildocs.aspose.org/3d/en/python/", "UNSUPPORTED_SITE"),
        ("https://docs.aspose.org./3d/en/python/", "UNSUPPORTED_SITE"),
        ("https://127.0.0.1/3d/en/python/", "UNSUPPORTED_SITE"),
        ("https://[::1]/3d/en/python/", "UNSUPPORTED_SITE"),
    ];
    for (url, expected) in cases {
        assert_eq!(short(url), expected, "{url}");
    }
}

#[test]
fn texts_that_only_look_like_urls_are_refused() {
    let good = "https://docs.aspose.org/3d/en/python/";
    assert_eq!(short(good), "docs 3d python en");
    for url in [
        "",
        " ",
        "3d",
        "docs.aspose.org/3d/en/python/",
        "//docs.aspose.org/3d/en/python/",
        "http://docs.aspose.org/3d/en/python/",
        "ftp://docs.aspose.org/3d/en/python/",
        "file:///3d/en/python/",
        "https:/docs.aspose.org/3d/en/python/",
        "https:docs.aspose.org/3d/en/python/",
        "https:///3d/en/python/",
        "https://user@docs.aspose.org/3d/en/python/",
        "https://user:word@docs.aspose.org/3d/en/python/",
        "https://docs.aspose.org:443/3d/en/python/",
        "https://docs.aspose.org:/3d/en/python/",
        "https://docs.aspose.org/3d/en/python/?",
        "https://docs.aspose.org/3d/en/python/?a=b",
        "https://docs.aspose.org/3d/en/python/#",
        "https://docs.aspose.org/3d/en/python/#top",
        "https://docs.aspose.org/3d/en/python//",
        "https://docs.aspose.org//3d/en/python/",
        "https://docs.aspose.org/3d//en/python/",
        "https://docs.aspose.org/./3d/en/python/",
        "https://docs.aspose.org/x/../3d/en/python/",
        "https://docs.aspose.org/3d/en/python/%2e%2e/",
        "https://docs.aspose.org/%33d/en/python/",
        "https://docs.aspose.org\\3d\\en\\python\\",
        "https://docs.aspose.org/3d/en/python/ ",
        " https://docs.aspose.org/3d/en/python/",
        "https://docs.aspose.org/3d/en/python/\n",
        "https://docs.aspose.org/3d/en/py thon/",
        "https://docs.aspose.org/3d/en/pythön/",
        "https://dócs.aspose.org/3d/en/python/",
        "https://docs.aspose.org/3d/en/python/<a>",
        "https://docs.aspose.org/3d/en/python/{page}",
        "javascript:alert(1)",
    ] {
        assert_eq!(short(url), "INVALID_URL", "{url:?}");
    }
}

#[test]
fn errors_show_the_form_and_the_known_hosts() {
    let error = |url: &str| parse(&Sites::builtin(), url).unwrap_err().to_string();
    assert_eq!(
        error("https://docs.aspose.org/4d/en/python/"),
        "\"4d\" is no known product; a URL looks like https://docs.aspose.org/{product}/{locale}/{platform}/"
    );
    assert_eq!(
        error("https://blog.aspose.org/4d/"),
        "\"4d\" is no known product; a URL looks like https://blog.aspose.org/{product}/{platform}/"
    );
    assert!(error("https://example.org/3d/").contains("known sites: products.aspose.org, docs.aspose.org"));
}
