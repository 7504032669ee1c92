//! One option: `-o, --output <FILE>`, `--color[=WHEN]`, `--level {low,high}`, `-n int`.

/// An option of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOption {
    /// As it is given to the program, the long one where there are several: `--output`.
    pub spelling: String,
    /// The value that it takes.
    pub value: Option<OptionValue>,
    /// Whether it may be given several times.
    pub is_repeated: bool,
    /// Its description, in one line.
    pub about: String,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionValue {
    /// What the program calls it: `FILE`.
    pub name: String,
    /// The only values that it may have; any where there are none.
    pub choices: Vec<String>,
    /// Whether the option can also stand without it.
    pub is_optional: bool,
    /// Whether `=` stands before it.
    pub is_attached: bool,
}

/// Reads the line of an option, which is without what indents it. `None` where it is not an option, or one that takes several
/// values.
pub(super) fn parse_option(spec: &str, about: &str) -> Option<CommandOption> {
    // `--[no-]color` turns something on or off: what is offered is to turn it on.
    let spec = spec.replace("[no-]", "");
    let (mut found, mut is_repeated) = (Vec::new(), false);
    for piece in spec.split(", ").flat_map(|piece| piece.split(" / ")).map(str::trim) {
        if !piece.starts_with('-') {
            return None;
        }
        let end = piece.find([' ', '=', '[', '<', '{', '(']).unwrap_or(piece.len());
        let (spelling, rest) = piece.split_at_checked(end)?;
        is_repeated |= piece.ends_with("...") || piece.ends_with("...]");
        let value = parse_value(rest.trim_end_matches("...").trim())?;
        found.push((spelling.trim_end_matches(EDGE_PUNCTUATION), value));
    }
    found.retain(|(spelling, _)| is_spelling(spelling));
    let value = last_value(&found);
    // Several names of one option, or one that turns off what another turns on.
    let rank = |(spelling, option_value): &&(&str, Option<OptionValue>)| {
        (spelling.starts_with("--"), option_value.is_some() || !spelling.starts_with("--no-"))
    };
    let best = found.iter().map(|one| rank(&one)).max()?;
    let (spelling, _) = found.iter().find(|one| rank(one) == best)?;
    let value = value.map(|value| OptionValue { choices: choices(&value, about), ..value });
    is_repeated |= value.as_ref().is_some_and(|value| is_list_type(&value.name));
    Some(CommandOption { spelling: (*spelling).to_owned(), value, is_repeated, about: about.to_owned() })
}

/// What sentences and brackets leave at the ends of names.
const EDGE_PUNCTUATION: [char; 7] = ['.', ',', ':', ';', '(', ')', ']'];

/// The value that the last of the names takes which takes one.
fn last_value(found: &[(&str, Option<OptionValue>)]) -> Option<OptionValue> {
    found.iter().rev().find_map(|(_, value)| value.clone())
}

/// Whether a text is the name of an option: `-NUM` stands for a number.
fn is_spelling(spelling: &str) -> bool {
    let name = spelling.strip_prefix("--").or_else(|| spelling.strip_prefix('-')).unwrap_or_default();
    let is_number = !spelling.starts_with("--") && name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase());
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && !is_number
}

/// What stands behind the name of an option: the outer `None` for several values.
fn parse_value(rest: &str) -> Option<Option<OptionValue>> {
    let is_attached = rest.starts_with('=') || rest.starts_with("[=");
    let is_optional = rest.starts_with("[=") || (rest.starts_with("[<") && rest.ends_with(">]"));
    let bare = rest.trim_start_matches(['[', '=']).trim_matches([' ', '=']);
    let bare = if is_optional { bare.trim_end_matches(']') } else { bare };
    if bare.is_empty() {
        return Some(None);
    }
    let bare = bare.trim_end_matches("...").trim();
    if bare.contains(' ') {
        return None;
    }
    let name = bare.trim_matches(['<', '>', '[', ']', '{', '}', '(', ')', '.', ',', ':']).to_owned();
    // `<KEY=VALUE|PATH>` names kinds of values, and no values.
    let is_named = bare.starts_with('<') && name.contains(|c: char| c.is_ascii_uppercase());
    let is_set = bare.starts_with('{') || rest.starts_with('[') || (bare.contains('|') && !is_named);
    let choices = if is_set { split_choices(&name) } else { Vec::new() };
    Some(Some(OptionValue { name, choices, is_optional, is_attached }))
}

/// The values between commas or bars, where there are at least two.
fn split_choices(text: &str) -> Vec<String> {
    let word = |word: &str| word.trim().trim_matches(EDGE_PUNCTUATION).to_owned();
    let words: Vec<String> = text.split([',', '|']).map(word).collect();
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '/');
    let is_word = |word: &String| !word.is_empty() && word.chars().all(is_letter) && !word.starts_with('-');
    if words.len() > 1 && words.iter().all(is_word) { words } else { Vec::new() }
}

/// The choices of a value, or those that its description names.
fn choices(value: &OptionValue, about: &str) -> Vec<String> {
    if !value.choices.is_empty() {
        return value.choices.clone();
    }
    let named = ["[possible values: ", "(choices: ", "(one of: "].iter().find_map(|head| about.split_once(head));
    named.map(|(_, rest)| split_choices(rest.split([']', ')']).next().unwrap_or_default())).unwrap_or_default()
}

/// Whether a flag of cobra takes a list.
fn is_list_type(name: &str) -> bool {
    ["strings", "stringArray", "stringSlice", "ints", "intSlice"].contains(&name)
}
