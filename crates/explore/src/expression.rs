//! Expressions over parameters: constraints, and what stands between `{{` and `}}` in templates.
//!
//! Numbers, words in quotes, names; `+ - * / %`, comparisons, `&& || !`, parentheses. No functions, no state: not
//! a scripting language. Depth and length are bounded, so that any text is safe.

use crate::value::Value;

/// Nesting beyond this is refused.
const DEEPEST: usize = 64;

/// More operators than this are refused: chains of them nest to the left.
const MOST_OPERATORS: usize = 1000;

/// What kind of value an expression has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// True or false, which count as 1 and 0 where a number is expected.
    Truth,
    /// A word.
    Text,
}

impl Kind {
    /// That of a value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Boolean(_) => Self::Truth,
            Value::Integer(_) | Value::Float(_) => Self::Number,
            Value::Text(_) => Self::Text,
        }
    }
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Constant(Value),
    Name(String),
    Not(Box<Node>),
    Negative(Box<Node>),
    Two(Operator, Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Operators by how strongly they bind, the weakest first; longer ones before their beginnings.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("/", Operator::Divide),
        ("%", Operator::Remainder),
    ],
];

/// The level of comparisons.
const COMPARISONS: usize = 2;

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong with the text, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser {
            rest: text,
            operators: 0,
        };
        let node = parser.level(0, 0)?;
        match parser.rest.trim_start() {
            "" => Ok(Self(node)),
            rest => Err(format!("`{}` is not expected there", first_word(rest))),
        }
    }

    /// The names it refers to, each as often as it stands there.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        collect_names(&self.0, &mut names);
        names
    }

    /// Every name that is compared with a constant for being equal or not, with that constant.
    pub fn compared(&self) -> Vec<(&str, &Value)> {
        let mut compared = Vec::new();
        collect_compared(&self.0, &mut compared);
        compared
    }

    /// The kind of its value, names having the kinds that `kind_of` gives.
    ///
    /// # Errors
    /// What can never be computed, in words.
    pub fn kind(&self, kind_of: &dyn Fn(&str) -> Option<Kind>) -> Result<Kind, String> {
        kind(&self.0, kind_of)
    }

    /// Its value, names having the values that `value_of` gives.
    ///
    /// # Errors
    /// What cannot be computed, in words.
    pub fn value(&self, value_of: &dyn Fn(&str) -> Option<Value>) -> Result<Value, String> {
        evaluate(&self.0, value_of)
    }
}

struct Parser<'text> {
    rest: &'text str,
    operators: usize,
}

