//! Maps each section of `docs/internals/reference/contract-lsp-v1.md` to the tests that prove it.
//!
//! A row fails if its heading is missing, or its test is missing, ignored or without an assertion. A heading without a row fails too.

use std::collections::BTreeSet;

use codeyard_test_support::named_test::check_test;

/// Anchor of the heading, proven statement, file of the test, name of the test.
const CLAUSES: &[(&str, &str, &str, &str)] = &[
    ("tools", "exactly the seven tools", "tests/contract/listing.rs", "exactly_the_seven_tools_in_order"),
    ("tools", "the exact catalogs", "tests/contract/listing.rs", "listings_equal_the_golden_files"),
    ("tools", "metadata and hints", "tests/contract/listing.rs", "every_tool_has_metadata_and_is_marked_read_only"),
    (
        "tools",
        "schemas inlined, no references",
        "tests/contract/listing.rs",
        "schemas_close_every_object_and_use_no_references",
    ),
    ("payloads", "envelope, empty content", "src/catalog/lsp_v1/tests.rs", "the_envelope_follows_the_contract"),
    ("payloads", "payloads byte for byte", "src/catalog/lsp_v1/tests.rs", "payloads_are_golden"),
    ("summaries", "summaries: counts", "src/catalog/lsp_v1/summary.rs", "counts_in_singular_and_plural"),
    ("summaries", "summaries: notes", "src/catalog/lsp_v1/summary.rs", "notes_follow_in_a_fixed_order"),
    (
        "partial-views",
        "every empty list is marked",
        "src/catalog/partial_views.rs",
        "every_empty_list_of_a_partial_view_is_marked_in_its_summary",
    ),
    (
        "partial-views",
        "lists are marked unless they are about one document",
        "src/catalog/partial_views.rs",
        "lists_of_a_partial_view_are_marked_unless_they_are_about_one_known_document",
    ),
    ("partial-views", "no mark on complete views", "src/catalog/partial_views.rs", "complete_views_carry_no_mark"),
    ("partial-views", "an unknown number", "src/model/coverage.rs", "an_unknown_number_is_never_complete"),
    (
        "partial-views",
        "unresolved imports",
        "src/catalog/partial_views.rs",
        "unresolved_imports_are_named_when_nothing_was_found",
    ),
    ("partial-views", "pages", "src/catalog/partial_views.rs", "pages_of_a_marked_list_fit_and_each_has_the_mark"),
    ("partial-views", "at most four projects", "src/model/coverage.rs", "at_most_four_projects_are_named"),
    (
        "what-is-left-out",
        "two spellings are one file",
        "src/canon/locations.rs",
        "two_spellings_of_one_file_are_one_location",
    ),
    (
        "what-is-left-out",
        "outsiders left out and counted",
        "src/canon/locations.rs",
        "outside_counts_distinct_raw_entries_and_missing_counts_none",
    ),
    (
        "what-is-left-out",
        "outsiders of the workspace lists are not counted",
        "src/catalog/lsp_v1/tests.rs",
        "outsiders_of_the_workspace_lists_are_not_counted",
    ),
    ("paging", "no cursor on the last page", "src/paging/page.rs", "a_page_that_ends_the_list_has_no_cursor"),
    ("paging", "cursor payload and text", "src/paging/cursor.rs", "minted_text_is_canonical_and_comes_back"),
    ("paging", "rejections in order", "src/paging/cursor.rs", "each_check_has_its_reason_in_the_decided_order"),
    ("paging", "no padding, no over-long text", "src/paging/cursor.rs", "over_long_and_padded_texts_are_undecodable"),
    ("paging", "tampered cursors", "src/paging/cursor.rs", "every_flipped_or_dropped_byte_fails_or_is_another_offset"),
    ("paging", "cursors of another tool", "src/paging/cursor.rs", "a_cursor_of_another_question_is_refused"),
    ("paging", "stale and expired", "tests/contract/document.rs", "the_document_lists_cursor_errors_and_reasons"),
    ("paging", "o past the end", "src/paging/page.rs", "past_the_end_is_empty_without_a_cursor"),
    ("paging", "retention failure", "src/paging/store.rs", "the_entry_cap_is_exact_for_paged_results"),
    ("paging", "snapshot key", "src/paging/cursor.rs", "snapshot_keys_are_the_contracts_text"),
    ("paging", "epochs per tool, in order", "src/model/epoch.rs", "a_tuple_has_the_selected_epochs_in_order"),
    (
        "order-and-identity",
        "ids of document symbols",
        "src/canon/document_symbols.rs",
        "the_identifier_hashes_the_text_of_the_contract",
    ),
    (
        "order-and-identity",
        "ids of workspace symbols",
        "src/canon/workspace_symbols.rs",
        "the_identifier_hashes_the_text_of_the_contract",
    ),
    (
        "order-and-identity",
        "ids of diagnostics",
        "src/canon/diagnostics.rs",
        "the_identifier_hashes_the_text_of_the_contract",
    ),
    (
        "arguments",
        "numbers and strings of inputs",
        "tests/contract/decoding.rs",
        "errors_name_the_argument_and_the_reason",
    ),
    ("arguments", "trimmed query", "tests/contract/decoding.rs", "well_formed_arguments_become_queries"),
    (
        "order-and-identity",
        "order of locations",
        "src/canon/locations.rs",
        "locations_are_sorted_by_uri_then_range_without_duplicates",
    ),
    (
        "order-and-identity",
        "order of workspace symbols",
        "src/canon/workspace_symbols.rs",
        "name_kind_container_break_ties_and_missing_comes_last",
    ),
    (
        "order-and-identity",
        "order of document symbols",
        "src/canon/document_symbols.rs",
        "children_are_flattened_and_name_their_parent",
    ),
    (
        "order-and-identity",
        "order of diagnostics",
        "src/canon/diagnostics.rs",
        "diagnostics_are_ordered_with_missing_fields_last",
    ),
    (
        "order-and-identity",
        "locations: permuted, repeated, twice",
        "src/canon/locations.rs",
        "permutation_and_duplication_change_nothing",
    ),
    (
        "order-and-identity",
        "workspace symbols likewise",
        "src/canon/workspace_symbols.rs",
        "permutation_and_duplication_change_nothing",
    ),
    (
        "order-and-identity",
        "document symbols likewise",
        "src/canon/document_symbols.rs",
        "permutation_and_duplication_change_nothing",
    ),
    (
        "order-and-identity",
        "workspace diagnostics likewise",
        "src/canon/diagnostics.rs",
        "permutation_and_duplication_change_nothing",
    ),
    (
        "order-and-identity",
        "document diagnostics likewise",
        "src/canon/diagnostics.rs",
        "permutation_and_duplication_change_no_document",
    ),
    ("paging", "pages make the whole", "src/paging/page.rs", "any_sequence_of_page_sizes_gives_the_whole"),
    ("paging", "least recently used goes first", "src/paging/store.rs", "the_least_recently_used_is_dropped_first"),
    ("paging", "ten minutes since last use", "src/paging/store.rs", "a_use_extends_the_lifetime_and_expiry_is_exact"),
    ("caps", "caps by name and value", "tests/contract/document.rs", "the_document_lists_caps_with_their_values"),
    (
        "caps",
        "larger settings are clamped",
        "src/model/limits/tests.rs",
        "larger_values_are_clamped_and_smaller_ones_stay",
    ),
    ("caps", "total caps", "src/canon/locations.rs", "caps_count_distinct_entries"),
    ("caps", "page size clamped", "tests/contract/decoding.rs", "defaults_and_clamps"),
    ("caps", "unpaged lists cut", "src/catalog/lsp_v1/tests.rs", "a_long_list_is_truncated_and_its_summary_says_so"),
    ("caps", "byte cap, exact", "src/catalog/lsp_v1/tests.rs", "the_byte_cap_is_exact_for_every_tool"),
    ("caps", "page size that fits", "src/catalog/lsp_v1/tests.rs", "the_hinted_page_size_is_the_largest_that_fits"),
    ("errors", "JSON-RPC numbers", "tests/contract/document.rs", "the_document_lists_error_codes_and_numbers"),
    ("errors", "data of errors", "src/catalog/dialect.rs", "members_are_ordered_and_details_sorted"),
    ("errors", "every code, bounded", "src/catalog/lsp_v1/tests.rs", "errors_are_bounded_replies"),
    ("errors", "no long echo", "tests/contract/decoding.rs", "an_error_echoes_no_long_text"),
    ("errors", "unknown tools", "tests/contract/decoding.rs", "an_unknown_tool_is_invalid_params"),
    (
        "summaries",
        "nothing found is a success",
        "src/catalog/lsp_v1/tests.rs",
        "an_empty_answer_is_a_success_with_a_summary",
    ),
    ("paging", "request keys", "src/model/query.rs", "request_key_texts_are_those_of_the_contract"),
    ("payloads", "hover sorted", "src/canon/hover.rs", "fragments_are_sorted_deduplicated_and_not_blank"),
    ("payloads", "eight fragments", "src/canon/hover.rs", "at_most_eight_fragments_are_kept"),
    ("payloads", "code points", "src/canon/hover.rs", "code_points_are_counted_not_bytes"),
    ("payloads", "cut to the bytes", "src/catalog/lsp_v1/tests.rs", "a_hover_is_truncated_at_a_code_point_to_fit"),
    (
        "payloads",
        "flattened, hostile nesting",
        "src/canon/document_symbols.rs",
        "deep_nesting_neither_overflows_the_stack_nor_loses_symbols",
    ),
    ("payloads", "cap on visited symbols", "src/canon/document_symbols.rs", "the_cap_counts_distinct_symbols"),
    ("payloads", "files merged", "src/canon/diagnostics.rs", "two_spellings_of_a_file_are_one_list"),
    (
        "payloads",
        "file cap and per-file cap",
        "src/canon/diagnostics.rs",
        "too_many_files_fail_and_too_long_files_are_cut",
    ),
    ("tools", "schemas as they lie", "tests/contract/listing.rs", "both_catalogs_serve_the_committed_schemas"),
    (
        "tools",
        "schema and decoder agree",
        "tests/contract/decoding.rs",
        "the_schema_and_the_decoder_accept_the_same_arguments",
    ),
    ("tools", "payloads fit the output schemas", "src/catalog/lsp_v1/tests.rs", "payloads_fit_their_output_schemas"),
];

const PAGE: &str = include_str!("../../docs/internals/reference/contract-lsp-v1.md");

/// The anchors of the page's sections.
fn anchors() -> BTreeSet<String> {
    let headings = PAGE.lines().filter_map(|line| line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")));
    headings.map(|heading| heading.to_lowercase().replace(' ', "-")).collect()
}

#[test]
fn every_row_names_a_section_and_a_test_that_checks() {
    let anchors = anchors();
    for (anchor, what, file, test) in CLAUSES {
        assert!(anchors.contains(*anchor), "{anchor}: no such section ({what})");
        let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{anchor}, {what}: {file}: {error}"));
        if let Err(problem) = check_test(&text, test) {
            panic!("{anchor}, {what}: {test} in {file} {problem}");
        }
    }
}

#[test]
fn every_section_has_a_row() {
    let proven: BTreeSet<String> = CLAUSES.iter().map(|row| row.0.to_owned()).collect();
    let missing: Vec<String> = anchors().into_iter().filter(|anchor| !proven.contains(anchor)).collect();
    assert_eq!(missing, Vec::<String>::new());
}
