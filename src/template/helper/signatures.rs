//! The signatures and documentation of the built-in helpers.

use super::signature::{HelperDoc, HelperForm, ParamKind, ReturnShape, SecretUse, Signature};

/// Every helper, in the order in which documentation shows them.
pub fn helpers() -> &'static [HelperDoc] {
    static DOCS: std::sync::LazyLock<Vec<HelperDoc>> =
        std::sync::LazyLock::new(|| SIGNATURES.iter().map(|signature| signature.doc).collect());
    &DOCS
}

pub(in crate::template) fn find_signature(name: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.doc.name == name)
}

const fn base_signature(
    secrets: SecretUse,
    name: &'static str,
    usage: &'static str,
    description: &'static str,
) -> Signature {
    Signature {
        doc: HelperDoc { name, usage, description },
        form: HelperForm::Inline,
        required: &[],
        optional: &[],
        variadic: None,
        options: &[],
        returns: ReturnShape::Text,
        secrets,
        max_block_params: 0,
    }
}

const fn compare(name: &'static str, usage: &'static str, description: &'static str) -> Signature {
    Signature {
        form: HelperForm::Both,
        required: &[ParamKind::Any, ParamKind::Any],
        returns: ReturnShape::Boolean,
        ..base_signature(SecretUse::Compares, name, usage, description)
    }
}

const fn combine(name: &'static str, usage: &'static str, description: &'static str) -> Signature {
    let variadic = Some(ParamKind::Any);
    Signature { variadic, secrets: SecretUse::Keeps, ..compare(name, usage, description) }
}

const fn text(secrets: SecretUse, name: &'static str, usage: &'static str, description: &'static str) -> Signature {
    Signature { required: &[ParamKind::Text], ..base_signature(secrets, name, usage, description) }
}

/// Whether a text is so.
const fn text_test(name: &'static str, usage: &'static str, description: &'static str) -> Signature {
    Signature {
        required: &[ParamKind::Text, ParamKind::Text],
        returns: ReturnShape::Boolean,
        ..base_signature(SecretUse::Compares, name, usage, description)
    }
}

/// One element of a list, or several.
const fn elements(name: &'static str, usage: &'static str, description: &'static str) -> Signature {
    Signature {
        required: &[ParamKind::List],
        optional: &[ParamKind::Number],
        returns: ReturnShape::Any,
        ..base_signature(SecretUse::Keeps, name, usage, description)
    }
}

const fn numeric(name: &'static str, usage: &'static str, description: &'static str) -> Signature {
    Signature {
        required: &[ParamKind::Number, ParamKind::Number],
        variadic: Some(ParamKind::Number),
        returns: ReturnShape::Number,
        ..base_signature(SecretUse::Alters, name, usage, description)
    }
}

const fn block(name: &'static str, usage: &'static str, description: &'static str) -> Signature {
    Signature {
        form: HelperForm::Block,
        required: &[ParamKind::Any],
        ..base_signature(SecretUse::Keeps, name, usage, description)
    }
}

