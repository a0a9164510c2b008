//! Directories that belong to one operating system or processor, so that a header for another one is not preferred.

/// Names of directories for systems other than the one that codeyard runs on.
const FOREIGN_SYSTEMS: [&str; 34] = [
    "win32", "win64", "windows", "win", "msvc", "mingw", "mingw32", "cygwin", "vms", "os2", "os400", "dos", "msdos",
    "amiga", "amigaos", "symbian", "wince", "beos", "haiku", "solaris", "aix", "hpux", "irix", "qnx", "vxworks",
    "emscripten", "wasm", "freertos", "zephyr", "android", "ios", "xcode", "macosx", "watchos",
];
/// Directories of headers that only other systems and their compilers have.
const FOREIGN_HEADER_DIRS: [&str; 4] = ["emscripten", "winrt", "cppwinrt", "msclr"];
/// The same of Apple's systems.
const APPLE_HEADER_DIRS: [&str; 14] = [
    "AppKit", "ApplicationServices", "AudioToolbox", "Carbon", "Cocoa", "CommonCrypto", "CoreAudio", "CoreFoundation",
    "CoreGraphics", "CoreServices", "IOKit", "Security", "SystemConfiguration", "mach-o",
];
/// Headers that only other systems and their compilers have, in lower case and without the extension `.h`.
const FOREIGN_HEADERS: &str = " accctrl aclapi atlbase atlcom bcrypt cmnintrin comdef commctrl commdlg conditionalmacros crtdbg dbghelp ddraw     delayimp descrip dsound esent evntprov intrin iphlpapi libclidef lmcons mmsystem mstcpip mswsock ntddndis ntsecapi ntstatus     objbase ole2 oleauto oaidl powrprof psapi schannel schnlsp sddl sdkddkver shellapi shlobj shlwapi sspi starlet strsafe     subauth synchapi sysinfoapi tlhelp32 unixlib userenv versionhelpers vfw wincon wincrypt winerror wininet winioctl winldap winnls winnt     winreg winsock winternl winuser winver wlanapi ws2def ws2ipdef wspiapi wtsapi32 xmllite ";
/// Names of directories for processors, and the processor that each stands for.
const ARCHITECTURES: [(&str, &str); 34] = [
    ("x86", "x86"),
    ("x86_64", "x86"),
    ("amd64", "x86"),
    ("i386", "x86"),
    ("i686", "x86"),
    ("x64", "x86"),
    ("arm64", "arm64"),
    ("aarch64", "arm64"),
    ("arm", "arm"),
    ("armv7", "arm"),
    ("alpha", "alpha"),
    ("arc", "arc"),
    ("csky", "csky"),
    ("hexagon", "hexagon"),
    ("ia64", "ia64"),
    ("loongarch", "loongarch"),
    ("loongarch64", "loongarch"),
    ("m68k", "m68k"),
    ("microblaze", "microblaze"),
    ("mips", "mips"),
    ("mips64", "mips"),
    ("nios2", "nios2"),
    ("openrisc", "openrisc"),
    ("parisc", "parisc"),
    ("powerpc", "powerpc"),
    ("ppc", "powerpc"),
    ("ppc64", "powerpc"),
    ("riscv", "riscv"),
    ("riscv64", "riscv"),
    ("s390", "s390"),
    ("s390x", "s390"),
    ("sh", "sh"),
    ("sparc", "sparc"),
    ("sparc64", "sparc"),
];
/// Directories whose children are named after processors. Elsewhere such a name may mean anything.
const ARCHITECTURE_PARENTS: [&str; 3] = ["arch", "cpu", "machine"];

/// The processor that codeyard runs on, by the names above.
pub(super) fn host_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        "x86_64" | "x86" => "x86",
        other => ARCHITECTURES.iter().find(|(name, _)| *name == other).map_or("x86", |(_, arch)| arch),
    }
}

/// Whether `dir` belongs to another system than this one, and `from` doesn't.
pub(super) fn is_foreign(from: &str, dir: &str) -> bool {
    let is_apple = |part: &str| matches!(part, "darwin" | "macos" | "osx" | "apple");
    let foreign = |part: &str| {
        let part = part.to_ascii_lowercase();
        FOREIGN_SYSTEMS.contains(&part.as_str()) || is_apple(&part) && !cfg!(target_os = "macos")
    };
    dir.split('/').any(|part| foreign(part) && !from.split('/').any(|own| own == part))
}

/// Whether only other systems have a header of this name, so that nothing that is built or installed here provides it.
pub(super) fn is_foreign_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_in = |dirs: &[&str]| {
        let below =
            |dir: &&str| name.strip_prefix(&*dir.to_ascii_lowercase()).is_some_and(|rest| rest.starts_with('/'));
        dirs.iter().any(below)
    };
    let stem = name.strip_suffix(".h").unwrap_or_default();
    let is_listed = !stem.is_empty() && FOREIGN_HEADERS.split_ascii_whitespace().any(|known| known == stem);
    is_listed || is_in(&FOREIGN_HEADER_DIRS) || !cfg!(target_os = "macos") && is_in(&APPLE_HEADER_DIRS)
}

/// Whether `dir` belongs to another processor than this one, and `from` doesn't. Such a header replaces nothing here.
pub(super) fn is_other_architecture(from: &str, dir: &str) -> bool {
    architecture_of(dir).is_some_and(|arch| {
        let own = architecture_of(from).unwrap_or_else(host_architecture);
        arch != own
    })
}

fn architecture_of(dir: &str) -> Option<&'static str> {
    let mut parts = dir.split('/').peekable();
    while let Some(part) = parts.next() {
        if ARCHITECTURE_PARENTS.contains(&part) {
            let child = parts.peek()?;
            return ARCHITECTURES.iter().find(|(name, _)| name == child).map(|(_, arch)| *arch);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_directory_is_one_that_the_including_file_is_not_in() {
        assert!(is_foreign("src", "src/Win32"));
        assert!(!is_foreign("src/Win32/a", "src/Win32"));
        assert!(!is_foreign("src", "src/windowing"));
    }

    #[test]
    fn headers_of_other_systems_are_known_by_name() {
        for name in ["intrin.h", "Psapi.h", "emscripten/html5.h", "winrt/base.h"] {
            assert!(is_foreign_header(name), "{name}");
        }
        for name in ["", ".h", "intrin", "x/intrin.h", "emscripten.h", "event2/event.h", "security_context.h"] {
            assert!(!is_foreign_header(name), "{name}");
        }
        assert_ne!(is_foreign_header("CoreFoundation/CoreFoundation.h"), cfg!(target_os = "macos"));
    }

    #[test]
    fn headers_of_other_processors_are_left_out() {
        let other = if host_architecture() == "x86" { "arm64" } else { "x86" };
        assert!(is_other_architecture("kernel", &format!("arch/{other}/include")));
        assert!(!is_other_architecture(&format!("arch/{other}/kernel"), &format!("arch/{other}/include")));
        assert!(!is_other_architecture("kernel", &format!("arch/{}/include", host_architecture())));
        assert!(!is_other_architecture("kernel", "sound/sh/include"));
        assert!(!is_other_architecture("kernel", "arch"));
    }
}
