//! Where a function begins in the file of a program or library that nobody has prepared.
//!
//! Reads the symbol tables of ELF files, those of separate debug files too. Does not demangle: names are as `nm` prints
//! them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::elf::STT_GNU_IFUNC;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolFlags, SymbolKind};
use slowpath_platform::MappedFile;

use super::Unusable;
use crate::spec::Function;

/// A function found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// The path as messages name it.
    pub(super) shown: String,
    /// Where in the file: one, or more where several functions have the name.
    pub(super) offsets: BTreeSet<u64>,
    /// Compiled by Go, which moves stacks: returns cannot be seen there without harm.
    pub(super) is_go: bool,
}

/// Looks for a function. Relative paths start from `folder`.
pub(super) fn find(function: &Function, folder: &Path) -> Result<Place, Unusable> {
    let Function { binary, name } = function;
    let path = locate(binary, folder)?;
    let shown = shown(binary, &path);
    let unusable = |what: String, hint: &str| Unusable {
        what,
        hint: hint.to_owned(),
    };
    let mapped = MappedFile::open(&path)
        .map_err(|cause| unusable(format!("{shown} cannot be read: {cause}"), ""))?;
    let bytes = mapped.as_ref();
    if bytes.starts_with(b"#!") {
        let what = format!("{shown} is a script, which has no functions that could be observed");
        return Err(unusable(what, "name the program that it starts"));
    }
    let file = object::File::parse(bytes).map_err(|error| {
        let what = format!("{shown} is no program or library: {error}");
        unusable(what, "an ELF file is needed")
    })?;
    let mut found = Found::default();
    found.search(&file, name);
    // What others may use has a symbol in a stripped file, too; copies of it have theirs here alone.
    if let Some(debug) = debug_file(&file)
        && let Ok(mapped) = MappedFile::open(&debug)
        && let Ok(debug) = object::File::parse(mapped.as_ref())
    {
        found.search(&debug, name);
    }
    let offsets: BTreeSet<u64> = (found.addresses.iter())
        .filter_map(|address| offset_of(&file, *address))
        .collect();
    // Where the version that programs are linked with is chosen at their start, older ones beside it are not what is called.
    if offsets.is_empty() || found.is_chosen_at_start {
        return Err(found.missing(name, &shown, &path));
    }
    let is_go = file.section_by_name(".gopclntab").is_some();
    Ok(Place {
        path,
        shown,
        offsets,
        is_go,
    })
}

/// What the symbols of a file say of a name.
#[derive(Default)]
struct Found {
    addresses: BTreeSet<u64>,
    /// Functions that there are.
    count: usize,
    is_imported: bool,
    is_chosen_at_start: bool,
    /// What the compiler has made of it, or what is called alike.
    similar: BTreeSet<String>,
}

impl Found {
    fn search(&mut self, file: &object::File<'_>, wanted: &str) {
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let Ok(name) = symbol.name() else { continue };
            // Versions stand behind the name: write@@GLIBC_2.2.5.
            let name = name.split('@').next().unwrap_or_default();
            let is_it = name == wanted || is_copy(name, wanted);
            if symbol.is_undefined() {
                self.is_imported |= is_it;
                continue;
            }
            if symbol.kind() != SymbolKind::Text {
                continue;
            }
            self.count += 1;
            let is_ifunc = matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info.st_type() == STT_GNU_IFUNC);
            if is_it && is_ifunc {
                self.is_chosen_at_start = true;
            } else if is_it {
                self.addresses.insert(symbol.address());
            } else if self.similar.len() < 5 && !wanted.is_empty() && name.contains(wanted) {
                self.similar.insert(name.to_owned());
            }
        }
    }

    fn missing(&self, name: &str, shown: &str, path: &Path) -> Unusable {
        let path = path.display();
        let similar: Vec<&str> = self.similar.iter().map(String::as_str).collect();
        let similar = similar.join(", ");
        let (what, hint) = if self.is_chosen_at_start {
            (
                format!(
                    "`{name}` of {shown} is one of several functions, chosen when a program starts (IFUNC)"
                ),
                match similar.is_empty() {
                    true => "name the one that is chosen on this machine".to_owned(),
                    false => {
                        format!("name the one that is chosen on this machine; there are: {similar}")
                    }
                },
            )
        } else if self.is_imported {
            (
                format!("{shown} uses `{name}` of another file"),
                format!(
                    "name the library that has it, as `ldd {path}` lists them: binary = \"libc.so.6\""
                ),
            )
        } else if self.count == 0 {
            (
                format!("{shown} has no symbols: it was stripped"),
                "install its debug symbols, or take a build that has them".to_owned(),
            )
        } else {
            (
                format!("{shown} has no function `{name}`"),
                match similar.is_empty() {
                    true => format!(
                        "the compiler may have inlined it, or `strip` taken its name; `nm -D {path}` and `nm {path}` list what there is"
                    ),
                    false => format!("there are: {similar}"),
                },
            )
        };
        Unusable { what, hint }
    }
}

/// Whether a name is that of a copy of a function that compilers have made for some of its callers, or renamed: calls of
/// `step.constprop.0` and `step.isra.0.lto_priv.1` are calls of `step`. Parts of it (`.part`, `.cold`) are entered from it.
fn is_copy(name: &str, function: &str) -> bool {
    let Some(kinds) = name
        .strip_prefix(function)
        .and_then(|rest| rest.strip_prefix('.'))
    else {
        return false;
    };
    let mut kinds = kinds.split('.').peekable();
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    while let Some(kind) = kinds.next() {
        if !["constprop", "isra", "lto_priv"].contains(&kind) {
            return false;
        }
        kinds.next_if(|word| is_number(word));
    }
    true
}

