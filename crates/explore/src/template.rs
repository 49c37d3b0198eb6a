//! Texts with `{{ expression }}` in them: command lines, environments, configuration files.
//!
//! The rest of a text stands for itself, single braces as well.

use crate::expression::Expression;
use crate::value::Value;

/// A text to be filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Filled(Expression),
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("{{") {
            let end = end_of(behind).ok_or("a `{{` is not closed by `}}`")?;
            let (inside, after) = (&behind[..end], &behind[end + 2..]);
            let expression = Expression::parse(inside)
                .map_err(|error| format!("`{{{{{inside}}}}}` cannot be read: {error}"))?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Filled(expression));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        parts.retain(|part| *part != Part::Text(String::new()));
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }

    /// What it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names it refers to.
    pub fn names(&self) -> Vec<&str> {
        let filled = self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Filled(expression) => Some(expression.names()),
        });
        filled.flatten().collect()
    }

    /// The text, names having the values that `value_of` gives.
    ///
    /// # Errors
    /// What cannot be computed, in words.
    pub fn fill(&self, value_of: &dyn Fn(&str) -> Option<Value>) -> Result<String, String> {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Filled(expression) => Ok(expression.value(value_of)?.to_string()),
        });
        parts.collect()
    }
}

/// Where the first `}}` outside of quotes is; or the first at all, where a quote is not closed.
fn end_of(text: &str) -> Option<usize> {
    let mut quote = None;
    let outside = text.char_indices().find(|(place, letter)| {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(*letter),
            (Some(open), letter) if open == *letter => quote = None,
            (None, '}') => return text[*place..].starts_with("}}"),
            _ => {}
        }
        false
    });
    outside.map(|(place, _)| place).or_else(|| text.find("}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_in() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let value_of = |name: &str| (name == "n").then_some(Value::Integer(4));
            let filled = Template::parse(text).and_then(|parsed| parsed.fill(&value_of));
            let filled = filled.as_deref().map_err(String::as_str);
            assert_eq!(filled, expected, "{text}");
        };
        check("", Ok(""));
        check("no {braces} ${here}", Ok("no {braces} ${here}"));
        check("-t {{n}} -c {{ n * 1024 }}k", Ok("-t 4 -c 4096k"));
        check("{{'{{'}}", Ok("{{"));
        check("{{'}}'}}!", Ok("}}!"));
        check("{{n}} isn't {{n}}", Ok("4 isn't 4"));
        check(
            "{{'n}} {{n}}",
            Err("`{{'n}}` cannot be read: a quote is not closed"),
        );
        check("{{n", Err("a `{{` is not closed by `}}`"));
        check("{{m}}", Err("`m` has no value"));
        check(
            "{{n +}}",
            Err("`{{n +}}` cannot be read: it ends where a value is expected"),
        );
    }
}
