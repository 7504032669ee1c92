mod indirect;
mod launchers;

use super::scan::{ArgRole, ArgvWord, VALUE_MARKER, scan};

/// What of a command holds a value that could become code. `@` stands for a value, `^@` for one that may begin with `-`.
fn value_roles(words: &[&str], fed: bool) -> Vec<ArgRole> {
    let word = |text: &&str| ArgvWord {
        text: text.trim_start_matches('^').replace('@', &VALUE_MARKER.to_string()),
        may_start_with_dash: text.starts_with('^'),
        has_fixed_values: false,
    };
    let found = scan(words.iter().map(word).collect(), fed);
    found.into_iter().filter(|found| found.holds_value).map(|found| found.role).collect()
}

/// Splits at spaces; `_` stands for a space within a word.
fn split(command: &str) -> Vec<String> {
    command.split(' ').map(|word| word.replace('_', " ")).collect()
}

fn roles(command: &str, fed: bool) -> Vec<ArgRole> {
    let words = split(command);
    value_roles(&words.iter().map(String::as_str).collect::<Vec<_>>(), fed)
}

#[test]
fn value_in_code_is_found() {
    for command in [
        "sh -c echo_@",
        "bash -c echo_@",
        "zsh -c echo_@",
        "dash -c echo_@",
        "ksh -c echo_@",
        "fish -c echo_@",
        "/bin/bash -c @",
        "bash -ec echo_@",
        "bash -euo pipefail -c echo_@",
        "bash -o pipefail +e -c echo_@",
        "bash -c -x echo_@",
        "bash @ -c echo_@",
        "python3 @ -c @",
        "bash --norc -c echo_@",
        "bash --rcfile f -c echo_@",
        "bash -c echo_@ name arg",
        "python3 -c print(@)",
        "python3 -cprint(@)",
        "python3.12 -c @",
        "/usr/bin/python -I -c @",
        "python3 -W error -uc @",
        "node -e @",
        "node --eval @",
        "node --eval=@",
        "node -p @",
        "node -pe @",
        "nodejs --print=@",
        "node --import @",
        "env - bash -c @",
        "env --s=@",
        "sed --ex=@ f",
        "split --fi=@ f",
        "make --ev=@",
        "timeout --kill-a 5 10 bash -c @",
        "nice --adj 5 bash -c @",
        "perl -de @",
        "python3-dbg -c @",
        "python3.13t -c @",
        "bash-static -c @",
        "perl5.36-x86_64-linux-gnu -e @",
        "runuser root -c @",
        "git shell -c @",
        "node -r x -e @",
        "bun -e @",
        "bun exec @",
        "deno eval @",
        "perl -e @",
        "perl -E @",
        "perl -ne @",
        "perl -lane @",
        "perl -0777ne @ file",
        "perl -i.bak -pe @ file",
        "perl -e 1 -e @",
        "perl -M@ -e 1",
        "perl -I lib -e @",
        "ruby -e @",
        "ruby -r json -ne @",
        "php -r @",
        "php -d a=b -r @",
        "lua5.4 -e @",
        "Rscript -e @",
        "osascript -e @",
        "pwsh -Command @",
        "pwsh -NoProfile -c Get-Item @",
        "pwsh -NonInteractive -Com a b @",
        "pwsh -EncodedCommand @",
        "powershell.exe -Command @",
        "awk {print_@}",
        "awk -F : {print_@} file",
        "gawk -v a=b -e @",
        "sed s/@/b/",
        "sed -e s/a/b/ -e @ file",
        "sed -i.bak -n @ file",
        "sed file --expression=@",
        "sed --expr=@",
        "jq .@",
        "jq --arg a b .@",
        "ssh host ls @",
        "ssh -p 22 host -- ls @",
        "ssh -o A=b host @",
        "watch -n 5 ls @",
        "eval ls @",
        "su -c @",
        "su user -c @",
        "su - user --command=@",
        "tar -xf a --to-command=@",
        "tar -cf a --checkpoint-action=exec=@ b",
        "rsync -e ssh_@ a b",
        "env bash -c @",
        "env -i -u A B=c bash -c @",
        "env A=@ bash -c @",
        "env -S bash_@",
        "sudo -u bob bash -c @",
        "sudo -- bash -c @",
        "timeout 10 bash -c @",
        "timeout -k 5 -s KILL 10 python3 -c @",
        "nice -n 5 bash -c @",
        "nice -5 bash -c @",
        "nohup setsid stdbuf -o L time bash -c @",
        "sudo timeout 10 nice env A=b python3 -c @",
        "busybox sh -c @",
        "docker exec -it web bash -c @",
        "docker run --rm image sh -c @",
        "kubectl exec pod -- sh -c @",
        "xargs sh -c @",
        "xargs -0 -n 1 sh -c echo_@",
        "xargs -I {} bash -c @_{}",
        "find . -exec sh -c @ ;",
        "find . -name x -execdir bash -c echo_@ {} +",
        "find . -ok rm {} ; -exec perl -e @ ;",
        "fd x -x bash -c @",
        "sg root -c echo_@",
        "sg root ls_@",
        "su root -- -c @",
        "runuser -u root -- bash -c @",
        "vim -es @ -c q!",
        "vim -es +@ file",
        "ipython3 -c @",
        "vim -es -c @ file",
        "nvim --cmd @",
        "emacs --batch --eval @",
        "gdb -batch -ex @",
        "lldb -o @",
        "sqlite3 db .shell_@",
        "sqlite3 -cmd @ db",
        "julia -e @",
        "elixir --eval @",
        "ghc -e @",
        "guile -c @",
        "osh -c @",
        "unknown -c select_@",
        "unknown x --eval=(@)",
        "unknown --exec rm_@",
        "git rebase --exec make_@",
        "env --argv0 x awk @",
        "env -a x awk @",
        "nu -e @",
        "nu --execute @",
        "pwsh --Command @",
        "crystal eval @",
        "gdb --ex=@",
        "fd -Hx sh -c @",
        "fd --exec=sh -c @",
    ] {
        let roles = roles(command, false);
        assert!(matches!(roles.as_slice(), [ArgRole::Code(_), ..]), "{command}: {roles:?}");
    }
}

