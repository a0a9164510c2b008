//! Enums whose values have words: in messages, logs, metrics and arguments.
//!
//! Invariant: each value has one word, written beside it.

/// Declares an enum, `ALL` with its values in their order, and the function that gives the word of a value; with `fn parse` also the one that
/// finds the value of a word.
///
/// ```ignore
/// words! {
///     /// A direction.
///     #[derive(Debug, Clone, Copy)]
///     pub enum Direction {
///         /// To the caller.
///         Up => "up",
///         /// To the callee.
///         Down => "down",
///     }
///     /// The word in arguments.
///     fn as_str;
///     /// The direction with this word.
///     fn parse;
/// }
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident $(= $number:literal)? => $text:literal),+ $(,)?
        }
        $(#[$word_doc:meta])*
        fn $word:ident;
        $($(#[$parse_doc:meta])* fn parse;)?
    ) => {
        $(#[$about])*
        $vis enum $name {
            $($(#[$doc])* $variant $(= $number)?),+
        }

        impl $name {
            /// All values, in their order.
            $vis const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            $(#[$word_doc])*
            $vis const fn $word(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            $(
                $(#[$parse_doc])*
                $vis fn parse(text: &str) -> Option<Self> {
                    Self::ALL.into_iter().find(|value| value.$word() == text)
                }
            )?
        }
    };
}
