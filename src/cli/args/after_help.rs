//! The texts of `--help` around the arguments: what each command is for, with examples.

pub(super) const ABOUT: &str = "\
folio serves prompts, resources and tools over MCP, the Model Context Protocol, from a folder of YAML. \
Clients see every edit as you save it.

A whole server is seven lines of `folio.yaml`:

    folio: 1
    server: { name: hello }
    prompts:
      greet:
        description: Greet someone
        arguments: { who: { required: true } }
        text: \"Say hello to {{who}}.\"

Try it:

    folio init hello                      write a small server that runs
    folio check hello                     report every problem, and where
    folio get greet who=Ada -f hello      get what a client would get

Then add it to a client: the command is `folio serve` with the absolute path of the folder.";

pub(super) const EXIT_STATUS_HELP: &str = "\
Exit status: 0 when all went well, 1 when the manifest has errors or a call failed, \
2 for a wrong command line, a path that cannot be read, or a server that cannot start.";

pub(super) const SERVE_HELP: &str = "\
Examples:
  folio serve                             serve the current folder, on stdin and stdout
  folio serve ~/desk                      the same for another folder, as a client would start it
  folio serve ~/desk --http               listen on http://127.0.0.1:8080/mcp
  folio serve ~/desk --http=:0            listen on a free port; stderr says which";

pub(super) const DEV_HELP: &str = "\
Examples:
  folio dev                               on a terminal: serve HTTP, and say where the page is
  folio dev ~/desk --open                 serve as a client would start it, and open the page in the browser
  folio dev ~/desk --http --log dev.log   listen on http://127.0.0.1:8080/mcp, and keep the log in a file too

Clients get what `folio serve` gives them. If the manifest has errors, the last good version stays live; \
before the first good one, the errors are served as the resource folio://problems.";

pub(super) const CHECK_HELP: &str = "\
Examples:
  folio check                             check the current folder
  folio check ~/desk --strict             treat warnings as errors, as in CI
  folio check --format lines              path:line:column: error[code]: message
  folio check desk packs/*                check several folders
  folio check --fix                       apply the fixes that are certain; --diff shows them
  folio check --clients all               also warn of what clients refuse, cut or do not show
  folio check - --stdin-path folio.yaml   check a text on stdin in the place of a file, as editors do

The comment `# folio: allow CODE` silences a warning: on its line, on the line after it, or in the whole file \
if it stands above everything else.

Exit status: 0 without errors, 1 with errors (or warnings, with --strict), 2 when a path cannot be read.";

pub(super) const EXPLAIN_HELP: &str = "\
Examples:
  folio explain                           the codes of all diagnostics
  folio explain unknown-variable          what it means, and how to write it instead";

pub(super) const LIST_HELP: &str = "\
Examples:
  folio list                              what the current folder offers to clients
  folio list ~/desk --json                the same, as clients receive it";

pub(super) const GET_HELP: &str = "\
Examples:
  folio get greet who=Ada
  git diff --staged | folio get commit-message diff=@- -f ~/desk
  folio get greet who=Ada --watch         render it again on each save

A value `@FILE` is read from the file, `@-` from stdin; write `@@` for a value that begins with @.

On a terminal, missing arguments are asked for, with completion on Tab.

Exit status: 0 when all went well, and after ^C with --watch; 1 when the manifest has errors or the request is refused; \
2 for a wrong command line, such as a missing argument.";

pub(super) const CALL_HELP: &str = "\
Examples:
  folio call search pattern=TODO ignoreCase=true
  folio call label id=7 'labels=[\"bug\",\"ui\"]' -f ~/desk
  folio call deploy --args deploy.yaml --answer confirm.sure=true
                                          arguments from a file, and an answer to the question that the tool asks

Values are JSON where the tool's schema asks for a number, boolean, list or object, and text where it asks for text.
A value `@FILE` is read from the file, `@-` from stdin; write `@@` for a value that begins with @.

On a terminal, missing arguments are asked for, questions of the tool are answered, and progress is shown. In a script, \
--answer answers questions, and without any --answer those that are `optional` are skipped.

Exit status: 0 when all went well, 1 when the manifest has errors, the tool fails, or a question has no answer, 2 for a \
wrong command line, such as a missing argument or an --answer that nothing asks for.";

pub(super) const READ_HELP: &str = "\
Examples:
  folio read docs://policy
  folio read src://src/main.rs -f ~/desk
  folio read 'docs://{page}' page=policy  a template, with its variables

On a terminal, missing variables are asked for, with completion on Tab.

Exit status: 0 when all went well, 1 when the manifest has errors or the resource cannot be read, 2 for a wrong command \
line, such as a missing variable.";

pub(super) const TEST_HELP: &str = "\
Examples:
  folio test                              run the tests of the current folder
  folio test ~/desk triage                those whose names contain `triage`
  folio test . 'search *' --update        tests whose names begin with `search `, recording their snapshots
  folio test . issues --record            run them for real once; write their mocks
  folio test --coverage                   and print what none of them reaches
  folio test --watch                      again after each edit, until ^C
  folio test --format junit > tests.xml   for CI

Exit status: 0 when all tests pass (or the watch is ended), 1 when one fails, 2 when none can be run: a manifest with errors, \
a wrong command line, a path that cannot be read, or a filter that no test matches.";

pub(super) const SCHEMA_HELP: &str = "\
Example:
  folio schema > folio.schema.json        and begin folio.yaml with
  # yaml-language-server: $schema=./folio.schema.json";

pub(super) const INIT_HELP: &str = "\
Examples:
  folio init                              in the current folder
  folio init hello                        in a new folder
  folio init desk --template docs         a folder of documents; others are prompts, api, ops and team
  folio init petstore --openapi petstore.yaml
                                          tools from a description of an HTTP API
  folio init petstore --openapi https://api.example/openapi.json --only pets 'store/*'
  folio init petstore --openapi petstore.yaml --update
                                          again, and what you changed stays

Existing files are never overwritten, except by --update.";

pub(super) const NEW_HELP: &str = "\
Examples:
  folio new                               on a terminal: ask what to add
  folio new prompt triage                 add a prompt to the current folder
  folio new tool search -f ~/desk --description 'Search the notes'
  folio new tool weather --action http    a tool that sends a request
  folio new prompt triage -f prompts.yaml to a file that the manifest includes

Everything else in the file stays as it is. Nothing is written if the manifest would have errors.";

pub(super) const COMPLETIONS_HELP: &str = "\
The names of prompts, resources, tools and their arguments are those of the current folder, or of `-f`.

Examples:
  folio completions bash > ~/.local/share/bash-completion/completions/folio
  folio completions zsh > ~/.zfunc/_folio           where ~/.zfunc is in fpath
  folio completions fish > ~/.config/fish/completions/folio.fish";

pub(super) const CANDIDATES_HELP: &str = "\
Example:
  folio candidates -- 'folio get '        the prompts of the current folder";
