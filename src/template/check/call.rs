//! Helpers and what they are given.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::Check;
use super::frame::Typed;
use crate::diagnostic::Code;
use crate::template::fault::Altered;
use crate::template::helper::{Form, Gives, Kind, Signature, TABLE, check_format, signature};
use crate::template::shape::{Shape, element, field};
use crate::template::syntax::{Call, Expression, Ident};

impl<'a> Check<'a> {
    /// What an expression gives. Its value is not used yet.
    pub(super) fn expression(&mut self, expression: &'a Expression) -> Typed<'a> {
        match expression {
            Expression::Path(path) => self.path(path),
            Expression::Literal(value, _) => Typed::made(Shape::of(value)),
            Expression::Call(call) => {
                let known = if self.deeper(&call.helper) { Some(self.call(call, Form::Inline)) } else { None };
                self.depth -= 1;
                known.unwrap_or_else(|| Typed::made(Shape::Any))
            }
        }
    }

    /// What an expression gives, when its whole value is used.
    pub(super) fn used(&mut self, expression: &'a Expression) -> Typed<'a> {
        let value = self.expression(expression);
        self.read(&value);
        value
    }

    /// Checks a helper with what it is given; answers what it gives.
    pub(super) fn call(&mut self, call: &'a Call, form: Form) -> Typed<'a> {
        let Some(row) = signature(&call.helper.text) else {
            self.unknown_helper(call, form);
            call.params
                .iter()
                .chain(call.options.iter().map(|(_, value)| value))
                .for_each(|value| _ = self.used(value));
            return Typed::made(Shape::Any);
        };
        self.form(call, row, form);
        if call.helper.text == "lookup" && call.params.len() == 2 {
            return self.lookup(call);
        }
        let given: Vec<Typed<'a>> = call.params.iter().map(|param| self.used(param)).collect();
        self.count(call, row);
        for (place, (param, value)) in call.params.iter().zip(&given).enumerate() {
            if let Some(kind) = row.kind(place) {
                self.kind(&call.helper, (kind, param), value);
            }
        }
        for place in row.alters {
            if let (Some(param), Some(value)) = (call.params.get(*place), given.get(*place)) {
                self.altered(&call.helper, param, value);
            }
        }
        self.options(call, row);
        self.formats(call);
        self.given(row, &given)
    }

    fn unknown_helper(&mut self, call: &Call, form: Form) {
        let name = &call.helper.text;
        let fault = self.fault(&call.helper.span, Code::UnknownHelper, format!("unknown helper `{name}`"));
        let fault = if form == Form::Block && self.knows(name) {
            fault.help(format!("to go through it write `{{{{#each {name}}}}}`, to ask for it `{{{{#if {name}}}}}`"))
        } else {
            fault.did_you_mean(name, TABLE.iter().map(|row| row.doc.name))
        };
        self.report(fault);
    }

    fn form(&mut self, call: &Call, row: &Signature, form: Form) {
        let name = row.doc.name;
        let message = match (row.form, form) {
            (Form::Block, Form::Inline) => format!("`{name}` is a block"),
            (Form::Inline, Form::Block) => format!("`{name}` is not a block"),
            _ => return,
        };
        let fault = self.fault(&call.helper.span, Code::HelperArgument, message);
        self.report(fault.help(format!("write `{}`", row.doc.usage)));
    }

    fn count(&mut self, call: &'a Call, row: &'static Signature) {
        let most = row.required.len() + row.optional.len();
        let span = match call.params.get(most) {
            _ if call.params.len() < row.required.len() => call.helper.span.clone(),
            Some(extra) if row.more.is_none() => extra.span(),
            _ => return,
        };
        let wanted = match (row.required.len(), most, row.more) {
            (least, _, Some(_)) => format!("at least {least}"),
            (least, most, None) if least == most => most.to_string(),
            (least, most, None) => format!("{least} or {most}"),
        };
        let things = if wanted == "1" { "value" } else { "values" };
        let message = format!("`{}` takes {wanted} {things}, and is given {}", row.doc.name, call.params.len());
        let fault = self.fault(&span, Code::HelperArgument, message).help(format!("write `{}`", row.doc.usage));
        self.report(fault);
    }

    fn kind(&mut self, helper: &Ident, (kind, param): (Kind, &Expression), value: &Typed<'a>) {
        if kind.accepts(&value.shape) {
            return;
        }
        let span = param.span();
        let shown = self.site.text.get(span.clone()).unwrap_or_default();
        let message =
            format!("`{}` takes {} here, and `{shown}` is {}", helper.text, kind.words(), value.shape.words());
        let fault = self.fault(&span, Code::HelperArgument, message);
        let fault = match (kind, value.shape.as_ref()) {
            (Kind::Text, Shape::List(_)) => fault.help("`join` makes text of a list, `json` of anything"),
            (Kind::Text, shape) if shape.is_object() => fault.help("`json` makes text of an object"),
            (Kind::List | Kind::Collection, Shape::Text) => fault.help("`lines` and `split` make a list of text"),
            (Kind::Number, Shape::Text) => {
                fault.help("declare it with `type: integer`, or write the number without quotes")
            }
            _ => fault,
        };
        self.report(fault);
    }

    fn options(&mut self, call: &'a Call, row: &'static Signature) {
        for (place, (name, value)) in call.options.iter().enumerate() {
            let given = self.used(value);
            if !row.alters.is_empty() {
                self.altered(&call.helper, value, &given);
            }
            if call.options.iter().take(place).any(|(other, _)| other.text == name.text) {
                self.twice(name);
            }
            match row.named.iter().find(|(known, _)| *known == name.text) {
                Some((_, kind)) => self.kind(name, (*kind, value), &given),
                None => {
                    let message = format!("`{}` takes no `{}=`", row.doc.name, name.text);
                    let fault = self.fault(&name.span, Code::HelperArgument, message);
                    self.report(fault.did_you_mean(&name.text, row.named.iter().map(|(known, _)| *known)));
                }
            }
        }
    }

    pub(super) fn twice(&mut self, name: &Ident) {
        let fault = self.fault(&name.span, Code::Duplicate, format!("`{}` is given twice", name.text));
        self.report(fault);
    }

    /// A format of strftime that stands there literally is tried out.
    fn formats(&mut self, call: &'a Call) {
        let place = match call.helper.text.as_str() {
            "now" => 0,
            "date" => 1,
            _ => return,
        };
        let Some(Expression::Literal(Value::String(format), span)) = call.params.get(place) else { return };
        if !check_format(format) {
            let fault = self.fault(span, Code::HelperArgument, "this is no format of strftime");
            self.report(fault.help("for example `%Y-%m-%d` or `%H:%M`"));
        }
    }

    /// A field by a name that stands there literally is one field; any other reads the whole.
    fn lookup(&mut self, call: &'a Call) -> Typed<'a> {
        let [object, key] = call.params.as_slice() else { return Typed::made(Shape::Any) };
        let object = self.expression(object);
        let Expression::Literal(Value::String(name), _) = key else {
            self.read(&object);
            self.used(key);
            return Typed::made_of(element(&object.shape), &object);
        };
        self.need(&object);
        if !object.shape.is_object() {
            self.read(&object);
            return Typed::made_of(Cow::Owned(Shape::Any), &object);
        }
        let shape = field(&object.shape, name).unwrap_or(Cow::Owned(Shape::Any));
        let mut found = Typed::field_of(shape, &object, name);
        found.made_of.extend(object.given);
        found
    }

    /// Notes of what a helper makes something in which it cannot be recognised.
    fn altered(&mut self, helper: &Ident, param: &Expression, value: &Typed<'a>) {
        let place = self.place(param.span());
        let new =
            value.paths().map(|path| Altered { path: path.clone(), helper: helper.text.clone(), place: place.clone() });
        self.found.altered.extend(new);
    }

    fn given(&self, row: &Signature, given: &[Typed<'a>]) -> Typed<'a> {
        let shape = match (row.doc.name, given) {
            ("first" | "last", [list]) => element(&list.shape),
            ("first" | "last", [list, _]) => list.shape.clone(),
            ("default", [first, rest @ ..]) if rest.iter().all(|other| other.shape == first.shape) => {
                first.shape.clone()
            }
            _ => Cow::Owned(row.gives.shape()),
        };
        // A number or a truth value holds nothing of what it tells of.
        let holds = !matches!(row.gives, Gives::Number | Gives::Boolean);
        let paths = given.iter().flat_map(Typed::paths).filter(|_| holds);
        let made_of = paths.collect::<BTreeSet<_>>().into_iter().cloned().collect();
        Typed { made_of, ..Typed::of(shape, None) }
    }
}