#[test]
fn value_outside_code_is_allowed() {
    for command in [
        "sh -c text @",
        "git config user.name @",
        "git config --get @",
        "git config get @",
        "git config --global user.email @",
        "git commit -m @",
        "gh api r @",
        "unknown --sh x @",
        "bash -c text -- @",
        "bash -c text name @ @",
        "bash -ec text -- ^@",
        "bash script.sh @",
        "python3 @ @",
        "bash -- script.sh -c @",
        "bash script.sh -c @",
        "bash --rcfile @ -c text",
        "fish -c text @",
        "python3 -c text @",
        "python3 -c text ^@",
        "python3 script.py -c @",
        "python3 -m module -c @",
        "python3 -W @ script.py",
        "node -e text @",
        "node script.js -e @",
        "node --max-old-space-size=@ script.js",
        "deno run script.ts -e @",
        "perl -e text @",
        "perl -pe text dir/@.txt",
        "perl -ne text file",
        "perl script.pl -e @",
        "perl -I@ script.pl",
        "ruby -e text @",
        "php -r text @",
        "php -d memory_limit=@ script.php",
        "lua -e text script @",
        "pwsh -File script.ps1 -Command @",
        "pwsh -CommandWithArgs text @",
        "awk {print} @",
        "awk -v name=@ {print}",
        "awk -F @ {print}",
        "awk -f script.awk @",
        "sed s/a/b/ @",
        "sed -n -e p @",
        "sed -f script.sed @",
        "jq . @",
        "jq --arg name @ .name",
        "jq -r --argjson n @ --arg m @ .n",
        "ssh @ ls",
        "ssh -l @ host ls",
        "env A=@ ls",
        "env A=@ bash -c text name @",
        "sudo -u @ ls",
        "sudo ls @",
        "timeout @ ls",
        "timeout 10 bash -c text name @",
        "nice -n @ ls",
        "docker exec web ls @",
        "docker exec -e NAME=@ web ls",
        "docker run --env NAME=@ image ls",
        "docker exec web bash -c text name @",
        "docker run -c 512 image ls @",
        "xargs grep @",
        "xargs -n @ ls",
        "xargs sh -c text name @",
        "find @ -name @",
        "find . -name @ -exec grep @ {} ;",
        "find . -exec sh -c text name {} ; -name @",
        "tar -xf @ -C @",
        "rg --json @ src",
        "git commit -m @",
        "curl @",
        "make -C @",
        "npx eslint @",
        "npm run build -- @",
        "python3 -m timeit text",
        "python3 -m json.tool @",
        "gdb -ex run @",
        "tmux kill-session -t @",
        "tmux new-session -d -s @",
        "sqlite3 @ .tables",
        "julia script.jl @",
        "pkexec ls @",
        "command -v @",
        "sshpass -p @ ssh host ls",
        "hyperfine -w @ ls",
        "git -c user.name=@ commit",
        "git -c user.name=A_@ commit -m a_@",
        "git grep -e a_@",
        "grep -e ^@_",
        "rg -e (@)",
        "unknown -e @",
        "unknown --eval=@",
        "unknown -c x@y",
        "unknown -m some_@",
        "env A=@ ls",
        "git config set --value @ user.name @",
        "python3 -m trace --trace --module json.tool @",
        "python3 -Wignore x.py @",
        "tar cf @ x",
        "tar xzf a.tgz -C @",
        "tar cfT a @",
        "strace --output o ls @",
        "env --argv0 x ls @",
        "nu script.nu @",
        "pwsh --File x.ps1 --Command @",
        "bun run @",
        "crystal run x.cr -- @",
        "go test --run=@ ./...",
        "fd -H -e js @ src",
        "fd -ex @",
        "fd -Hx ls @",
        "fd x --exec=ls @",
        "bash -- @ @",
        "bash @ text",
        "bash @ -c text @",
    ] {
        assert!(roles(command, false).is_empty(), "{command}: {:?}", roles(command, false));
    }
}

