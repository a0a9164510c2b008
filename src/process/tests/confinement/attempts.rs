//! What a hostile server tries. Each attempt prints its name and whether it was blocked.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use codeyard_process::limits::SANDBOX_TMP_BYTES;

use crate::system_attempts;

/// The role's name.
pub(crate) const ROLE: &str = "__attempts";

/// What the attempts are aimed at.
pub(crate) struct Target {
    pub(crate) base: PathBuf,
    pub(crate) port: u16,
    pub(crate) abstract_name: String,
    pub(crate) codeyard: u32,
    pub(crate) sibling: u32,
    pub(crate) file_bytes: u64,
    pub(crate) open_files: u64,
    pub(crate) data_bytes: u64,
}

impl Target {
    /// The command line of the role.
    pub(crate) fn args(&self) -> Vec<String> {
        vec![
            ROLE.to_owned(),
            self.base.display().to_string(),
            self.port.to_string(),
            self.abstract_name.clone(),
            self.codeyard.to_string(),
            self.sibling.to_string(),
            self.file_bytes.to_string(),
            self.open_files.to_string(),
            self.data_bytes.to_string(),
        ]
    }

    fn of(args: &[String]) -> Self {
        let number = |at: usize| args[at].parse::<u64>().unwrap();
        let small = |at: usize| u32::try_from(number(at)).unwrap();
        Self {
            base: PathBuf::from(&args[0]),
            port: u16::try_from(number(1)).unwrap(),
            abstract_name: args[2].clone(),
            codeyard: small(3),
            sibling: small(4),
            file_bytes: number(5),
            open_files: number(6),
            data_bytes: number(7),
        }
    }
}

/// Prints whether an attempt was blocked. `is_open`: it succeeded.
pub(crate) fn report(name: &str, is_open: bool) {
    println!("{name}: {}", if is_open { "OPEN" } else { "blocked" });
}

/// Whether a byte of the file can be read.
pub(crate) fn can_read(path: impl AsRef<Path>) -> bool {
    File::open(path).and_then(|mut file| file.read(&mut [0])).is_ok_and(|count| count > 0)
}

fn can_write(path: impl AsRef<Path>) -> bool {
    OpenOptions::new().write(true).open(path).is_ok()
}

/// The role: runs all attempts.
pub(crate) fn main(args: &[String]) -> ExitCode {
    let target = Target::of(args);
    works(&target);
    network(&target);
    files(&target);
    processes(&target);
    system_attempts::run(&target);
    ExitCode::SUCCESS
}

/// What a server needs works; otherwise a closed sandbox would pass.
fn works(target: &Target) {
    let temp = PathBuf::from(std::env::var_os("TMPDIR").unwrap());
    report("a root that can't be read", !can_read(target.base.join("root/file")));
    report("a root that can't be listed", fs::read_dir(target.base.join("root")).is_err());
    report("a cache that can't be written", fs::write(target.base.join("state/cache/server/x"), "x").is_err());
    report("a temporary folder that can't be written", fs::write(temp.join("x"), "x").is_err());
    report("a library that can't be read", fs::read_dir("/usr").is_err());
    report("a null device that can't be opened", !can_write("/dev/null"));
    report("facts about itself that can't be read", !can_read("/proc/self/status"));
    report("facts about memory that can't be read", !can_read("/proc/meminfo"));
    #[expect(clippy::disallowed_methods, reason = "a server may start programs of its toolchain")]
    let started = std::process::Command::new("/bin/true").status();
    report("a program of the system that can't be run", !started.is_ok_and(|status| status.success()));
    report("a thread that can't be started", std::thread::Builder::new().spawn(|| {}).is_err());
}

fn network(target: &Target) {
    report("tcp connect", TcpStream::connect(("127.0.0.1", target.port)).is_ok());
    report("tcp connect over version 6", TcpStream::connect(("::1", target.port)).is_ok());
    report("tcp listen", TcpListener::bind("127.0.0.1:0").is_ok());
    report(
        "udp",
        UdpSocket::bind("0.0.0.0:0").is_ok_and(|socket| socket.send_to(b"x", ("127.0.0.1", target.port)).is_ok()),
    );
    report("dns", ("example.org", 80).to_socket_addrs().is_ok());
    report("admin socket", UnixStream::connect(target.base.join("state/run/admin.sock")).is_ok());
    let name = SocketAddr::from_abstract_name(target.abstract_name.as_bytes()).unwrap();
    report("abstract socket", UnixStream::connect_addr(&name).is_ok());
    for socket in ["/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private"] {
        report(socket, UnixStream::connect(socket).is_ok());
    }
}

