mod check;
mod limits;
mod render;
mod slots;
mod syntax;
mod properties;

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Engine, RenderError, Scope, ScopeConstants, ScopeShape, Shape, Slot, Template, TemplateError, TemplateSpan,
    TextSlot,
};

fn engine(partials: &[(&str, &str)]) -> Arc<Engine> {
    let (engine, errors) = Engine::new(partials.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    assert_eq!(errors, [], "the partials have errors");
    engine
}

fn names() -> ScopeShape {
    let repo = Shape::object([("name", Shape::Text), ("stars", Shape::Number)]);
    ScopeShape::new()
        .with_name("env", Shape::object([("TOKEN", Shape::Text), ("API", Shape::Text)]))
        .with_name("server", Shape::object([("name", Shape::Text), ("version", Shape::Text)]))
        .with_name(
            "steps",
            Shape::object([(
                "a",
                Shape::object([("stdout", Shape::Text), ("exit", Shape::Number), ("json", Shape::Any)]),
            )]),
        )
        .with_arguments([
            ("diff", Shape::Text),
            ("limit", Shape::Number),
            ("flag", Shape::Boolean),
            ("tags", Shape::list(Shape::Text)),
            ("repos", Shape::list(repo.clone())),
            ("repo", repo),
            ("labels", Shape::Map(Box::new(Shape::Text))),
        ])
}

fn fixed() -> Arc<ScopeConstants> {
    Arc::new(ScopeConstants {
        env: json!({ "TOKEN": "t0k", "API": "https://api.example" }),
        server: json!({ "name": "demo", "version": "1" }),
        fixed_time: None,
    })
}

fn scope(arguments: Value) -> Scope {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let mut scope = Scope::new(arguments, fixed());
    scope.set_step("a", json!({ "stdout": "out", "exit": 0, "json": { "items": [{ "n": 1 }, { "n": 2 }], "x": "y" } }));
    scope
}

fn compile<S: Slot>(text: &str) -> Template<S> {
    compile_with(&[], text)
}

fn compile_with<S: Slot>(partials: &[(&str, &str)], text: &str) -> Template<S> {
    Template::compile(&engine(partials), text, &names()).unwrap_or_else(|errors| panic!("{text}: {errors:#?}"))
}

fn render<S: Slot>(text: &str, arguments: Value) -> Result<S::Output, RenderError> {
    compile::<S>(text).render(&scope(arguments))
}

fn render_text(text: &str, arguments: Value) -> String {
    render_text_with(&[], text, arguments)
}

fn render_text_with(partials: &[(&str, &str)], text: &str, arguments: Value) -> String {
    compile_with::<TextSlot>(partials, text)
        .render(&scope(arguments))
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .0
}

/// Every error as `code at "text": message | help`.
fn errors<S: Slot>(text: &str) -> Vec<String> {
    errors_with::<S>(&[], text)
}

fn errors_with<S: Slot>(partials: &[(&str, &str)], text: &str) -> Vec<String> {
    let found = Template::<S>::compile(&engine(partials), text, &names()).err().unwrap_or_default();
    found.iter().map(|error| line(error, text, partials)).collect()
}

fn line(error: &TemplateError, text: &str, partials: &[(&str, &str)]) -> String {
    let span = match &error.span {
        TemplateSpan::Template(range) => format!("{:?}", &text[range.clone()]),
        TemplateSpan::Partial { name, range, used_at } => {
            let (_, partial) = partials.iter().find(|(known, _)| known == name).unwrap();
            format!("{name}:{:?} from {:?}", &partial[range.clone()], &text[used_at.clone()])
        }
    };
    let help = error.help.as_deref().map(|help| format!(" | {help}")).unwrap_or_default();
    format!("{} at {span}: {}{help}", error.code.as_str(), error.message)
}
