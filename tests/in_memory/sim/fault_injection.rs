//! How a fake server applies a random fault to a request.

use std::sync::Arc;

use codeyard_process::launch::ProcessExit;
use serde_json::{Value, json};

use crate::sim::faults::{self, Fault};
use crate::sim::server::Server;
use crate::sim::wire::framed;

impl Server {
    /// Receives a request and draws its fault.
    pub(crate) fn request(self: &Arc<Self>, id: u64, method: &str, params: Value) {
        let fault = {
            let mut stage = self.stage.lock();
            stage.lives[self.number].open.insert(id, method.to_owned());
            let key = format!("w{} {method} {}", self.workspace, stage.digest(&params));
            *stage.requests.entry(key).or_default() += 1;
            let percent = if stage.healthy { 0 } else { stage.profile.faults };
            let fault = faults::draw(&mut stage.dice, percent);
            stage.cover(format!("fault: {fault:?}"));
            fault
        };
        self.note(format!("{id} {fault:?}"));
        self.carry_out(fault, id, method.to_owned(), params);
    }

    fn carry_out(self: &Arc<Self>, fault: Fault, id: u64, method: String, params: Value) {
        let ms = self.stage.lock().dice.weighted(&[(60, 7), (25, 120), (10, 900), (5, 2_600)]);
        let wait = self.stage.lock().dice.range(1, ms);
        let compute = |server: &Self| server.compute(&method, &params);
        let refuse = |code: i64, text: &str| json!({"id": id, "error": {"code": code, "message": text}});
        match fault {
            Fault::Prompt => self.reply(id, compute(self)),
            Fault::Delay => {
                let server = self.clone();
                let result = compute(self);
                self.later(wait, async move { server.reply(id, result) });
            }
            Fault::Late => {
                let server = self.clone();
                self.later(wait, async move { server.reply(id, server.compute(&method, &params)) });
            }
            Fault::Reorder => {
                let held = json!({"id": id, "result": compute(self)});
                self.model.lock().held.push(held);
                let server = self.clone();
                self.later(wait, async move { server.release() });
            }
            Fault::Duplicate => {
                let result = compute(self);
                self.reply(id, result.clone());
                self.reply(id, result);
            }
            Fault::Contradict => {
                self.reply(id, compute(self));
                self.reply(id, json!([]));
            }
            Fault::Oversize => self.bytes(format!("Content-Length: {}\r\n\r\n[[[", 40 * 1024 * 1024).into_bytes()),
            Fault::CrashMidReply => {
                let whole = framed(&json!({"jsonrpc": "2.0", "id": id, "result": "x".repeat(2_000)}));
                self.bytes(whole[..whole.len() / 2].to_vec());
                self.end(ProcessExit::of_signal(11));
            }
            Fault::Crash => self.end(ProcessExit::of_code(3)),
            Fault::Never => {}
            Fault::AfterCancel => {
                let token = self.model.lock().cancels.entry(id).or_default().clone();
                let server = self.clone();
                tokio::spawn(async move {
                    tokio::select! {
                        biased;
                        () = server.stopped.cancelled() => {}
                        () = token.cancelled() => server.reply(id, server.compute(&method, &params)),
                    }
                });
            }
            Fault::Garbage => self.bytes(b"Segmentation fault (core dumped)\n".to_vec()),
            Fault::BadJson => {
                self.bytes(b"Content-Length: 7\r\n\r\n{\"id\":,".to_vec());
                self.reply(id, compute(self));
            }
            Fault::WrongShape => self.reply(id, json!({"range": 7, "kind": [], "items": "none"})),
            Fault::ContentModified => self.send_answer(id, &refuse(-32801, "content modified")),
            Fault::Refused => self.send_answer(id, &refuse(-32603, "internal error at /etc/passwd")),
            Fault::Unimplemented => {
                self.stage.lock().lives[self.number].unable.insert(method);
                self.send_answer(id, &refuse(-32601, "method not found"))
            }
            Fault::BackToIndexing => {
                self.index_again();
                self.reply(id, compute(self));
            }
            Fault::EditMeanwhile => {
                let result = compute(self);
                let mut stage = self.stage.lock();
                let mut dice = stage.dice.clone();
                let what = stage.site(self.workspace).change(&mut dice);
                stage.dice = dice;
                stage.note(format!("meanwhile {what}"));
                drop(stage);
                self.reply(id, result);
            }
            Fault::Silence => {
                self.stage.lock().lives[self.number].silent = true;
                self.silent.cancel();
            }
            Fault::Stray => {
                self.send(&json!({"id": id + 5_000, "result": []}));
                self.send(&json!({"id": null, "error": {"code": -32700, "message": "parse error"}}));
                self.reply(id, compute(self));
            }
        }
    }
}
