//! TSDL's type expressions: names, structures, variants, enumerations, arrays, and the lexical
//! scopes in which types are declared.

use std::borrow::Cow;
use std::rc::Rc;

use super::lexer::{Kind, unquote};
use super::values::Said;
use super::{Fault, Parser};
use crate::layout::{EnumerationLabel, IntegerMeaning};
use crate::metadata::draft::{
    Draft, DraftClass, DraftMember, DraftOption, Length, Origin, Part, Reference, alignment,
};

/// Words that make up type names and are no identifiers.
const TYPE_KEYWORDS: [&str; 13] = [
    "const",
    "char",
    "short",
    "int",
    "long",
    "signed",
    "unsigned",
    "float",
    "double",
    "void",
    "_Bool",
    "_Complex",
    "_Imaginary",
];

/// Words with which a declaration of a type begins, so that it is not an attribute of a block.
const DECLARATIONS: [&str; 5] = ["typealias", "typedef", "struct", "variant", "enum"];

impl<'text> Parser<'text, '_> {
    /// Whether a declaration of a type comes next.
    pub(super) fn sees_declaration(&self) -> bool {
        DECLARATIONS.iter().any(|word| self.sees_word(word))
    }

    /// `typealias`, `typedef`, or a named structure, variant or enumeration.
    pub(super) fn declaration(&mut self) -> Result<(), Fault> {
        if self.sees_word("typealias") {
            self.take()?;
            let target = self.type_expression()?;
            let target = self.array_suffixes(target)?;
            self.expect(":=")?;
            let at = self.at();
            let name = self.alias_name()?;
            self.declare(at, name, target);
        } else if self.sees_word("typedef") {
            self.take()?;
            let target = self.type_expression()?;
            loop {
                let at = self.at();
                let pointers = self.pointers()?;
                let name = self.name("the name of the new type")?;
                let class = self.array_suffixes(Rc::clone(&target))?;
                self.declare(at, name.into_owned() + &pointers, class);
                if !self.takes(",")? {
                    break;
                }
            }
        } else {
            self.type_expression()?;
        }
        self.expect(";")?;
        Ok(())
    }

    fn declare(&mut self, at: usize, name: String, class: Rc<Draft>) {
        if let Some(scope) = self.scopes.last_mut()
            && scope.types.insert(name.clone(), class).is_some()
        {
            self.notes.add(at, || {
                format!("the type `{name}` is declared twice; the second counts from here on")
            });
        }
    }

    fn look_up(&self, at: usize, name: &str) -> Result<Rc<Draft>, Fault> {
        let mut scopes = self.scopes.iter().rev();
        let found = scopes.find_map(|scope| scope.types.get(name));
        found.cloned().ok_or_else(|| {
            let name = super::excerpt(name.as_bytes());
            Fault::new(
                at,
                format!("expected a type that was declared before, found {name}"),
            )
        })
    }

    /// A type where it is used, without the arrays that follow the field's name.
    pub(super) fn type_expression(&mut self) -> Result<Rc<Draft>, Fault> {
        self.deeper(Self::type_expression_inside)
    }

    fn type_expression_inside(&mut self) -> Result<Rc<Draft>, Fault> {
        let at = self.at();
        let keyword = |parser: &mut Self, word: &str| -> Result<bool, Fault> {
            let sees = parser.sees_word(word);
            if sees {
                parser.take()?;
            }
            Ok(sees)
        };
        if keyword(self, "integer")? {
            self.integer(at)
        } else if keyword(self, "floating_point")? {
            self.floating_point(at)
        } else if keyword(self, "string")? {
            self.string(at)
        } else if keyword(self, "struct")? {
            self.structure(at)
        } else if keyword(self, "variant")? {
            self.variant(at)
        } else if keyword(self, "enum")? {
            self.enumeration(at)
        } else {
            let name = self.type_name()?;
            let class = self.look_up(at, &name)?;
            Ok(match name.ends_with('*') {
                true => class.as_pointer(),
                false => class,
            })
        }
    }

    /// The words of a type's name, with its pointers: keywords and one identifier, or what an alias has declared
    /// behind other words.
    fn type_name(&mut self) -> Result<String, Fault> {
        let mut name = String::new();
        let mut identified = false;
        while self.token.kind == Kind::Word {
            let keyword = TYPE_KEYWORDS.iter().any(|keyword| self.sees_word(keyword));
            let only_const = name.is_empty() || name == "const";
            if !keyword && (identified || !only_const) && !self.sees_word_of_a_type() {
                break;
            }
            identified |= !keyword;
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&self.name("a type")?);
        }
        if name.is_empty() {
            return Err(self.expected("a type"));
        }
        Ok(name + &self.pointers()?)
    }

    fn pointers(&mut self) -> Result<String, Fault> {
        let mut pointers = String::new();
        while self.takes("*")? {
            pointers.push_str(" *");
        }
        Ok(pointers)
    }

    /// Whether a word comes next that names of declared types have behind others.
    fn sees_word_of_a_type(&self) -> bool {
        let word = self.word();
        self.scopes.iter().any(|scope| scope.words.contains(word))
    }

    /// The name on the right of `typealias`: all words up to the end.
    fn alias_name(&mut self) -> Result<String, Fault> {
        let mut name = self.name("the name of the new type")?.into_owned();
        while self.token.kind == Kind::Word {
            let (word, scope) = (self.word(), self.scopes.last_mut());
            let is_keyword = TYPE_KEYWORDS.iter().any(|known| known.as_bytes() == word);
            if let Some(scope) = scope.filter(|_| !is_keyword) {
                scope.words.insert(word);
            }
            name.push(' ');
            name.push_str(&self.name("a word")?);
        }
        Ok(name + &self.pointers()?)
    }

    /// The `[..]` after a field's name. The first is the outermost, as in C.
    fn array_suffixes(&mut self, element: Rc<Draft>) -> Result<Rc<Draft>, Fault> {
        let mut lengths = Vec::new();
        while self.sees("[") {
            let at = self.take()?.begin;
            let length = match self.token.kind {
                Kind::Word => Length::Dynamic(self.reference()?),
                _ => Length::Static(self.value()?.unsigned("length")?),
            };
            self.expect("]")?;
            lengths.push((at, length));
        }
        let mut class = element;
        for (at, length) in lengths.into_iter().rev() {
            class = Draft::new(
                at,
                DraftClass::Array {
                    length,
                    element: class,
                    alignment: 1,
                },
            )?;
        }
        Ok(class)
    }

    fn reference(&mut self) -> Result<Reference, Fault> {
        const ORIGINS: [(&str, Origin); 7] = [
            ("trace.packet.header.", Origin::Part(Part::PacketHeader)),
            ("stream.packet.context.", Origin::Part(Part::PacketContext)),
            ("stream.event.header.", Origin::Part(Part::EventHeader)),
            ("stream.event.context.", Origin::Part(Part::CommonContext)),
            ("event.context.", Origin::Part(Part::SpecificContext)),
            ("event.fields.", Origin::Part(Part::Payload)),
            ("env.", Origin::Environment),
        ];
        let at = self.at();
        let path = self.path()?;
        let absolute = ORIGINS
            .into_iter()
            .find_map(|(prefix, origin)| Some((origin, path.strip_prefix(prefix)?)));
        let (origin, rest) = absolute.unwrap_or((Origin::Outward, &path));
        let steps = rest.split('.').map(str::to_owned).collect();
        Ok(Reference { at, origin, steps })
    }

    /// The name of a structure, variant or enumeration, where it has one.
    fn optional_name(&mut self) -> Result<Option<Cow<'text, str>>, Fault> {
        match self.token.kind {
            Kind::Word => self.name("a name").map(Some),
            _ => Ok(None),
        }
    }

    /// What follows `struct`.
    fn structure(&mut self, at: usize) -> Result<Rc<Draft>, Fault> {
        let name = self.optional_name()?.map(|name| format!("struct {name}"));
        if !self.sees("{") {
            let name =
                name.ok_or_else(|| self.expected("the name or the members of a structure"))?;
            return self.look_up(at, &name);
        }
        let mut members = Vec::new();
        self.members(|name, class| members.push(DraftMember { name, class }))?;
        let mut least = 1;
        if self.sees_word("align") {
            self.take()?;
            self.expect("(")?;
            let value = self.value()?;
            least = match value.unsigned("align")? {
                0 => 1,
                bits => alignment(value.at, bits.into())?,
            };
            self.expect(")")?;
        }
        let members = members.into();
        let class = Draft::new(
            at,
            DraftClass::Structure {
                members,
                alignment: least,
            },
        )?;
        if let Some(name) = name {
            self.declare(at, name, Rc::clone(&class));
        }
        Ok(class)
    }

    /// What follows `variant`.
    fn variant(&mut self, at: usize) -> Result<Rc<Draft>, Fault> {
        let name = self.optional_name()?.map(|name| format!("variant {name}"));
        let mut selector = None;
        if self.takes("<")? {
            selector = Some(self.reference()?);
            self.expect(">")?;
        }
        if self.sees("{") {
            let mut options = Vec::new();
            self.members(|name, class| {
                options.push(DraftOption {
                    name,
                    ranges: None,
                    class,
                });
            })?;
            let options = options.into();
            let class = Draft::new(at, DraftClass::Variant { selector, options })?;
            if let Some(name) = name {
                self.declare(at, name, Rc::clone(&class));
            }
            return Ok(class);
        }
        let name = name.ok_or_else(|| self.expected("the name or the options of a variant"))?;
        let declared = self.look_up(at, &name)?;
        match selector {
            Some(selector) => Ok(declared.selected_by(at, selector)),
            None => Ok(declared),
        }
    }

    /// `{ type name, name[3]; ... }` with `typealias` and `typedef` between, each field given to `add`.
    fn members(&mut self, mut add: impl FnMut(String, Rc<Draft>)) -> Result<(), Fault> {
        let mut names: Vec<(Cow<'_, str>, usize)> = Vec::new();
        self.scoped(|parser| {
            parser.expect("{")?;
            while !parser.takes("}")? {
                if parser.sees_word("typealias") || parser.sees_word("typedef") {
                    parser.declaration()?;
                    continue;
                }
                let class = parser.type_expression()?;
                loop {
                    let at = parser.at();
                    let name = parser.name("a field's name")?;
                    names.push((name.clone(), at));
                    let class = parser.array_suffixes(Rc::clone(&class))?;
                    add(name.into_owned(), class);
                    if !parser.takes(",")? {
                        break;
                    }
                }
                parser.expect(";")?;
            }
            Ok(())
        })?;
        names.sort_unstable();
        let is_again = |pair: &&[(Cow<'_, str>, usize)]| pair[0].0 == pair[1].0;
        match names.windows(2).find(is_again) {
            None => Ok(()),
            Some(pair) => {
                let (name, at) = &pair[1];
                let name = super::excerpt(name.as_bytes());
                Err(Fault::new(*at, format!("there is a second field {name}")))
            }
        }
    }

    /// What follows `enum`.
    fn enumeration(&mut self, at: usize) -> Result<Rc<Draft>, Fault> {
        let name = self.optional_name()?.map(|name| format!("enum {name}"));
        let container = match self.takes(":")? {
            true => Some(self.type_expression()?),
            false if self.sees("{") => Some(self.look_up(at, "int")?),
            false => None,
        };
        let Some(container) = container else {
            let name =
                name.ok_or_else(|| self.expected("the name or the labels of an enumeration"))?;
            return self.look_up(at, &name);
        };
        let DraftClass::Integer(integer) = &container.class else {
            return Err(not_an_integer(at));
        };
        if integer.meaning != IntegerMeaning::Number {
            return Err(not_an_integer(at));
        }
        let mut integer = integer.clone();
        integer.meaning = IntegerMeaning::Enumeration(self.labels()?);
        let class = Draft::new(at, DraftClass::Integer(integer))?;
        if let Some(name) = name {
            self.declare(at, name, Rc::clone(&class));
        }
        Ok(class)
    }

    /// `{ label, label = value, label = first ... last, }`
    fn labels(&mut self) -> Result<Vec<EnumerationLabel>, Fault> {
        let mut labels: Vec<EnumerationLabel> = Vec::new();
        let mut next = 0;
        self.expect("{")?;
        while !self.takes("}")? {
            let label = match self.token.kind {
                Kind::Text => {
                    let token = self.take()?;
                    unquote(self.lexer.bytes(token), token.begin)?
                }
                _ => self.name("a label")?,
            }
            .into_owned();
            let (mut first, mut last) = (next, next);
            if self.takes("=")? {
                first = self.label_value()?;
                last = first;
                if self.sees("...") {
                    let at = self.take()?.begin;
                    last = self.label_value()?;
                    if last < first {
                        return Err(Fault::new(
                            at,
                            format!("the range {first} ... {last} ends before it begins"),
                        ));
                    }
                }
            }
            next = last + 1;
            // Several ranges of one label stand beside each other in all that tracers write.
            match labels.last_mut().filter(|before| before.label == label) {
                Some(before) => before.ranges.push((first, last)),
                None => labels.push(EnumerationLabel {
                    label,
                    ranges: vec![(first, last)],
                }),
            }
            if !self.takes(",")? {
                self.expect("}")?;
                break;
            }
        }
        Ok(labels)
    }

    fn label_value(&mut self) -> Result<i128, Fault> {
        let value = self.value()?;
        match value.said {
            Said::Number(number) => Ok(number),
            Said::Text(_) => Err(value.expected("label", "a number")),
        }
    }
}

fn not_an_integer(at: usize) -> Fault {
    Fault::new(at, "expected an integer as the type of an enumeration")
}
