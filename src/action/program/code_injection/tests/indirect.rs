//! Code that comes through stdin, or through a program that an option names.

use super::*;

#[test]
fn code_from_stdin_is_found() {
    for command in [
        "bash",
        "sh -s -- x",
        "bash -e",
        "python3",
        "python3 -",
        "python3 -u",
        "node",
        "perl",
        "ruby -",
        "ssh host",
        "sudo bash",
        "ssh host bash -s",
        "xargs sh -c",
        "pwsh",
        "awk -f - file",
        "awk -f /proc/self/fd/0 file",
        "bash /dev/stdin",
        "bash //dev/./stdin",
        "python3 /dev/fd/0",
        "awk -f- file",
        "gawk --file=/dev/stdin file",
        "sed -n -f - file",
        "make -f -",
        "psql",
        "psql -h host -U user db",
        "mysql -u root db",
        "sqlite3",
        "sqlite3 my.db",
        "gdb",
        "octave",
        "gnuplot",
        "python3 -i script.py",
        "python3 -ic text",
        "node -i -e text",
        "bash -os pipefail",
        "docker exec -i mysql sh",
    ] {
        assert_eq!(roles(command, true).len(), 1, "{command}: {:?}", roles(command, true));
        assert!(roles(command, false).is_empty(), "{command}");
    }
    for command in [
        "xargs -rI% sh -c echo_%",
        "xargs -0I % sh -c echo_%",
        "xargs -I% sh -c echo_%",
        "xargs -I {} bash -c rm_{}",
        "xargs --repl=% bash -c rm_%",
        "xargs --rep bash -c rm_{}",
        "xargs env",
        "xargs perl -e",
    ] {
        assert_eq!(roles(command, true).len(), 1, "{command}: {:?}", roles(command, true));
        assert!(roles(command, false).is_empty(), "{command}");
    }
    for command in [
        "bash -c text",
        "bash script.sh",
        "python3 -m json.tool",
        "python3 script.py",
        "node script.js",
        "perl -ne text",
        "jq .",
        "awk {print}",
        "sort",
        "xargs rm --",
        "xargs sh -c text name",
        "ssh host cat",
        "python3 -Wignore x.py",
        "python3 x.py -i",
        "bun x.ts",
        "kubectl exec -i pod -- cat",
    ] {
        assert!(roles(command, true).is_empty(), "{command}: {:?}", roles(command, true));
    }
}

#[test]
fn value_that_names_a_program_is_found() {
    for command in [
        "git fetch --upload-pack=@",
        "node -r @ x.js",
        "ruby -r @ x.rb",
        "ruby -r./@ x.rb",
        "node --experimental-loader @ x.js",
        "gcc -wrapper @ -c f.c",
        "git pull --upload-pack @ origin",
        "git push --receive-pack=@",
        "git push --exec=@",
        "git -C dir fetch --upload-pa=@",
        "git ls-remote --exec=@ x",
        "git archive --remote=x --exec=@",
        "git clone -u @ x",
        "git clone --template=@ x",
        "git grep --open-files-in-pager=@ x",
        "git grep -O@ x",
        "git difftool --extcmd=@",
        "git --exec-path=@ log",
        "git --config-env=@ log",
        "git send-email --sendmail-cmd=@",
        "/usr/bin/git fetch --upload-pack=@",
        "sudo git fetch --upload-pack=@",
        "curl -K @",
        "curl -sK@ x",
        "curl --config=@",
        "wget -e @",
        "ssh -F @ host",
        "ssh -I @ host",
        "scp -S @ a b",
        "sftp -b @ host",
        "rsync -M @ a b",
        "rsync --remote-option=@ a b",
        "awk -f @ file",
        "gawk --load=@ {print}",
        "sed -f @ file",
        "sed --file=@ file",
        "rg --pre=@ x",
        "rg --pre @ x",
        "ack --pager=@ x",
        "man -P @ ls",
        "man --pager=@ ls",
        "docker run --entrypoint=@ image",
        "docker --config @ ps",
        "kubectl --kubeconfig=@ get pods",
        "sort --compress-program=@ file",
        "make -f @",
        "psql -o @",
        "psql --output=@ db",
        "mysql --plugin-dir=@",
        "cargo build --config=@",
        "go test -exec=@",
        "go build -toolexec @",
        "go build --toolexec=@",
        "su -s @",
        "su --shell=@ nobody",
        "vim -u @ file",
        "unknown --pager=@",
        "unknown --upload-pack @",
    ] {
        let roles = roles(command, false);
        assert!(matches!(roles.as_slice(), [ArgRole::ProgramOption(_), ..]), "{command}: {roles:?}");
    }
    for command in ["split --filter=@ x", "make --eval=@", "git rebase -x @", "git filter-branch --tree-filter @"] {
        assert!(matches!(roles(command, false).as_slice(), [ArgRole::Code(_), ..]), "{command}");
    }
    for command in ["git submodule foreach @", "git bisect run @"] {
        assert!(matches!(roles(command, false).as_slice(), [ArgRole::Code(_), ..]), "{command}");
    }
    for command in ["git clone --config=@ x", "git clone -c @ x", "git clone --config core.sshCommand=@ x"] {
        assert!(matches!(roles(command, false).as_slice(), [ArgRole::Setting(_), ..]), "{command}");
    }
}

#[test]
fn value_beside_a_program_option_is_allowed() {
    for command in [
        "git fetch --depth=@ @ @",
        "git fetch --upload-pack=git-upload-pack @",
        "git clone -b @ -o @ -c user.name=@ @",
        "git clone --config=user.name=@ x",
        "git grep -e @ -- @",
        "git grep -m @ @",
        "git commit --template=@",
        "git rebase --onto @ @",
        "git bisect good @",
        "curl -o @ -H A:_@ @",
        "curl --data=@ --output @ @",
        "ssh -p @ -i @ host ls",
        "scp -i @ @ host:",
        "sed -i@ s/a/b/ @",
        "rg -e @ --pre-glob=@ @",
        "rg @ src",
        "docker run --name=@ image ls @",
        "docker compose up @",
        "kubectl get pods --namespace=@",
        "make -C @ -j@ dir/x",
        "psql -h @ -U @ @",
        "env NAME=@ cmake build",
        "cargo test --package=@ @",
        "go test -run=@ @",
        "sort -k @ @",
        "man @",
        "unknown --config=@ --exec=@",
    ] {
        assert!(roles(command, false).is_empty(), "{command}: {:?}", roles(command, false));
    }
}

#[test]
fn value_of_a_make_variable_is_code() {
    for command in [
        "make NAME=@",
        "make -C dir build NAME=v@",
        "gmake -- NAME=@",
        "make @",
        "make build @",
        "make @=x",
        "make dir/@",
        "make x_@",
        "env NAME=@ make build",
    ] {
        assert!(matches!(roles(command, false)[..], [ArgRole::Setting(_)]), "{command}: {:?}", roles(command, false));
    }
}