/// A file, with the name that the user gave where that is another one's: `redis-server` may be a link to
/// `redis-check-rdb`.
fn shown(binary: &str, path: &Path) -> String {
    match Path::new(binary).file_name() == path.file_name() {
        true => path.display().to_string(),
        false => format!("{binary} ({})", path.display()),
    }
}

/// Where in the file lies what a process has at an address.
fn offset_of(file: &object::File<'_>, address: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (begin, size) = segment.file_range();
        let within = address.checked_sub(segment.address())?;
        (within < size).then(|| begin.checked_add(within))?
    })
}

/// The separate file with the symbols of a stripped one, where distributions put it.
fn debug_file(file: &object::File<'_>) -> Option<PathBuf> {
    let id = file.build_id().ok()??;
    let (first, rest) = id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug").into())
}

/// The file that is meant, with all links followed.
fn locate(binary: &str, folder: &Path) -> Result<PathBuf, Unusable> {
    let found = match binary.contains('/') {
        true => Some(folder.join(binary)).filter(|path| path.is_file()),
        false => in_path(binary).or_else(|| as_library(binary)),
    };
    let found = found.and_then(|path| path.canonicalize().ok());
    found.ok_or_else(|| Unusable {
        what: format!("there is no program or library `{binary}`"),
        hint: match binary.contains('/') {
            true => "relative paths start from the folder of the specification",
            false => "a bare name is looked up in PATH and among the loader's libraries (`ldconfig -p`); else give the path",
        }
        .to_owned(),
    })
}

fn in_path(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(is_program)
}

/// As the loader finds it, by the list that it uses.
fn as_library(name: &str) -> Option<PathBuf> {
    let listed = ["ldconfig", "/sbin/ldconfig"]
        .into_iter()
        .find_map(|program| Command::new(program).arg("-p").output().ok())?;
    library_of_list(&String::from_utf8_lossy(&listed.stdout), name)
}

/// Lines are `name (kind) => path`; there may be one for programs of 32 bits, too.
fn library_of_list(list: &str, name: &str) -> Option<PathBuf> {
    let mut found = None;
    for line in list.lines() {
        if let Some((left, path)) = line.split_once(" => ")
            && let Some((other, kind)) = left.trim().split_once(' ')
            && other == name
        {
            if kind.contains("64") {
                return Some(path.into());
            }
            found.get_or_insert_with(|| PathBuf::from(path));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(binary: &str, name: &str) -> Result<Place, String> {
        let function = Function {
            binary: binary.to_owned(),
            name: name.to_owned(),
        };
        find(&function, Path::new("/")).map_err(|unusable| unusable.to_string())
    }

    #[test]
    fn the_library_of_the_right_width_is_chosen() {
        let list = "3 libs found in cache `/etc/ld.so.cache'\n\
                    \tliba.so.1 (libc6) => /lib32/liba.so.1\n\
                    \tliba.so.1 (libc6,x86-64) => /lib64/liba.so.1\n\
                    \tlibb.so (libc6) => /lib32/libb.so\n";
        let check = |name, path: Option<&str>| {
            assert_eq!(library_of_list(list, name), path.map(PathBuf::from));
        };
        check("liba.so.1", Some("/lib64/liba.so.1"));
        check("libb.so", Some("/lib32/libb.so"));
        check("liba.so", None);
    }

    #[test]
    fn what_cannot_be_observed_is_told_with_a_way_out() {
        let check = |binary: &str, name: &str, what: &str, hint: &str| {
            let words = of(binary, name).expect_err(name);
            assert!(words.contains(what) && words.contains(hint), "{words}");
        };
        check(
            "no-such-program",
            "main",
            "there is no program or library",
            "ldconfig -p",
        );
        check(
            "/no/such/file",
            "main",
            "there is no program or library",
            "folder of the spec",
        );
        check("/etc/passwd", "main", "is no program or library", "ELF");
        check(
            "libc.so.6",
            "no_such_function",
            "has no function `no_such_function`",
            "nm -D",
        );
        check("sh", "write", "uses `write` of another file", "libc.so.6");
        // Programs of long ago have another one of this name, which is none of several.
        let (what, hint) = ("chosen when a program starts", "there are: ");
        check("libc.so.6", "memcpy", what, hint);
    }

    #[test]
    fn a_link_is_named_with_what_it_leads_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = std::env::current_exe().expect("this program");
        let link = folder.path().join("redis-server");
        std::os::unix::fs::symlink(&program, &link).expect("linked");
        let words = of(&link.display().to_string(), "no_such_function").expect_err("none");
        let both = format!("{} ({})", link.display(), program.display());
        assert!(words.starts_with(&both), "{words}");
        let words = of(&program.display().to_string(), "no_such_function").expect_err("none");
        let alone = format!("{} has no", program.display());
        assert!(words.starts_with(&alone), "{words}");
    }

    #[test]
    fn copies_are_the_function_and_parts_of_it_are_not() {
        for (name, expected) in [
            ("step.constprop.0", true),
            ("step.isra.0.constprop.12", true),
            ("step.lto_priv.0", true),
            ("step.constprop", true),
            ("step.part.0", false),
            ("step.part.0.constprop.1", false),
            ("step.cold", false),
            ("step.", false),
            ("step2.constprop.0", false),
            ("step", false),
        ] {
            assert_eq!(is_copy(name, "step"), expected, "{name}");
        }
    }

    #[test]
    fn a_function_of_a_stock_library_is_found_by_its_bare_name() {
        let place = of("libc.so.6", "write").expect("the C library has it");
        assert!(place.path.is_absolute() && !place.is_go);
        assert!(!place.offsets.is_empty());
    }
}
