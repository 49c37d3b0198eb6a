//! Parses the kernel's `format` texts: which fields an event has and where they lie.
//!
//! The same line form describes the ring buffer's pages (`events/header_page`). `print fmt` is not
//! read. Fields of kinds unknown here keep their bytes rather than being dropped.

use crate::layout::{Content, Element, Field, Place};

/// No offset or size is larger; so sums of them never overflow.
const MOST_BYTES: usize = 1 << 24;
/// A word that says where a field is.
const LOCATION_BYTES: usize = 4;
/// As many as an array of a probe may have.
const MOST_TEXTS: usize = 64;

/// One parsed `format` file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EventFormat {
    pub(crate) name: String,
    /// The number that stands in `common_type` of its records.
    pub(crate) id: u16,
    pub(crate) fields: Vec<Field>,
}

/// Parses one `format` file of a kernel whose `long` has `long_size` bytes; says what is wrong with
/// it otherwise.
pub(crate) fn parse_event_format(text: &str, long_size: usize) -> Result<EventFormat, String> {
    let mut name = None;
    let mut id = None;
    let mut fields = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("name:") {
            name = Some(rest.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("ID:") {
            let number = rest.trim();
            id = Some(
                number
                    .parse()
                    .map_err(|_| format!("event id {number:?} is not a number below 65536"))?,
            );
        } else if line.starts_with("print fmt:") {
            break;
        } else if let Some(declaration) = Declaration::parse(line)? {
            let parts = declaration.parts().into_iter();
            fields.extend(parts.map(|part| part.field(long_size)));
        }
    }
    let name = name
        .filter(|name| !name.is_empty())
        .ok_or("it has no name")?;
    if let ("kernel_stack", Some(callers)) = (name.as_str(), fields.last_mut())
        && let Place::Fixed { offset, .. } = callers.place
    {
        // The text states eight callers; the record ends after as many as there were.
        callers.place = Place::Rest { offset };
    }
    Ok(EventFormat {
        name,
        id: id.ok_or("it has no id")?,
        fields,
    })
}

/// One `field:` line as it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Declaration {
    /// The C type, without array brackets and without the markers of dynamic fields.
    type_name: String,
    pub(crate) name: String,
    /// What stands between brackets, where there are any.
    brackets: Option<String>,
    dynamic: Option<Dynamic>,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    signed: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Dynamic {
    /// `__data_loc`: offset from the record's begin.
    FromRecord,
    /// `__rel_loc`: offset from the end of this field.
    FromField,
}

impl Declaration {
    /// Parses `field:TYPE NAME; offset:N; size:N; signed:N;`; `None` for any other line.
    pub(crate) fn parse(line: &str) -> Result<Option<Self>, String> {
        let line = line.trim();
        let Some(rest) = line.strip_prefix("field") else {
            return Ok(None);
        };
        let Some(rest) = rest
            .strip_prefix(" special")
            .unwrap_or(rest)
            .strip_prefix(':')
        else {
            return Ok(None);
        };
        let mut parts = rest.split(';').map(str::trim);
        let declared = parts.next().unwrap_or_default();
        let (mut offset, mut size, mut signed) = (None, None, None);
        for part in parts {
            let Some((key, value)) = part.split_once(':') else {
                continue;
            };
            let number = || {
                let value = value.trim();
                let number = value.parse().ok().filter(|number| *number <= MOST_BYTES);
                number.ok_or_else(|| format!("{key} {value:?} in {line:?} makes no sense"))
            };
            match key.trim() {
                "offset" => offset = Some(number()?),
                "size" => size = Some(number()?),
                "signed" => signed = Some(number()? != 0),
                _ => {}
            }
        }
        let (dynamic, declared) = match declared.split_once(char::is_whitespace) {
            Some(("__data_loc", rest)) => (Some(Dynamic::FromRecord), rest.trim()),
            Some(("__rel_loc", rest)) => (Some(Dynamic::FromField), rest.trim()),
            _ => (None, declared),
        };
        let (declared, brackets) = without_brackets(declared);
        let split = declared
            .rfind(|c: char| c.is_ascii_whitespace() || c == '*')
            .ok_or_else(|| format!("no type in {line:?}"))?;
        Ok(Some(Self {
            type_name: declared[..=split].trim().to_owned(),
            name: declared[split + 1..].to_owned(),
            brackets,
            dynamic,
            offset: offset.ok_or_else(|| format!("no offset in {line:?}"))?,
            size: size.ok_or_else(|| format!("no size in {line:?}"))?,
            signed,
        }))
    }

    /// Probes have arrays of texts: `__data_loc char[][3]` is that many location words, each a field of its own here.
    fn parts(self) -> Vec<Self> {
        let count = self.size / LOCATION_BYTES;
        let is_array = self.dynamic.is_some() && self.size.is_multiple_of(LOCATION_BYTES);
        if !is_array || !(2..=MOST_TEXTS).contains(&count) {
            return vec![self];
        }
        let part = |index: usize| Self {
            name: format!("{}[{index}]", self.name),
            offset: self.offset + index * LOCATION_BYTES,
            size: LOCATION_BYTES,
            ..self.clone()
        };
        (0..count).map(part).collect()
    }

    fn field(self, long_size: usize) -> Field {
        let is_array = self.brackets.is_some();
        let place = match self.dynamic {
            Some(Dynamic::FromRecord) if self.size == LOCATION_BYTES => Place::DataLocation {
                offset: self.offset,
            },
            Some(Dynamic::FromField) if self.size == LOCATION_BYTES => Place::RelativeLocation {
                offset: self.offset,
            },
            None if is_array && self.size == 0 => Place::Rest {
                offset: self.offset,
            },
            _ => Place::Fixed {
                offset: self.offset,
                size: self.size,
            },
        };
        let is_dynamic = !matches!(place, Place::Fixed { .. });
        let pointer = self.type_name.ends_with('*') || self.type_name.ends_with("*const");
        let signed = self
            .signed
            .unwrap_or_else(|| !reads_unsigned(&self.type_name));
        let content = if is_array || is_dynamic {
            self.array_content(is_dynamic, signed, long_size)
        } else if matches!(self.size, 1 | 2 | 4 | 8) {
            Content::Integer {
                size: self.size,
                signed: signed && !pointer,
                pointer,
            }
        } else {
            Content::Opaque
        };
        Field {
            common: self.name.starts_with("common_"),
            name: self.name,
            place,
            content,
        }
    }

    fn array_content(&self, is_dynamic: bool, signed: bool, long_size: usize) -> Content {
        if plain_type(&self.type_name) == "char" {
            return Content::Text;
        }
        let counted = self
            .brackets
            .as_ref()
            .and_then(|count| count.trim().parse::<usize>().ok());
        let by_count = match counted {
            Some(count) if !is_dynamic && count > 0 && self.size.is_multiple_of(count) => {
                Some(self.size / count)
            }
            _ => None,
        };
        let Some(size) = by_count.or_else(|| element_size(&self.type_name, long_size)) else {
            return Content::Opaque;
        };
        // `signed:` tells of the element in fixed arrays, of the location word in dynamic ones.
        let signed = if is_dynamic {
            !reads_unsigned(&self.type_name)
        } else {
            signed
        };
        match size {
            1 | 2 | 4 | 8 => Content::Numbers(Element { size, signed }),
            _ => Content::Opaque,
        }
    }
}

/// Takes `[...]` out of a declaration, wherever it stands: `char comm[16]` or `char[] name`.
fn without_brackets(declared: &str) -> (String, Option<String>) {
    match (declared.find('['), declared.rfind(']')) {
        (Some(open), Some(close)) if open < close => (
            format!("{}{}", &declared[..open], &declared[close + 1..])
                .trim()
                .to_owned(),
            Some(declared[open + 1..close].to_owned()),
        ),
        _ => (declared.to_owned(), None),
    }
}

/// The type without words that do not change how its bytes read.
fn plain_type(type_name: &str) -> String {
    let words = type_name.split_whitespace();
    let kept: Vec<&str> = words
        .filter(|word| !matches!(*word, "const" | "volatile"))
        .collect();
    kept.join(" ")
}

fn reads_unsigned(type_name: &str) -> bool {
    let plain = plain_type(type_name);
    plain.starts_with("unsigned")
        || plain.starts_with('u')
        || plain.starts_with("__u")
        || plain.ends_with('*')
        || matches!(
            plain.as_str(),
            "cpumask_t" | "size_t" | "bool" | "gfp_t" | "dev_t"
        )
}

/// How many bytes an element of a dynamic array takes, for the types that kernels use there.
fn element_size(type_name: &str, long_size: usize) -> Option<usize> {
    Some(match plain_type(type_name).as_str() {
        "u8" | "__u8" | "s8" | "__s8" | "unsigned char" | "signed char" | "bool" | "uint8_t" => 1,
        "u16" | "__u16" | "s16" | "__s16" | "short" | "unsigned short" | "uint16_t" => 2,
        "u32" | "__u32" | "s32" | "__s32" | "int" | "unsigned int" | "unsigned" | "uint32_t"
        | "pid_t" => 4,
        "u64" | "__u64" | "s64" | "__s64" | "long long" | "unsigned long long" | "uint64_t" => 8,
        "long" | "unsigned long" | "cpumask_t" => long_size,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name: demo\nID: 372\nformat:\n";

    /// The one field of a format with this line.
    fn field(line: &str) -> Field {
        let text = format!("{HEAD}\t{line}\n\nprint fmt: \"field:int no;\", REC->no\n");
        let format = parse_event_format(&text, 8).expect("a format");
        assert_eq!(
            (format.name.as_str(), format.id, format.fields.len()),
            ("demo", 372, 1)
        );
        format.fields[0].clone()
    }

    fn check(line: &str, name: &str, place: Place, content: Content) {
        let found = field(line);
        assert_eq!(
            (found.name.as_str(), found.place, found.content),
            (name, place, content),
            "{line}"
        );
    }

    #[test]
    fn an_array_of_texts_is_a_field_for_each() {
        let line = "field:__data_loc char[][3] words;\toffset:16;\tsize:12;\tsigned:1;";
        let format = parse_event_format(&format!("{HEAD}\t{line}\n"), 8).expect("a format");
        let found = format.fields.into_iter();
        let found: Vec<_> = found
            .map(|field| (field.name, field.place, field.content))
            .collect();
        let word = |index: usize| {
            let place = Place::DataLocation {
                offset: 16 + 4 * index,
            };
            (format!("words[{index}]"), place, Content::Text)
        };
        assert_eq!(found, [0, 1, 2].map(word));
    }

    #[test]
    fn names_that_are_not_ascii_do_no_harm() {
        // No-break spaces are white space of more than one byte.
        let found = field("field:unsigned char odd\u{a0}name;\toffset:8;\tsize:1;\tsigned:0;");
        assert_eq!(found.name, "odd\u{a0}name");
    }

    #[test]
    fn fields_of_every_kind() {
        let fixed = |offset, size| Place::Fixed { offset, size };
        let integer = |size, signed, pointer| Content::Integer {
            size,
            signed,
            pointer,
        };
        let numbers = |size, signed| Content::Numbers(Element { size, signed });
        check(
            "field:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;",
            "common_type",
            fixed(0, 2),
            integer(2, false, false),
        );
        check(
            "field:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;",
            "prev_pid",
            fixed(24, 4),
            integer(4, true, false),
        );
        check(
            "field:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;",
            "prev_comm",
            fixed(8, 16),
            Content::Text,
        );
        check(
            "field:char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;",
            "comm",
            fixed(8, 16),
            Content::Text,
        );
        check(
            "field:const char * filename;\toffset:24;\tsize:8;\tsigned:0;",
            "filename",
            fixed(24, 8),
            integer(8, false, true),
        );
        check(
            "field:void *timer;\toffset:8;\tsize:8;\tsigned:1;",
            "timer",
            fixed(8, 8),
            integer(8, false, true),
        );
        check(
            "field:struct x *const path;\toffset:8;\tsize:8;\tsigned:0;",
            "path",
            fixed(8, 8),
            integer(8, false, true),
        );
        check(
            "field:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;",
            "args",
            fixed(16, 48),
            numbers(8, false),
        );
        check(
            "field:__u8 saddr[4];\toffset:16;\tsize:4;\tsigned:0;",
            "saddr",
            fixed(16, 4),
            numbers(1, false),
        );
        check(
            "field:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;",
            "name",
            Place::DataLocation { offset: 12 },
            Content::Text,
        );
        check(
            "field:__rel_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;",
            "name",
            Place::RelativeLocation { offset: 12 },
            Content::Text,
        );
        check(
            "field:__data_loc unsigned int[] ids;\toffset:8;\tsize:4;\tsigned:0;",
            "ids",
            Place::DataLocation { offset: 8 },
            numbers(4, false),
        );
        check(
            "field:__data_loc cpumask_t mask;\toffset:8;\tsize:4;\tsigned:0;",
            "mask",
            Place::DataLocation { offset: 8 },
            numbers(8, false),
        );
        check(
            "field:__data_loc struct pair[] pairs;\toffset:8;\tsize:4;\tsigned:0;",
            "pairs",
            Place::DataLocation { offset: 8 },
            Content::Opaque,
        );
        check(
            "field:char buf[];\toffset:16;\tsize:0;\tsigned:0;",
            "buf",
            Place::Rest { offset: 16 },
            Content::Text,
        );
        check(
            "field:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;",
            "buf",
            Place::Rest { offset: 24 },
            numbers(4, false),
        );
        check(
            "field:struct odd thing;\toffset:8;\tsize:12;\tsigned:0;",
            "thing",
            fixed(8, 12),
            Content::Opaque,
        );
        check(
            "field special:unsigned long ip;\toffset:8;\tsize:8;",
            "ip",
            fixed(8, 8),
            integer(8, false, false),
        );
    }

    #[test]
    fn what_cannot_be_understood_is_said() {
        let fails = |text: &str, expected: &str| {
            let error = parse_event_format(text, 8).expect_err(text);
            assert!(error.contains(expected), "{error}");
        };
        fails("ID: 3\n", "no name");
        fails("name: a\n", "no id");
        fails("name: a\nID: 70000\n", "70000");
        fails(
            "name: a\nID: 3\n\tfield:int a; offset:99999999999999999999; size:4;\n",
            "99999999999999999999",
        );
        fails(
            "name: a\nID: 3\n\tfield:int a; offset:x; size:4;\n",
            "\"x\"",
        );
        fails("name: a\nID: 3\n\tfield:int a; size:4;\n", "no offset");
        fails(
            "name: a\nID: 3\n\tfield:int; offset:0; size:4;\n",
            "no type",
        );
    }
}