pub(in crate::template) static SIGNATURES: &[Signature] = &[
    Signature {
        options: &[("includeZero", ParamKind::Any)],
        ..block(
            "if",
            "{{#if x}}…{{else if y}}…{{else}}…{{/if}}",
            "Prints the block when `x` is true: not \"\", 0, false, null, [] or {}. `includeZero=true` lets 0 be true",
        )
    },
    Signature {
        options: &[("includeZero", ParamKind::Any)],
        ..block("unless", "{{#unless x}}…{{else}}…{{/unless}}", "Prints the block when `x` is not true")
    },
    Signature {
        required: &[ParamKind::Collection],
        max_block_params: 2,
        ..block(
            "each",
            "{{#each xs as |x index|}}…{{else}}…{{/each}}",
            "Renders the block once for each element of a list or object, as `this`; sets @index, @key, @first and @last",
        )
    },
    Signature {
        max_block_params: 1,
        ..block("with", "{{#with x as |y|}}…{{else}}…{{/with}}", "Prints the block with `x` as `this`, when it is true")
    },
    Signature {
        required: &[ParamKind::Any, ParamKind::Any],
        returns: ReturnShape::Any,
        ..base_signature(
            SecretUse::Compares,
            "lookup",
            "{{lookup object key}}",
            "Gives a field of an object or an element of a list whose name is computed; null where there is none",
        )
    },
    compare("eq", "{{#if (eq a b)}}", "Whether both are the same"),
    compare("ne", "{{#if (ne a b)}}", "Whether both differ"),
    compare("gt", "{{#if (gt a b)}}", "Whether the first is greater"),
    compare("gte", "{{#if (gte a b)}}", "Whether the first is greater or equal"),
    compare("lt", "{{#if (lt a b)}}", "Whether the first is less"),
    compare("lte", "{{#if (lte a b)}}", "Whether the first is less or equal"),
    combine("and", "{{#if (and a b …)}}", "Whether all are true"),
    combine("or", "{{#if (or a b …)}}", "Whether any is true"),
    Signature {
        form: HelperForm::Both,
        required: &[ParamKind::Any],
        returns: ReturnShape::Boolean,
        ..base_signature(SecretUse::Keeps, "not", "{{#if (not a)}}", "Whether it is not true")
    },
    Signature {
        required: &[ParamKind::Measurable],
        returns: ReturnShape::Number,
        ..base_signature(
            SecretUse::Compares,
            "len",
            "{{len xs}}",
            "How many elements a list, fields an object or characters a text has",
        )
    },
    Signature {
        required: &[ParamKind::Any],
        options: &[("indent", ParamKind::Number)],
        ..base_signature(
            SecretUse::Keeps,
            "json",
            "{{json x indent=2}}",
            "The value as JSON, on one line unless `indent` says how far to indent",
        )
    },
    text(SecretUse::Alters, "upper", "{{upper x}}", "The text in upper case"),
    text(SecretUse::Alters, "lower", "{{lower x}}", "The text in lower case"),
    text(SecretUse::Alters, "capitalize", "{{capitalize x}}", "The text with its first letter in upper case"),
    text(SecretUse::Keeps, "trim", "{{trim x}}", "The text without white space at its ends"),
    Signature {
        required: &[ParamKind::List],
        optional: &[ParamKind::Text],
        ..base_signature(
            SecretUse::Keeps,
            "join",
            "{{join xs \", \"}}",
            "The elements of a list in one text, with a comma and a space or what is given between them",
        )
    },
    Signature {
        required: &[ParamKind::Text, ParamKind::Text],
        returns: ReturnShape::TextList,
        ..base_signature(
            SecretUse::Alters,
            "split",
            "{{#each (split x \",\")}}",
            "The parts of a text between separators, as a list",
        )
    },
    Signature {
        required: &[ParamKind::Text, ParamKind::Text, ParamKind::Text],
        ..base_signature(
            SecretUse::Alters,
            "replace",
            "{{replace x \"from\" \"to\"}}",
            "The text with every occurrence of one text replaced by another",
        )
    },
    Signature {
        required: &[ParamKind::Any, ParamKind::Any],
        variadic: Some(ParamKind::Any),
        returns: ReturnShape::Any,
        ..base_signature(
            SecretUse::Keeps,
            "default",
            "{{default x \"none\"}}",
            "The first argument that is not null or empty text",
        )
    },
    Signature {
        required: &[ParamKind::Text, ParamKind::Text],
        ..base_signature(
            SecretUse::Alters,
            "indent",
            "{{indent x 4}}",
            "The text with every line that is not empty moved in by that many spaces, or by that text",
        )
    },
    Signature {
        required: &[ParamKind::Text, ParamKind::Number],
        options: &[("end", ParamKind::Text)],
        ..base_signature(
            SecretUse::Alters,
            "truncate",
            "{{truncate x 80 end=\"…\"}}",
            "The text, cut to so many characters, the `end` included",
        )
    },
    Signature {
        required: &[ParamKind::Text, ParamKind::Number],
        options: &[("left", ParamKind::Any)],
        ..base_signature(
            SecretUse::Keeps,
            "pad",
            "{{pad x 30 left=true}}",
            "The text with spaces after it up to so many characters, or before it with `left`",
        )
    },
    Signature {
        returns: ReturnShape::TextList,
        ..text(SecretUse::Alters, "lines", "{{#each (lines x)}}", "The lines of a text, as a list")
    },
    elements("first", "{{first xs}} {{first xs 3}}", "The first element of a list, or a list of the first few"),
    elements("last", "{{last xs}} {{last xs 3}}", "The last element of a list, or a list of the last few"),
    Signature {
        optional: &[ParamKind::Text],
        options: &[("tz", ParamKind::Text)],
        ..base_signature(
            SecretUse::Alters,
            "now",
            "{{now}} {{now \"%Y-%m-%d\" tz=\"Europe/Berlin\"}}",
            "The time, in UTC or a time zone, as RFC 3339 or in a format of strftime",
        )
    },
    Signature {
        required: &[ParamKind::Text, ParamKind::Text],
        options: &[("tz", ParamKind::Text)],
        ..base_signature(
            SecretUse::Alters,
            "date",
            "{{date x \"%d.%m.%Y\" tz=\"Europe/Berlin\"}}",
            "A date (RFC 3339, or seconds since 1970) in a format of strftime, and in a time zone",
        )
    },
    Signature {
        required: &[ParamKind::Measurable, ParamKind::Any],
        returns: ReturnShape::Boolean,
        ..base_signature(
            SecretUse::Compares,
            "contains",
            "{{#if (contains xs x)}}",
            "Whether a text has a part, a list an element, or an object a field",
        )
    },
    text_test("startsWith", "{{#if (startsWith x \"v\")}}", "Whether a text begins with another"),
    text_test("endsWith", "{{#if (endsWith x \".md\")}}", "Whether a text ends with another"),
    text_test("matches", "{{#if (matches x \"^v[0-9]+$\")}}", "Whether a regular expression is found in a text"),
    Signature {
        required: &[ParamKind::Measurable, ParamKind::Number],
        optional: &[ParamKind::Number],
        returns: ReturnShape::Any,
        ..base_signature(
            SecretUse::Alters,
            "slice",
            "{{slice xs 1 3}}",
            "The elements of a list, or the characters of a text, from one position to before another; negative ones count from the end",
        )
    },
    numeric("add", "{{add a b …}}", "The sum; integers stay integers"),
    numeric("sub", "{{sub a b}}", "The difference"),
    numeric("mul", "{{mul a b …}}", "The product"),
    Signature {
        variadic: None,
        ..numeric("div", "{{div a b}}", "The quotient: an integer where there is no remainder")
    },
    Signature { variadic: None, ..numeric("mod", "{{mod a b}}", "The remainder of a division, with the sign of `a`") },
    Signature {
        required: &[ParamKind::Number],
        optional: &[ParamKind::Number],
        returns: ReturnShape::Number,
        ..base_signature(
            SecretUse::Alters,
            "round",
            "{{round x}} {{round x 2}}",
            "The nearest integer, or the number with so many decimals at most",
        )
    },
    Signature {
        required: &[ParamKind::Number],
        options: &[("decimals", ParamKind::Number), ("group", ParamKind::Text)],
        ..base_signature(
            SecretUse::Alters,
            "number",
            "{{number x decimals=2 group=\",\"}}",
            "The number as text, with so many decimals and a separator between thousands",
        )
    },
    Signature {
        required: &[ParamKind::List],
        optional: &[ParamKind::Text],
        returns: ReturnShape::Any,
        ..base_signature(
            SecretUse::Compares,
            "sort",
            "{{sort xs}} {{sort xs \"name\"}}",
            "The list, sorted by its elements or by a field of them",
        )
    },
    Signature {
        required: &[ParamKind::List],
        returns: ReturnShape::Any,
        ..base_signature(SecretUse::Compares, "unique", "{{unique xs}}", "The list without duplicates")
    },
    Signature {
        required: &[ParamKind::List],
        returns: ReturnShape::Any,
        ..base_signature(SecretUse::Keeps, "reverse", "{{reverse xs}}", "The list from its end")
    },
    Signature {
        required: &[ParamKind::Collection],
        returns: ReturnShape::Any,
        ..base_signature(
            SecretUse::Keeps,
            "keys",
            "{{join (keys x)}}",
            "The names of the fields of an object, or the positions of a list",
        )
    },
    Signature {
        required: &[ParamKind::Collection],
        returns: ReturnShape::Any,
        ..base_signature(
            SecretUse::Keeps,
            "values",
            "{{join (values x)}}",
            "The values of the fields of an object, as a list",
        )
    },
    Signature {
        required: &[ParamKind::Any],
        variadic: Some(ParamKind::Any),
        returns: ReturnShape::Any,
        ..base_signature(SecretUse::Keeps, "concat", "{{concat a b …}}", "One list of several, or one text of several")
    },
    Signature {
        required: &[ParamKind::Text],
        optional: &[ParamKind::Text],
        ..base_signature(
            SecretUse::Alters,
            "basename",
            "{{basename x}} {{basename x \".md\"}}",
            "The last segment of a path, without that ending where one is given",
        )
    },
    text(SecretUse::Alters, "dirname", "{{dirname x}}", "A path without its last segment, `.` where it has one alone"),
    text(SecretUse::Alters, "base64", "{{base64 x}}", "The text in base64"),
    text(
        SecretUse::Alters,
        "urlencode",
        "{{urlencode x}}",
        "The text percent-encoded for a part of a URL, `/` included",
    ),
    text(SecretUse::Alters, "hash", "{{hash x}}", "The SHA-256 of the text, in hexadecimal digits"),
    Signature {
        required: &[ParamKind::Number],
        ..base_signature(
            SecretUse::Alters,
            "uuid",
            "{{uuid 4}} {{uuid 7}}",
            "A new UUID: version 4 is random, version 7 sorts by time",
        )
    },
    text(
        SecretUse::Keeps,
        "path",
        "{{path x}}",
        "A path for a URL, in which each segment is percent-encoded and `/` stays",
    ),
];