impl Parser<'_> {
    /// Operators of one level from left to right, stronger ones first.
    fn level(&mut self, level: usize, depth: usize) -> Result<Node, String> {
        if level == LEVELS.len() {
            return self.single(depth);
        }
        let mut left = self.level(level + 1, depth)?;
        let mut is_compared = false;
        while let Some(operator) = self.operator(LEVELS[level]) {
            if level == COMPARISONS && is_compared {
                let what = "comparisons cannot be chained; write `1 < n && n < 3` for `1 < n < 3`";
                return Err(what.to_owned());
            }
            is_compared = true;
            self.operators += 1;
            if self.operators > MOST_OPERATORS {
                return Err(format!("it has more than {MOST_OPERATORS} operators"));
            }
            let right = self.level(level + 1, depth)?;
            left = Node::Two(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn operator(&mut self, operators: &[(&str, Operator)]) -> Option<Operator> {
        self.rest = self.rest.trim_start();
        operators.iter().find_map(|(sign, operator)| {
            self.rest = self.rest.strip_prefix(sign)?;
            Some(*operator)
        })
    }

    fn single(&mut self, depth: usize) -> Result<Node, String> {
        if depth == DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        self.rest = self.rest.trim_start();
        let Some(first) = self.rest.chars().next() else {
            return Err("it ends where a value is expected".to_owned());
        };
        let behind = &self.rest[first.len_utf8()..];
        match first {
            '!' => {
                self.rest = behind;
                Ok(Node::Not(Box::new(self.single(depth + 1)?)))
            }
            '-' => {
                self.rest = behind;
                Ok(Node::Negative(Box::new(self.single(depth + 1)?)))
            }
            '(' => {
                self.rest = behind;
                let inner = self.level(0, depth + 1)?;
                let closed = self.rest.trim_start().strip_prefix(')');
                self.rest = closed.ok_or("a `)` is missing")?;
                Ok(inner)
            }
            '\'' | '"' => {
                let (word, rest) = (behind.split_once(first)).ok_or("a quote is not closed")?;
                self.rest = rest;
                Ok(Node::Constant(Value::Text(word.to_owned())))
            }
            '0'..='9' | '.' => {
                let mut last = ' ';
                let is_part = |letter: char| {
                    let is_sign = matches!(letter, '+' | '-') && matches!(last, 'e' | 'E');
                    last = letter;
                    letter.is_ascii_alphanumeric() || letter == '.' || is_sign
                };
                let word = self.take(is_part);
                let number = match word.parse::<i64>() {
                    Ok(whole) => Some(Value::Integer(whole)),
                    Err(_) => (word.parse::<f64>().ok())
                        .filter(|number| number.is_finite())
                        .map(Value::Float),
                };
                number
                    .map(Node::Constant)
                    .ok_or_else(|| format!("`{word}` is no number"))
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let word = self.take(|letter| letter.is_ascii_alphanumeric() || letter == '_');
                Ok(match word {
                    "true" => Node::Constant(Value::Boolean(true)),
                    "false" => Node::Constant(Value::Boolean(false)),
                    _ => Node::Name(word.to_owned()),
                })
            }
            _ => Err(format!(
                "`{}` stands where a value is expected",
                first_word(self.rest)
            )),
        }
    }
}

impl<'text> Parser<'text> {
    fn take(&mut self, mut is_part: impl FnMut(char) -> bool) -> &'text str {
        let end = self.rest.find(|letter| !is_part(letter));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

fn collect_names<'node>(node: &'node Node, names: &mut Vec<&'node str>) {
    match node {
        Node::Constant(_) => {}
        Node::Name(name) => names.push(name),
        Node::Not(inner) | Node::Negative(inner) => collect_names(inner, names),
        Node::Two(_, left, right) => {
            collect_names(left, names);
            collect_names(right, names);
        }
    }
}

fn collect_compared<'node>(node: &'node Node, compared: &mut Vec<(&'node str, &'node Value)>) {
    match node {
        Node::Constant(_) | Node::Name(_) => {}
        Node::Not(inner) | Node::Negative(inner) => collect_compared(inner, compared),
        Node::Two(operator, left, right) => {
            if matches!(operator, Operator::Equal | Operator::Unequal)
                && let (Node::Name(name), Node::Constant(value))
                | (Node::Constant(value), Node::Name(name)) = (&**left, &**right)
            {
                compared.push((name, value));
            }
            collect_compared(left, compared);
            collect_compared(right, compared);
        }
    }
}

fn kind(node: &Node, kind_of: &dyn Fn(&str) -> Option<Kind>) -> Result<Kind, String> {
    let named = |node: &Node| match node {
        Node::Constant(value) => format!("`{value}`"),
        Node::Name(name) => format!("`{name}`"),
        _ => "a part of it".to_owned(),
    };
    let number = |node: &Node| match kind(node, kind_of)? {
        Kind::Text => Err(format!("{} is no number", named(node))),
        _ => Ok(()),
    };
    let truth = |node: &Node| match kind(node, kind_of)? {
        Kind::Truth => Ok(()),
        _ => Err(format!("{} is neither true nor false", named(node))),
    };
    match node {
        Node::Constant(value) => Ok(Kind::of(value)),
        Node::Name(name) => kind_of(name).ok_or_else(|| format!("`{name}` has no value")),
        Node::Not(inner) => truth(inner).map(|()| Kind::Truth),
        Node::Negative(inner) => number(inner).map(|()| Kind::Number),
        Node::Two(Operator::And | Operator::Or, left, right) => {
            truth(left).and_then(|()| truth(right))?;
            Ok(Kind::Truth)
        }
        Node::Two(Operator::Equal | Operator::Unequal, left, right) => {
            let is_word = |node: &Node| Ok::<_, String>(matches!(kind(node, kind_of)?, Kind::Text));
            if is_word(left)? != is_word(right)? {
                let (left, right) = (named(left), named(right));
                return Err(format!(
                    "{left} cannot be compared with {right}: one is a word, the other none"
                ));
            }
            Ok(Kind::Truth)
        }
        Node::Two(operator, left, right) => {
            number(left).and_then(|()| number(right))?;
            let is_arithmetic = matches!(
                operator,
                Operator::Add
                    | Operator::Subtract
                    | Operator::Multiply
                    | Operator::Divide
                    | Operator::Remainder
            );
            Ok(if is_arithmetic {
                Kind::Number
            } else {
                Kind::Truth
            })
        }
    }
}

fn evaluate(node: &Node, value_of: &dyn Fn(&str) -> Option<Value>) -> Result<Value, String> {
    Ok(match node {
        Node::Constant(value) => value.clone(),
        Node::Name(name) => value_of(name).ok_or_else(|| format!("`{name}` has no value"))?,
        Node::Not(inner) => Value::Boolean(!truth(&evaluate(inner, value_of)?)?),
        Node::Negative(inner) => match evaluate(inner, value_of)? {
            Value::Integer(whole) => Value::Integer(whole.checked_neg().ok_or("it is too large")?),
            other => Value::Float(-number(&other)?),
        },
        Node::Two(operator @ (Operator::And | Operator::Or), left, right) => {
            let left = truth(&evaluate(left, value_of)?)?;
            // What decides already is not asked further, so that one side may guard the other.
            match left == (*operator == Operator::Or) {
                true => Value::Boolean(left),
                false => Value::Boolean(truth(&evaluate(right, value_of)?)?),
            }
        }
        Node::Two(operator, left, right) => two(
            *operator,
            &evaluate(left, value_of)?,
            &evaluate(right, value_of)?,
        )?,
    })
}

fn two(operator: Operator, left: &Value, right: &Value) -> Result<Value, String> {
    let compared = |is: fn(f64, f64) -> bool| -> Result<Value, String> {
        Ok(Value::Boolean(is(number(left)?, number(right)?)))
    };
    match operator {
        Operator::Equal => Ok(Value::Boolean(left.is_same(right))),
        Operator::Unequal => Ok(Value::Boolean(!left.is_same(right))),
        Operator::Less => compared(|left, right| left < right),
        Operator::LessOrEqual => compared(|left, right| left <= right),
        Operator::Greater => compared(|left, right| left > right),
        Operator::GreaterOrEqual => compared(|left, right| left >= right),
        _ => arithmetic(operator, left, right),
    }
}

/// Whole numbers stay whole; a division that does not come out even gives a fraction.
fn arithmetic(operator: Operator, left: &Value, right: &Value) -> Result<Value, String> {
    if matches!(operator, Operator::Divide | Operator::Remainder) && number(right)? == 0.0 {
        return Err("it divides by 0".to_owned());
    }
    if let (Value::Integer(left), Value::Integer(right)) = (left, right) {
        let whole = match operator {
            Operator::Add => left.checked_add(*right),
            Operator::Subtract => left.checked_sub(*right),
            Operator::Multiply => left.checked_mul(*right),
            Operator::Remainder => left.checked_rem(*right),
            _ => left
                .checked_rem(*right)
                .filter(|rest| *rest == 0)
                .and_then(|_| left.checked_div(*right)),
        };
        if let Some(whole) = whole {
            return Ok(Value::Integer(whole));
        }
    }
    let (left, right) = (number(left)?, number(right)?);
    let result = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Remainder => left % right,
        _ => left / right,
    };
    match result.is_finite() {
        true => Ok(Value::Float(result)),
        false => Err("the result is no finite number".to_owned()),
    }
}

