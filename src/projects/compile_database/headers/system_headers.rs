//! Headers that aren't the project's: those of the standard libraries, and those installed on this machine.
//!
//! Standard names belong to the compiler even if a file of the project has the same name: a vendored replacement counts only where a build
//! file says so. Nothing here runs a compiler; the directories are the usual ones of Linux and macOS.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// Directories that compilers search by default, if they exist.
const USUAL_DIRS: [&str; 4] =
    ["/usr/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"];
/// Directories with one directory per version of the C++ library.
const CPP_DIRS: [&str; 2] = ["/usr/include/c++", "/usr/include/c++/v1"];

/// Headers of ISO C, POSIX and the compiler, without the extension `.h`.
const C_HEADERS: &str = " alloca assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg \
    stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar unwind varargs wchar \
    wctype aio cpio dirent dlfcn endian err fcntl fmtmsg fnmatch ftw getopt glob grp iconv ifaddrs langinfo libgen libintl malloc memory \
    mntent monetary mqueue ndbm netdb nl_types poll pthread pty pwd regex resolv sched search semaphore shadow spawn strings stropts \
    sysexits syslog tar termio termios ucontext ulimit unistd utime utmp utmpx values wait wordexp arpa/inet net/if netinet/in \
    netinet/tcp netinet/udp netinet/ip sys/acct sys/epoll sys/eventfd sys/file sys/inotify sys/ioctl sys/ipc sys/mman sys/mount sys/msg \
    sys/param sys/poll sys/prctl sys/ptrace sys/random sys/resource sys/select sys/sem sys/sendfile sys/shm sys/signalfd sys/socket \
    sys/stat sys/statfs sys/statvfs sys/syscall sys/sysctl sys/sysinfo sys/sysmacros sys/time sys/timeb sys/timerfd sys/times sys/types \
    sys/ucontext sys/uio sys/un sys/utsname sys/vfs sys/wait sys/xattr immintrin emmintrin xmmintrin nmmintrin smmintrin tmmintrin \
    x86intrin arm_neon arm_acle cpuid windows winsock2 ws2tcpip io direct process conio share tchar windef winbase ";
/// Headers of the C++ library.
const CPP_HEADERS: &str = " algorithm any array atomic barrier bit bitset cassert ccomplex cctype cerrno cfenv cfloat charconv chrono \
    cinttypes ciso646 climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdalign \
    cstdarg cstdbool cstddef cstdint cstdio cstdlib cstring ctgmath ctime cuchar cwchar cwctype deque exception execution expected \
    filesystem flat_map flat_set format forward_list fstream functional future generator initializer_list iomanip ios iosfwd iostream \
    istream iterator latch limits list locale map mdspan memory memory_resource mutex new numbers numeric optional ostream print queue \
    random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span spanstream sstream stack stacktrace \
    stdexcept stdfloat stop_token streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex \
    typeinfo unordered_map unordered_set utility valarray variant vector version ";

/// Looks up installed headers; each name once.
#[derive(Debug, Default)]
pub(crate) struct SystemHeaders {
    dirs: Vec<PathBuf>,
    known: Mutex<HashMap<Box<str>, bool>>,
}

impl SystemHeaders {
    pub(crate) fn of_machine() -> Self {
        let mut dirs: Vec<PathBuf> = USUAL_DIRS.iter().map(PathBuf::from).collect();
        for dir in CPP_DIRS {
            let versions = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
            versions.sort();
            dirs.extend(versions);
            dirs.push(dir.into());
        }
        dirs.retain(|dir| dir.is_dir());
        Self { dirs, known: Mutex::default() }
    }

    /// Whether a header is installed, or belongs to the compiler.
    pub(crate) fn has(&self, name: &str) -> bool {
        if let Some(known) = self.known.lock().get(name) {
            return *known;
        }
        let found =
            is_of_compiler(name) || self.dirs.iter().any(|dir| dir.join(name).is_file()) || Path::new(name).is_file();
        self.known.lock().insert(name.into(), found);
        found
    }
}

/// Whether the standards of C, C++ or POSIX define a header of this name.
pub(crate) fn is_standard(name: &str) -> bool {
    match name.strip_suffix(".h") {
        Some(stem) => holds(C_HEADERS, stem),
        None => holds(CPP_HEADERS, name),
    }
}

/// Headers that come with the compiler, wherever it is installed. Those of Windows count too: no project can provide them here.
fn is_of_compiler(name: &str) -> bool {
    const STEMS: &str = " stdarg stddef stdint stdbool stdatomic stdalign stdnoreturn float limits iso646 varargs unwind cpuid immintrin \
        emmintrin xmmintrin nmmintrin smmintrin tmmintrin x86intrin arm_neon arm_acle tgmath inttypes ";
    name.strip_suffix(".h").is_some_and(|stem| holds(STEMS, stem))
}

fn holds(words: &str, word: &str) -> bool {
    !word.is_empty() && !word.contains(' ') && words.split_ascii_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_names_are_those_of_c_cpp_and_posix() {
        for name in ["stdio.h", "sys/socket.h", "vector", "cstring", "string.h", "string"] {
            assert!(is_standard(name), "{name}");
        }
        for name in ["", ".h", "string.hpp", "vector.h", "config.h", "net/string.h", "alloca assert.h"] {
            assert!(!is_standard(name), "{name}");
        }
    }

    #[test]
    fn headers_of_the_compiler_are_always_there() {
        let none = SystemHeaders::default();
        assert!(none.has("stddef.h") && none.has("stddef.h"));
        assert!(!none.has("stdio.h") && !none.has("no/such/header.h"));
    }
}