#[test]
fn value_may_not_be_an_interpreter_option() {
    for command in [
        "python3 ^@", "python3 -@ x", "perl -e text ^@", "bash ^@ text", "bash -@ text", "node --@=x",
        "timeout -- 10 python3 ^@", "sed -n -e p ^@", "tar -xf a ^@", "ssh ^@ ls",
        // It may be `+c`, or letters without a dash.
        "sh @ @", "bash @ x@", "bash @ -x @",
    ] {
        assert!(roles(command, false).contains(&ArgRole::Option), "{command}: {:?}", roles(command, false));
    }
}

#[test]
fn value_in_setting_that_runs_code_is_found() {
    for command in [
        "git -c core.sshCommand=ssh_@ fetch",
        "git -c alias.x=!@ x",
        "git -c gpg.ssh.defaultKeyCommand=@ commit -S",
        "git -c submodule.x.update=@ status",
        "git -c interactive.diffFilter=@ add -p",
        "env ZIPOPT=@ zip o.zip f",
        "git -c @=x status",
        "git -ccore.pager=@ log",
        "ssh -o ProxyCommand=nc_@ host",
        "scp -oProxyCommand=@ a b",
        "env BROWSER=@ ls",
        "git config alias.x @",
        "git config --add core.hooksPath @",
        "git config set core.pager @",
        "git config set --value old alias.x @",
        "git config -f f credential.helper @",
        "git config @ v",
        "sudo A=b PAGER=ssh_@ git fetch",
        "git clone --conf core.pager=@ x",
        "git clone --conf=core.pager=@ x",
        "docker exec -e ENV=@ web bash x",
        "docker exec --env=ENV=@ web bash x",
        "docker run -e PATH=@ image ls",
        "php -d extension=@ x.php",
        "php --define extension=@ x.php",
    ] {
        let roles = roles(command, false);
        assert!(matches!(roles.as_slice(), [ArgRole::Setting(_)]), "{command}: {roles:?}");
    }
}

#[test]
fn value_may_not_be_the_wrapped_program() {
    for command in [
        "env @",
        "env A=b @ x",
        "env @=b ls",
        "git @",
        "git -C dir @",
        "sudo -u bob @",
        "timeout 10 @",
        "nice @ x",
        "xargs @",
        "xargs -0 -n 1 @",
        "find . -exec @ {} ;",
        "timeout 5 sudo env A=b bin/@",
        "fd -Hx @",
        "fd --exec=@",
        "fd . --exec-batch=@ x",
    ] {
        assert_eq!(roles(command, false), [ArgRole::Program], "{command}");
    }
}

#[test]
fn value_may_not_name_a_file_that_perl_runs() {
    for command in [
        "perl -ne text @", "perl -pe text @", "perl -lane text @.txt", "perl -i -pe text dir/@", "perl -n script.pl @",
        "perl -ne text -- a @",
    ] {
        assert_eq!(roles(command, false), [ArgRole::PipedFile], "{command}");
    }
    for command in ["perl -ne text a dir/@.txt", "perl -i.np -e text @", "perl script.pl -n @"] {
        assert!(roles(command, false).is_empty(), "{command}: {:?}", roles(command, false));
    }
}

#[test]
fn argv_of_many_programs_is_refused() {
    for (program, count) in [("docker exec", 50_000), ("sudo", 50_000)] {
        let command = format!("{}sh -c @", format!("{program} ").repeat(count));
        assert!(matches!(roles(&command, false)[..], [ArgRole::Code(_)]), "{program}");
    }
}
