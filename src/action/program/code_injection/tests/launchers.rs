//! Programs that start another one somewhere among their words.

use super::*;

#[test]
fn value_in_code_behind_a_launcher_is_found() {
    for command in [
        "docker exec mysql sh -c echo_@",
        "docker exec node awk {print_@}",
        "docker run --rm python sh -c echo_@",
        "docker run --name logs img sh -c echo_@",
        "docker run img ./x.py sh -c @",
        "docker-compose exec web sh -c @",
        "sudo docker exec node sh -c @",
        "find . -exec docker exec mysql sh -c @ ;",
        "kubectl exec deploy/mysql -- sh -c echo_@",
        "kubectl exec mysql -n ns -- sh -c echo_@",
        "docker run --entrypoint sh img -c echo_@",
        "docker run --rm --entrypoint=/bin/bash img -lc echo_@",
        "docker run --entrypoint python img -c @",
        "su node -c echo_@",
        "su - git -c echo_@",
    ] {
        let roles = roles(command, false);
        assert!(matches!(roles.as_slice(), [ArgRole::Code(_)]), "{command}: {roles:?}");
    }
}

#[test]
fn value_may_not_be_the_program_of_a_launcher() {
    for command in [
        "docker exec -it -u me box @",
        "docker compose exec web @",
        "kubectl exec pod -- @",
        "kubectl exec -it pod -c main -- @",
        "kubectl exec pod -- env @",
    ] {
        assert_eq!(roles(command, false), [ArgRole::Program], "{command}");
    }
}

#[test]
fn value_elsewhere_behind_a_launcher_is_allowed() {
    for command in [
        "docker run -e X=@ python app.py @",
        "docker run --rm -v @:/w -w /w node:20 node x.js @",
        "docker run --rm -e A=@ -p @:80 nginx",
        "docker run img @",
        "docker run --name node img ls @",
        "docker run --entrypoint sh -e X=@ img script.sh @",
        "docker run --entrypoint jq img -c . @",
        "docker run --entrypoint python img app.py -c @",
        "docker exec db psql -U me -d @ -c select_1",
        "docker exec @ ls",
        "docker exec -e A=@ box ls @",
        "docker compose exec web python manage.py watch @",
        "docker exec web node x.js --config @",
        "docker logs -f @",
        "docker ps --filter name=@",
        "docker cp @ node:/x",
        "kubectl get pods -l app=@",
        "kubectl patch node @ -p {x:@}",
        "kubectl exec @ -- ls @",
        "kubectl exec deploy/mysql -- ls @",
        "npm run @",
        "npm run watch -- @",
        "npm run x -- -c @",
        "npm view @ version",
        "npx eslint -c @ src",
        "npx -p typescript tsc -p @",
        "npx tsx script.ts -c @",
        "uv run app.py @",
        "uv run --with x pytest -k @",
        "uv add @",
        "conda run -n @ python x.py @",
        "conda install -n base @",
        "systemd-run --user --unit @ ls @",
        "tini -- node x.js @",
        "gosu @ ls @",
        "xvfb-run -s @ ls @",
        "nsenter -t @ -m ls",
        "vagrant ssh @ -c text",
        "su - @ -c text",
        "nix run nixpkgs#hello -- @",
        "wrapper sh script.sh @",
        "wrapper bash -c text name @",
        "cp node @",
    ] {
        assert!(roles(command, false).is_empty(), "{command}: {:?}", roles(command, false));
    }
}
