//! Records the product's panics, even caught ones; intended panics are ignored.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static HEARD: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Collects panics of this thread instead of printing them.
pub(crate) fn listen() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let heard = HEARD.with(|heard| match heard.borrow_mut().as_mut() {
                Some(list) => {
                    let payload = info.payload();
                    let whole = info.payload().downcast_ref::<String>();
                    let text = payload.downcast_ref::<&str>().copied().or(whole.map(String::as_str)).unwrap_or("?");
                    list.push(format!("{text} at {}", info.location().map(ToString::to_string).unwrap_or_default()));
                    true
                }
                None => false,
            });
            if !heard {
                before(info);
            }
        }));
    });
    HEARD.with(|heard| *heard.borrow_mut() = Some(vec![]));
}

/// Returns unintended panics since the last call.
pub(crate) fn unmeant() -> Vec<String> {
    let all = HEARD.with(|heard| heard.borrow_mut().as_mut().map(std::mem::take).unwrap_or_default());
    all.into_iter().filter(|text| !text.starts_with("meant to panic")).collect()
}

/// Prints panics again; returns the ones not taken yet.
pub(crate) fn deaf() -> Vec<String> {
    let left = unmeant();
    HEARD.with(|heard| *heard.borrow_mut() = None);
    left
}