fn files(target: &Target) {
    let base = &target.base;
    let temp = PathBuf::from(std::env::var_os("TMPDIR").unwrap());
    for secret in ["home/.profile", "home/.ssh/id_rsa", "other/source.rs", "state/state.db", "root/link"] {
        report(&format!("read {secret}"), can_read(base.join(secret)));
    }
    report(
        "read through the root of /proc/self",
        can_read(format!("/proc/self/root{}", base.join("other/source.rs").display())),
    );
    report("read through dots", can_read(base.join("root/../other/source.rs")));
    report("read through the working directory", can_read("/proc/self/cwd/../other/source.rs"));
    for secret in
        ["/etc/shadow", "/etc/passwd", "/etc/ssh/sshd_config", "/root/.bashrc", "/var/log/dpkg.log", "/proc/kcore"]
    {
        report(&format!("read {secret}"), can_read(secret));
    }
    for folder in ["home", "other", "state/run"] {
        report(
            &format!("list {folder}"),
            fs::read_dir(base.join(folder)).is_ok_and(|mut entries| entries.next().is_some()),
        );
    }
    for folder in ["/home", "/root", "/var", "/etc/ssh", "/srv"] {
        report(&format!("list {folder}"), fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()));
    }
    report("write a file of the root", can_write(base.join("root/file")));
    report("create a file in the root", fs::write(base.join("root/new"), "x").is_ok());
    report("remove a file of the root", fs::remove_file(base.join("root/link")).is_ok());
    report("rename a file of the root", fs::rename(base.join("root/file"), base.join("root/moved")).is_ok());
    report(
        "truncate a file of the root",
        fs::OpenOptions::new().write(true).truncate(true).open(base.join("root/file")).is_ok(),
    );
    report(
        "hard link from the root",
        fs::hard_link(base.join("root/file"), base.join("state/cache/server/hard")).is_ok(),
    );
    report(
        "hard link from outside",
        fs::hard_link(base.join("other/source.rs"), base.join("state/cache/server/hard2")).is_ok(),
    );
    let link = temp.join("link");
    report("a symbolic link out", symlink(base.join("home/.ssh/id_rsa"), &link).is_ok() && can_read(&link));
    report("write into /usr", fs::write("/usr/x", "x").is_ok());
    report("write a kernel setting", can_write("/proc/sys/kernel/core_pattern"));
    report("run a program of the root", runs(&base.join("root/program")));
    let copy = base.join("state/cache/server/program");
    report("run a program of the cache", fs::copy("/bin/true", &copy).is_ok() && runs(&copy));
    for device in
        ["/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse", "/dev/uinput", "/dev/net/tun"]
    {
        report(&format!("open {device}"), File::open(device).is_ok());
    }
    report("a secret in the environment", std::env::vars().any(|(name, _)| name.contains("TOKEN") || name == "HOME"));
    report("create a file in /dev", fs::write("/dev/x", "x").is_ok());
    report("fill the memory through /dev/shm", fills(Path::new("/dev/shm"), target.file_bytes));
    attributes(target);
    fill_disk(target, &base.join("state/cache/server"));
    // Reported last: it uses up the descriptors.
    let opened = (0..target.open_files * 2).map_while(|_| File::open("/dev/null").ok()).collect::<Vec<_>>().len();
    report("more open files than allowed", u64::try_from(opened).unwrap() >= target.open_files);
}

/// Whether files of this size together take more than a temporary folder in memory may hold.
fn fills(folder: &Path, file_bytes: u64) -> bool {
    let mut made = Vec::new();
    let is_full = (0..=SANDBOX_TMP_BYTES / file_bytes).all(|number| {
        let path = folder.join(format!("full{number}"));
        let Ok(file) = File::create(&path) else { return false };
        made.push(path);
        rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, file_bytes).is_ok()
    });
    made.iter().for_each(|path| drop(fs::remove_file(path)));
    is_full
}

/// Changes the mode, the owner, the times and the attributes of files that may be read, and of files that may not.
fn attributes(target: &Target) {
    for name in ["root/file", "other/source.rs", "home/.profile"] {
        let path = target.base.join(name);
        let text = CString::new(path.as_os_str().as_bytes()).unwrap();
        for change in system_attempts::METADATA_CHANGES {
            let Ok(before) = fs::metadata(&path) else { break };
            let is_open = (change.make)(&text);
            let after = fs::metadata(&path).unwrap();
            let of = |found: &fs::Metadata| (found.mode(), found.uid(), found.gid(), found.mtime(), found.ctime_nsec());
            report(&format!("{} of {name}", change.name), is_open && change.reply_counts || of(&after) != of(&before));
        }
    }
}

fn runs(program: &Path) -> bool {
    #[expect(clippy::disallowed_methods, reason = "the attempt is to run a program")]
    let status = std::process::Command::new(program).status();
    status.is_ok()
}

/// Writes one file that is larger than allowed.
fn fill_disk(target: &Target, folder: &Path) {
    system_attempts::ignore_file_size_signal();
    let Ok(mut file) = File::create(folder.join("large")) else { return };
    let block = vec![0; 1 << 16];
    let mut written = 0;
    while written <= target.file_bytes && file.write_all(&block).is_ok() {
        written += block.len() as u64;
    }
    report("fill the disk with one file", written > target.file_bytes);
}

fn processes(target: &Target) {
    let own = std::process::id();
    for (name, pid) in [("codeyard", target.codeyard), ("another child", target.sibling)] {
        // In a namespace of its own a server may have the number of a process outside.
        if pid == own {
            continue;
        }
        for file in ["environ", "mem", "maps", "root/etc/hostname", "cwd/Cargo.toml", "fd/0"] {
            report(&format!("read {file} of {name}"), can_read(format!("/proc/{pid}/{file}")));
        }
        report(&format!("write the kill preference of {name}"), can_write(format!("/proc/{pid}/oom_score_adj")));
    }
    let foreign = fs::read_dir("/proc").into_iter().flatten().flatten().filter(|entry| {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        pid.is_some_and(|pid| pid == target.codeyard && pid > 2)
    });
    report("see codeyard in the process list", foreign.count() > 0);
}
