//! A run's configuration as people write it: JSON, TOML or YAML.
//!
//! It only reads the form; [`crate::request::run_config`] checks the content. Invariant: the three forms of one configuration are one value.

use serde_json::Value;

/// A form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigForm {
    Json,
    Toml,
    Yaml,
}

impl ConfigForm {
    /// The form that the end of a file's name says; `None` if it says none.
    pub fn of_name(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

/// The value that `text` stands for. Without a form, JSON, YAML and TOML are tried, in this order; what isn't an object in YAML may be TOML.
///
/// # Errors
/// What is wrong with it, with the place.
pub fn parse(text: &str, form: Option<ConfigForm>) -> Result<Value, String> {
    match form {
        Some(ConfigForm::Json) => serde_json::from_str(text).map_err(|error| error.to_string()),
        Some(ConfigForm::Toml) => toml::from_str(text).map_err(|error| error.to_string()),
        Some(ConfigForm::Yaml) => {
            serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true })
                .map_err(|error| error.to_string())
        }
        None => serde_json::from_str(text).or_else(|_| {
            let yaml = parse(text, Some(ConfigForm::Yaml));
            let toml = || parse(text, Some(ConfigForm::Toml)).ok();
            match yaml {
                Ok(value) if value.is_object() => Ok(value),
                yaml => toml().map_or(yaml, Ok),
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_example_of_the_documentation_is_a_valid_configuration() {
        let page = include_str!("../../../docs/use/write-a-run-config.md");
        let mut checked = 0;
        for (name, form) in [("yaml", ConfigForm::Yaml), ("toml", ConfigForm::Toml), ("json", ConfigForm::Json)] {
            for example in page.split(&format!("```{name}\n")).skip(1) {
                let text = example.split("\n```").next().unwrap();
                let value = parse(text, Some(form)).unwrap_or_else(|error| panic!("{error}: {text}"));
                let config = crate::request::run_config::RunConfig::parse(&value);
                assert!(config.is_ok(), "{:?}: {text}", config.err());
                checked += 1;
            }
        }
        assert_eq!(checked, 4);
    }

    #[test]
    fn one_configuration_in_three_forms_is_one_value() {
        let expected = json!({"product_slug": "a", "locales": ["en", "no"], "budgets": {"max_files_changed": 5}});
        let json = expected.to_string();
        let toml = "product_slug = \"a\"\nlocales = [\"en\", \"no\"]\n[budgets]\nmax_files_changed = 5\n";
        let yaml = "product_slug: a\nlocales: [en, no]\nbudgets:\n  max_files_changed: 5\n";
        for (text, name) in [(json.as_str(), "a.json"), (toml, "a.TOML"), (yaml, "a.yml")] {
            assert_eq!(parse(text, ConfigForm::of_name(name)), Ok(expected.clone()), "{name}");
        }
        for text in [json.as_str(), toml, yaml] {
            assert_eq!(parse(text, None), Ok(expected.clone()), "{text}");
        }
        assert!(parse("a: [", None).is_err() && parse("a = ", None).is_ok_and(|value| !value.is_object()));
        assert_eq!(parse(&json, None), Ok(expected));
        assert_eq!(ConfigForm::of_name("config"), None);
        assert!(parse("a: [", Some(ConfigForm::Yaml)).is_err() && parse("a = ", Some(ConfigForm::Toml)).is_err());
    }
}
