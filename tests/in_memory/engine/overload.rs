//! Admission limits for calls, per workspace and per process; calls above them are refused at once.

use codeyard_gateway::service::{ShedBy, ToolReply};
use serde_json::json;

use crate::engine::harness::*;
use crate::engine::lsp_tool::{lsp, place};
use crate::fake_server::*;

fn mute() -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "hoverProvider": true, "textDocumentSync": 1}))
        .never("textDocument/definition")
        .answer("textDocument/hover", json!(null))
}

#[test]
fn the_257th_call_to_a_workspace_is_refused_at_once() {
    paused(|| async {
        let yard = Plan::one(Site::usual(), mute().launcher()).workspace(Site::usual()).open().await;
        let calls: Vec<_> = (0..256).map(|_| yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0))).collect();
        settle().await;
        let refused = yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await;
        let details = refused.failed_as("CAP_EXCEEDED", "overloaded");
        assert!(details["retryAfterMs"].as_u64().unwrap() > 0);
        refused.took_about(0);
        let answer = place("hover", 0, 0);
        let answer = lsp(&yard, answer).await;
        assert!(
            matches!(answer.reply(), ToolReply::Refusal { shed: Some(ShedBy::Overload), retry_after_ms: Some(_), .. }),
            "{answer:?}"
        );
        yard.start("w1", HOVER, yard.sites[1].at("a.fake", 0, 0)).await.ok();
        for call in calls {
            call.await.unwrap().timed_out("answering");
        }
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
    });
}

#[test]
fn the_1025th_call_in_the_process_is_refused_at_once() {
    paused(|| async {
        let mut plan = Plan::one(Site::usual(), mute().launcher());
        for _ in 0..4 {
            plan = plan.workspace(Site::usual());
        }
        let yard = plan.open().await;
        let calls: Vec<_> = (0..1_024)
            .map(|n| {
                let workspace = n / 256;
                let arguments = yard.sites[workspace].at("a.fake", 0, 0);
                tokio::spawn(yard.start(&format!("w{workspace}"), DEFINITION, arguments))
            })
            .collect();
        settle().await;
        let fifth = || yard.start("w4", HOVER, yard.sites[4].at("a.fake", 0, 0));
        fifth().await.failed_as("CAP_EXCEEDED", "overloaded");
        calls[0].abort();
        settle().await;
        fifth().await.ok();
        for call in calls.into_iter().skip(1) {
            call.await.unwrap().timed_out("answering");
        }
    });
}