fn number(value: &Value) -> Result<f64, String> {
    (value.number()).ok_or_else(|| format!("`{value}` is no number"))
}

fn truth(value: &Value) -> Result<bool, String> {
    match value {
        Value::Boolean(truth) => Ok(*truth),
        other => Err(format!("`{other}` is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let value_of = |name: &str| match name {
            "threads" => Some(Value::Integer(3)),
            "ratio" => Some(Value::Float(0.5)),
            "mode" => Some(Value::Text("fast".to_owned())),
            "sync" => Some(Value::Boolean(true)),
            _ => None,
        };
        let value = Expression::parse(text).and_then(|parsed| parsed.value(&value_of));
        let shown = value.map_or_else(|error| format!("error: {error}"), |value| value.to_string());
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn expressions_have_the_values_that_one_expects() {
        check("1 + 2 * threads", "7");
        check("(1+2)*threads - -1", "10");
        check("7 / 2", "3.5");
        check("8 / 2", "4");
        check("7 % 4 == 3 && threads <= 3", "true");
        check("mode == 'fast' || nothing > 1", "true");
        check("mode != \"fast\"", "false");
        check("!sync", "false");
        check("ratio * 4 == 2", "true");
        check("8 * 1024 * 1024", "8388608");
        check("1e3", "1000");
        check("1e-3 * 1E+3", "1");
    }

    #[test]
    fn what_cannot_be_computed_is_told() {
        check("", "error: it ends where a value is expected");
        check("1 +", "error: it ends where a value is expected");
        check("(1", "error: a `)` is missing");
        check("1 2", "error: `2` is not expected there");
        check("'x", "error: a quote is not closed");
        check("1x", "error: `1x` is no number");
        check("nothing", "error: `nothing` has no value");
        check("1 / 0", "error: it divides by 0");
        let chained =
            "error: comparisons cannot be chained; write `1 < n && n < 3` for `1 < n < 3`";
        check("1 < threads < 3", chained);
        check("mode + 1", "error: `fast` is no number");
        check("threads && sync", "error: `3` is neither true nor false");
        check("9223372036854775807 + 1", "9223372036854776000");
        check(&"(".repeat(1000), "error: it is nested too deeply");
        check(&"!".repeat(100_000), "error: it is nested too deeply");
        let long = "error: it has more than 1000 operators";
        check(&("1".to_owned() + &"+1".repeat(200_000)), long);
        check(&("1".to_owned() + &"+1".repeat(1000)), "1001");
    }
}
