//! Which test proves which clause of the gateway contract and of its readings. Only what is pure stands here yet; tests of
//! the gate, the engine and the transports add their rows. A row without its test fails.

/// Clause, what it asks, the file of the test, the test's name.
const CLAUSES: &[(&str, &str, &str, &str)] = &[
    ("2.1", "exactly the seven tools", "tests/contract/listing.rs", "exactly_the_seven_tools_in_order"),
    ("2.1", "the exact catalogs", "tests/contract/listing.rs", "lists_are_golden"),
    ("2.2", "metadata and hints", "tests/contract/listing.rs", "each_entry_has_its_metadata_and_says_read_only"),
    (
        "2.2",
        "schemas inlined, no references",
        "tests/contract/listing.rs",
        "every_object_in_a_schema_is_closed_and_nothing_is_referred_to",
    ),
    ("3.0", "envelope, empty content", "src/catalog/lsp_v1/tests.rs", "the_envelope_is_the_contracts"),
    ("3.0", "payloads byte for byte", "src/catalog/lsp_v1/tests.rs", "payloads_are_golden"),
    ("3.1", "summaries: counts", "src/catalog/lsp_v1/summary.rs", "counts_in_singular_and_plural"),
    ("3.1", "summaries: notes", "src/catalog/lsp_v1/summary.rs", "notes_follow_in_a_fixed_order"),
    ("3.2", "two spellings are one file", "src/canon/locations.rs", "two_spellings_of_one_file_are_one_location"),
    (
        "3.2",
        "outsiders left out and counted",
        "src/canon/locations.rs",
        "outside_counts_distinct_raw_entries_and_missing_counts_none",
    ),
    ("3.5", "no cursor on the last page", "src/paging/page.rs", "a_page_that_ends_the_list_has_no_cursor"),
    ("3.6", "cursor payload and text", "src/paging/cursor.rs", "minted_text_is_canonical_and_comes_back"),
    ("3.6", "rejections in order", "src/paging/cursor.rs", "each_check_has_its_reason_in_the_decided_order"),
    ("3.6", "no padding, no over-long text", "src/paging/cursor.rs", "over_long_and_padded_texts_are_undecodable"),
    ("3.6", "tampered cursors", "src/paging/cursor.rs", "every_flipped_or_dropped_byte_fails_or_is_another_offset"),
    ("3.6", "cursors of another tool", "src/paging/cursor.rs", "a_cursor_of_another_question_is_refused"),
    ("3.6", "stale and expired", "tests/contract/document.rs", "cursor_errors_and_reasons"),
    ("3.6", "o past the end", "src/paging/page.rs", "past_the_end_is_empty_without_a_cursor"),
    ("3.6", "retention failure", "src/paging/store.rs", "the_entry_cap_is_exact_and_binds_paged_results"),
    ("3.6.1", "snapshot key", "src/paging/cursor.rs", "snapshot_keys_are_the_contracts_text"),
    ("3.6.2", "epochs per tool, in order", "src/model/epoch.rs", "tuples_name_what_counts_in_order"),
    ("3.7", "ids of document symbols", "src/canon/document_symbols.rs", "the_identifier_is_over_the_contracts_text"),
    ("3.7", "ids of workspace symbols", "src/canon/workspace_symbols.rs", "the_identifier_is_over_the_contracts_text"),
    ("3.7", "ids of diagnostics", "src/canon/diagnostics.rs", "the_identifier_is_over_the_contracts_text"),
    ("4.1", "numbers and strings of inputs", "tests/contract/decoding.rs", "refusals_name_the_argument_and_the_reason"),
    ("4.1", "trimmed query", "tests/contract/decoding.rs", "well_formed_arguments_become_queries"),
    (
        "4.2",
        "order of locations",
        "src/canon/locations.rs",
        "sorted_by_uri_then_range_without_duplicates_and_outsiders",
    ),
    (
        "4.2",
        "order of workspace symbols",
        "src/canon/workspace_symbols.rs",
        "name_kind_container_break_ties_and_missing_comes_last",
    ),
    (
        "4.2",
        "order of document symbols",
        "src/canon/document_symbols.rs",
        "children_are_flattened_and_name_their_parent",
    ),
    ("4.2", "order of diagnostics", "src/canon/diagnostics.rs", "order_and_missing_last"),
    (
        "4.3",
        "locations: permuted, repeated, twice",
        "src/canon/locations.rs",
        "permutation_and_duplication_change_nothing",
    ),
    (
        "4.3",
        "workspace symbols likewise",
        "src/canon/workspace_symbols.rs",
        "permutation_and_duplication_change_nothing",
    ),
    ("4.3", "document symbols likewise", "src/canon/document_symbols.rs", "permutation_and_duplication_change_nothing"),
    ("4.3", "workspace diagnostics likewise", "src/canon/diagnostics.rs", "permutation_and_duplication_change_nothing"),
    ("4.3", "document diagnostics likewise", "src/canon/diagnostics.rs", "a_document_does_not_care_either"),
    ("4.4", "pages make the whole", "src/paging/page.rs", "any_sequence_of_page_sizes_gives_the_whole"),
    ("4.4", "least recently used goes first", "src/paging/store.rs", "the_least_recently_used_goes_first"),
    ("4.4", "ten minutes since last use", "src/paging/store.rs", "a_use_prolongs_and_the_end_is_exact"),
    ("5.1", "caps by name and value", "tests/contract/document.rs", "caps_by_name_and_value"),
    (
        "5.1",
        "larger settings are clamped",
        "src/base/limits/tests.rs",
        "larger_values_are_clamped_and_smaller_ones_stay",
    ),
    ("5.1", "total caps", "src/canon/locations.rs", "caps_count_what_is_distinct"),
    ("5.2", "page size clamped", "tests/contract/decoding.rs", "defaults_and_clamps"),
    (
        "5.2",
        "unpaged lists cut",
        "src/catalog/lsp_v1/tests.rs",
        "the_first_two_hundred_of_more_and_the_summary_says_so",
    ),
    ("5.3", "byte cap, exact", "src/catalog/lsp_v1/tests.rs", "the_byte_cap_is_exact_for_every_tool"),
    ("5.3", "page size that fits", "src/catalog/lsp_v1/tests.rs", "the_hinted_page_size_is_the_largest_that_fits"),
    ("6.2", "JSON-RPC numbers", "tests/contract/document.rs", "codes_and_numbers"),
    ("6.3", "data of errors", "src/catalog/dialect.rs", "members_come_in_order_and_details_sorted"),
    ("6.3", "every code, bounded", "src/catalog/lsp_v1/tests.rs", "errors_are_replies_too_and_bounded"),
    ("6.3", "no long echo", "tests/contract/decoding.rs", "a_refusal_echoes_no_long_text"),
    ("6.3", "unknown tools", "tests/contract/decoding.rs", "an_unknown_tool_is_invalid_params"),
    ("7", "nothing found is a success", "src/catalog/lsp_v1/tests.rs", "nothing_found_is_a_success_that_says_so"),
    ("7", "request keys", "src/model/query.rs", "request_keys_are_the_contracts_text"),
    ("7.3", "hover sorted", "src/canon/hover.rs", "sorted_deduplicated_without_blanks"),
    ("7.3", "eight fragments", "src/canon/hover.rs", "eight_fragments"),
    ("7.3", "code points", "src/canon/hover.rs", "code_points_are_counted_not_bytes"),
    ("7.3", "cut to the bytes", "src/catalog/lsp_v1/tests.rs", "a_hover_is_cut_at_a_code_point_to_fit"),
    (
        "7.4",
        "flattened, hostile nesting",
        "src/canon/document_symbols.rs",
        "hostile_nesting_neither_overflows_nor_hides",
    ),
    ("7.4", "cap on visited symbols", "src/canon/document_symbols.rs", "the_cap_counts_distinct_symbols"),
    ("7.7", "files merged", "src/canon/diagnostics.rs", "one_file_under_two_spellings_is_one_list"),
    ("7.7", "file cap and per-file cap", "src/canon/diagnostics.rs", "too_many_files_fail_and_too_long_files_are_cut"),
    ("8", "schemas as they lie", "tests/contract/listing.rs", "schemas_are_served_as_they_lie_in_both_catalogs"),
    ("8", "schema and decoder agree", "tests/contract/decoding.rs", "the_schema_and_the_decoder_take_the_same"),
    ("8", "payloads fit the output schemas", "src/catalog/lsp_v1/tests.rs", "payloads_fit_their_output_schemas"),
];

#[test]
fn every_clause_names_a_test_that_exists() {
    for (clause, what, file, test) in CLAUSES {
        let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("§{clause} {what}: {file}: {error}"));
        let at = text.find(&format!("fn {test}(")).unwrap_or_else(|| panic!("§{clause} {what}: no {test} in {file}"));
        let before = text[..at].trim_end();
        assert!(before.ends_with("#[test]"), "§{clause} {what}: {test} in {file} is no test");
    }
}
