//! Grammars whose tables are packed in the program, and unpacked at first use.

use tree_sitter_language::LanguageFn;

/// For each grammar: its name in `build.rs`, its crate, which brings the scanner, and its features.
macro_rules! packed {
    ($($name:ident of $crate_name:ident if $($feature:literal)|+;)+) => {$(
        #[cfg(any($(feature = $feature),+))]
        pub(crate) fn $name() -> tree_sitter::Language {
            use $crate_name as _;
            static UNPACKED: std::sync::Once = std::sync::Once::new();
            // SAFETY: `build.rs` compiles these from the grammar's own source: a parser, and two tables of the sizes that stand before the
            // packed bytes. Nothing else refers to the tables, and the parser reads them only after they were written.
            unsafe extern "C" {
                #[link_name = concat!("codeyard_", stringify!($name))]
                fn parser() -> *const ();
                #[link_name = concat!("codeyard_", stringify!($name), "_large")]
                static mut LARGE: u8;
                #[link_name = concat!("codeyard_", stringify!($name), "_small")]
                static mut SMALL: u8;
            }
            UNPACKED.call_once(|| {
                for (packed, table) in [
                    (&include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".large"))[..], &raw mut LARGE),
                    (&include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".small"))[..], &raw mut SMALL),
                ] {
                    let (length, packed) = lz4_flex::block::uncompressed_size(packed).expect("`build.rs` packed it");
                    let table = unsafe { std::slice::from_raw_parts_mut(table, length) };
                    lz4_flex::block::decompress_into(packed, table).expect("`build.rs` packed it");
                }
            });
            unsafe { LanguageFn::from_raw(parser) }.into()
        }
    )+};
}

packed! {
    c_sharp of tree_sitter_c_sharp if "csharp";
    cpp of tree_sitter_cpp if "cpp";
    dart of tree_sitter_dart if "dart";
    haskell of tree_sitter_haskell if "haskell";
    kotlin of tree_sitter_kotlin_ng if "kotlin";
    ruby of tree_sitter_ruby if "ruby";
    scala of tree_sitter_scala if "scala";
    swift of tree_sitter_swift if "swift";
    tsx of tree_sitter_typescript if "tsx";
    typescript of tree_sitter_typescript if "svelte" | "typescript" | "vue";
}

#[cfg(test)]
mod tests {
    use tree_sitter::Language;
    use tree_sitter_language::LanguageFn;

    /// The samples are text of any kind; what counts is that both parsers see the same.
    #[test]
    fn packed_grammars_are_those_of_their_crates() {
        let samples = [
            include_str!("lib.rs"),
            include_str!("packed.rs"),
            include_str!("../../config/queries/cpp.scm"),
            "class A<T> : B where T : C { int f(int x) => x + 1; string s = $\"{x}\"; }",
            "module M where\nf :: Int -> Int\nf x = case x of\n  0 -> 1\n  _ -> x * f (x - 1)\n",
            "def f(a: Int): String = a match { case 1 => s\"$a\"; case _ => \"\" }\nobject O extends T with U\n",
            "fun <T> f(x: T?): List<T> = listOf(x!!) .map { it }\nclass A(val b: Int = 1) : B(), C\n",
            "func f<T: P>(_ x: T) async throws -> [T] { guard let y = x else { return [] }; return [y] }\n",
            "class A < B\n  def f(x = 1, *y) = x.map { |z| z&.g }\n  X = <<~T\n    #{1}\n  T\nend\n",
            "const f = async <T,>(x: T): Promise<T> => { type A = keyof T; return <div a={x}>{x}</div>; };\n",
            "template <class T> auto f(T&& x) -> decltype(x) { if constexpr (true) return [&] { return x; }(); }\n",
            "class A extends B { final int? x; Future<void> f() async => await g(x!, y: 1); }\n",
        ];
        let originals: &[(&str, LanguageFn)] = &[
            #[cfg(feature = "cpp")]
            ("cpp", tree_sitter_cpp::LANGUAGE),
            #[cfg(feature = "csharp")]
            ("csharp", tree_sitter_c_sharp::LANGUAGE),
            #[cfg(feature = "dart")]
            ("dart", tree_sitter_dart::LANGUAGE),
            #[cfg(feature = "haskell")]
            ("haskell", tree_sitter_haskell::LANGUAGE),
            #[cfg(feature = "kotlin")]
            ("kotlin", tree_sitter_kotlin_ng::LANGUAGE),
            #[cfg(feature = "ruby")]
            ("ruby", tree_sitter_ruby::LANGUAGE),
            #[cfg(feature = "scala")]
            ("scala", tree_sitter_scala::LANGUAGE),
            #[cfg(feature = "swift")]
            ("swift", tree_sitter_swift::LANGUAGE),
            #[cfg(feature = "tsx")]
            ("tsx", tree_sitter_typescript::LANGUAGE_TSX),
            #[cfg(feature = "typescript")]
            ("typescript", tree_sitter_typescript::LANGUAGE_TYPESCRIPT),
        ];
        for (name, original) in originals {
            let packed = crate::grammar(name).unwrap().0;
            let original = Language::new(*original);
            assert_ne!(packed, original, "{name} is packed");
            let seen = |language: &Language| {
                let mut parser = tree_sitter::Parser::new();
                parser.set_language(language).unwrap();
                samples.map(|sample| parser.parse(sample, None).unwrap().root_node().to_sexp())
            };
            assert_eq!(seen(&packed), seen(&original), "{name}");
            // Which symbols may follow in each state is what the tables say.
            for state in 0..original.parse_state_count() as u16 {
                let next = |language: &Language| {
                    let symbols = language.lookahead_iterator(state);
                    symbols.map(|symbols| symbols.map(|symbol| (symbol, language.next_state(state, symbol))).collect())
                };
                let [packed, original]: [Option<Vec<(u16, u16)>>; 2] = [next(&packed), next(&original)];
                assert!(packed.is_some() && packed == original, "{name}: state {state}");
            }
        }
    }
}
