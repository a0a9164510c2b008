//! Limits are only tightened.

use super::*;

#[test]
fn larger_values_are_clamped_and_smaller_ones_stay() {
    let wide = Limits { max_page_size: 9_999, request_timeout_ms: 60_000, ..Limits::default() };
    assert_eq!(wide.clamped(), Limits::default());
    let tight = Limits { max_page_size: 7, request_timeout_ms: 100, ..Limits::default() };
    assert_eq!(tight.clone().clamped(), tight);
    assert_eq!(Limits { max_page_size: 0, ..Limits::default() }.clamped().max_page_size, 1);
}

#[test]
fn the_tightest_takes_the_smaller_of_each() {
    let one = Limits { max_page_size: 7, ..Limits::default() };
    let two = Limits { max_page_size: 9, request_timeout_ms: 100, ..Limits::default() };
    let both = Limits { max_page_size: 7, request_timeout_ms: 100, ..Limits::default() };
    assert_eq!(one.clone().tightest(&two), both);
    assert_eq!(two.tightest(&one), both);
}
