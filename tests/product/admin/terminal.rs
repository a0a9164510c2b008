//! `top` in a terminal: how it ends, and while the server hangs.

use std::process::Command;

use rustix::process::Signal;

use crate::cli::harness::{Sandbox, run};

/// Runs `top` in its own terminal, waits for a text, then sends a signal (`15`) or a key (`q`). The
/// process `hangs`, unless it is 0, is stopped after the first frame. Prints its exit status, and
/// whether the terminal was restored.
const DRIVER: &str = r#"
import fcntl, os, select, struct, subprocess, sys, termios
binary, state, text, act, hangs = sys.argv[1:]
master, slave = os.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
before = termios.tcgetattr(slave)
child = subprocess.Popen([binary, "top", "--state-dir", state], stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
seen, acted = b"", False
while child.poll() is None:
    if select.select([master], [], [], 0.05)[0]:
        seen += os.read(master, 65536)
    if int(hangs) and b"repo*" in seen:
        os.kill(int(hangs), 19)
        hangs = "0"
    if not acted and text.encode() in seen:
        acted = True
        os.write(master, b"q") if act == "q" else child.send_signal(int(act))
while select.select([master], [], [], 0)[0]:
    seen += os.read(master, 65536)
left = seen.rfind(b"\x1b[?1049l") > seen.rfind(b"\x1b[?1049h") >= 0
print(child.returncode, left and termios.tcgetattr(slave) == before)
"#;

fn top(sandbox: &Sandbox, text: &str, act: &str, hangs: u32) -> String {
    #[expect(clippy::disallowed_methods, reason = "a terminal for the binary under test")]
    let mut driver = Command::new("python3");
    driver.args(["-c", DRIVER, env!("CARGO_BIN_EXE_codeyard")]).arg(sandbox.path("state")).args([
        text,
        act,
        &hangs.to_string(),
    ]);
    run(&mut driver).code(0).stdout.trim().to_owned()
}

#[test]
fn signals_and_keys_restore_the_terminal() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    for (act, ended) in [("15", "143 True"), ("1", "129 True"), ("2", "130 True"), ("q", "0 True")] {
        assert_eq!(top(&sandbox, "repo*", act, 0), ended, "{act}");
    }
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn a_hung_server_blocks_no_key_and_no_command() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    assert_eq!(top(&sandbox, "not answering for", "q", serving.pid()), "0 True");
    sandbox.run(&["workspaces"]).code(1).says(&["did not answer within 5 s"]);
    serving.signal(Signal::CONT);
    assert_eq!(serving.stop(Signal::TERM), 0);
}
