"""Facts about command-line programs: which have sub-commands, which only run another program.

Data, with the reason for its shape; the reading of it is in `observations.shell.parse`. A program that is not
listed has no sub-command: its first argument is a file, a host or a branch, and says nothing about the habit.
"""

from __future__ import annotations

from dataclasses import dataclass


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PREPARING = _set(
    "cd pushd popd source . export set unset setenv alias umask ulimit clear sleep true : [ [[ test"
)
"""Commands that prepare for the one that is meant: `cd api && make test` is a `make test`."""

RESERVED = _set("if then else elif while until do { ! for select function")
"""Words of the shell's grammar that may stand before a command."""


@dataclass(frozen=True)
class Wrapper:
    """A program that runs another one.

    Attributes:
        valued: its options that take the next word as their value.
        operands: how many words of its own come before the other program.
        asks: options with which it runs nothing, and so is the program itself.

    """

    valued: frozenset[str] = frozenset()
    operands: int = 0
    asks: frozenset[str] = frozenset()


def _wrapper(valued: str = "", operands: int = 0, asks: str = "") -> Wrapper:
    return Wrapper(_set(valued), operands, _set(asks))


WRAPPERS = {
    "sudo": _wrapper(
        "-u -g -p -C -h -r -t -U -D -R -T --user --group --prompt --host --chdir",
        asks="-l -v -k -K -e --list --edit",
    ),
    "doas": _wrapper("-u -C"),
    "env": _wrapper("-u -C -S --unset --chdir"),
    "time": _wrapper("-f -o --format --output"),
    "gtime": _wrapper("-f -o --format --output"),
    "nohup": _wrapper(),
    "exec": _wrapper("-a"),
    "command": _wrapper(asks="-v -V"),
    "builtin": _wrapper(),
    "nocorrect": _wrapper(),
    "noglob": _wrapper(),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p --class --classdata"),
    "stdbuf": _wrapper("-i -o -e"),
    "timeout": _wrapper("-s -k --signal --kill-after", operands=1),
    "setsid": _wrapper(),
    "chronic": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "unbuffer": _wrapper(),
    "winpty": _wrapper(),
}
"""Programs that only run another one, passed over with their options."""


@dataclass(frozen=True)
class Family:
    """How a program's sub-commands are named.

    Attributes:
        depth: how many words name one at most.
        nested: first words after which a second one belongs to the name; None: after every one.
        valued: options before the sub-command that take the next word as their value.
        inner: further ones that do so between the first and the second word.

    """

    depth: int = 1
    nested: frozenset[str] | None = frozenset()
    valued: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()


def _one_word(programs: str, valued: str = "") -> dict[str, Family]:
    """Programs whose sub-commands are one word."""
    return dict.fromkeys(programs.split(), Family(valued=_set(valued)))


def _some_two(programs: str, nested: str, valued: str = "", inner: str = "") -> dict[str, Family]:
    """Programs some of whose sub-commands have a second word."""
    family = Family(2, _set(nested), _set(valued), _set(inner))
    return dict.fromkeys(programs.split(), family)


def _all_deep(programs: str, depth: int, valued: str = "") -> dict[str, Family]:
    """Programs all of whose sub-commands may have this many words."""
    return dict.fromkeys(programs.split(), Family(depth, None, _set(valued)))


_CONTAINERS = (
    "builder buildx checkpoint compose config container context image machine manifest network node plugin pod "
    "secret service stack swarm system trust volume"
)

FAMILIES: dict[str, Family] = {
    # version control
    **_some_two(
        "git",
        "bisect bundle flow lfs maintenance notes remote sparse-checkout stash submodule subtree worktree",
        "-C -c --git-dir --work-tree --namespace --super-prefix --config-env",
    ),
    **_some_two("jj", "bookmark branch config git op operation workspace", "-R --repository"),
    **_one_word("hg svn bzr fossil darcs pijul dvc yadm", "-R --repository --cwd --config"),
    **_all_deep("gh glab hub tea", 2, "-R --repo --hostname"),
    # containers, clusters, clouds
    **_some_two(
        "docker podman nerdctl",
        _CONTAINERS,
        "-H --host -c --context --config -l --log-level --connection --url -n --namespace",
        "-f --file -p --project-name --profile --env-file --project-directory --ansi --parallel --progress",
    ),
    **_one_word(
        "docker-compose podman-compose docker-machine",
        "-f --file -p --project-name --profile --env-file --project-directory -H --host",
    ),
    **_some_two(
        "kubectl oc k kubecolor",
        "auth certificate config create rollout set top plugin adm image",
        "-n --namespace --context --kubeconfig -s --server --cluster --user --as --as-group -v",
    ),
    **_some_two("helm", "dependency get plugin registry repo search show", "-n --namespace --kube-context"),
    **_one_word(
        "helmfile skaffold tilt kustomize stern minikube colima multipass vagrant kubeadm", "-p -f -n"
    ),
    **_all_deep("eksctl kind k3d argocd flux istioctl linkerd velero ctr consul nomad", 2),
    **_one_word("crictl buildah skopeo lxc virsh"),
    **_some_two("terraform tofu terragrunt", "state workspace providers"),
    **_some_two("pulumi", "config stack plugin", "-C --cwd -s --stack"),
    **_some_two("vault", "auth kv operator policy secrets token audit lease"),
    **_all_deep(
        "aws aliyun doctl linode-cli hcloud scw oci", 2, "--profile --region --output --query --endpoint-url"
    ),
    **_all_deep("gcloud az ibmcloud", 3, "--project --account --configuration --subscription"),
    **_one_word("gsutil packer cdk sam serverless sls cf wrangler vercel netlify firebase railway", "-m -a"),
    **_some_two("fly flyctl", "apps auth certs ips machine postgres secrets ssh volumes scale", "-a --app"),
    **_one_word("heroku now surge", "-a --app -r --remote"),
    **_one_word("ansible-galaxy ansible-vault"),
    # languages and builds
    **_some_two("npm", "run run-script config cache access team exec", "--prefix -w --workspace -C"),
    **_some_two("yarn", "run workspace workspaces config cache global", "--cwd"),
    **_some_two("pnpm", "run exec store config", "-C --dir -F --filter -w"),
    **_some_two("bun deno", "run task x", "--cwd"),
    **_one_word(
        "npx bunx pnpx uvx pipx-run corepack lerna gulp grunt ng vue expo ionic cap eas volta nvm fnm"
    ),
    **_some_two("turbo nx rush", "run", "--cwd --filter"),
    **_some_two("prisma supabase", "migrate db functions gen"),
    **_some_two(
        "cargo rustup", "component target toolchain override self", "--config -Z --color --manifest-path -C"
    ),
    **_some_two("go", "mod work tool env", "-C"),
    **_one_word("pip pip3 pipenv easy_install twine flit maturin", "--proxy --log"),
    **_some_two(
        "uv",
        "pip tool python cache self run",
        "--directory --project --config-file",
        "--with --python -p --extra --group",
    ),
    **_some_two(
        "poetry pdm hatch rye pixi", "run self env source cache task", "-C --directory -P --project -p"
    ),
    **_some_two("pipx", "run"),
    **_some_two("conda mamba micromamba", "env run config", "-n --name -p --prefix"),
    **_some_two("bundle", "exec"),
    **_one_word("gem rails rake rbenv pyenv nodenv jenv goenv tfenv sdk asdf mise rtx direnv jekyll cap"),
    **_one_word(
        "make gmake just task ninja bmake remake", "-C -f -I -j -l -o -W -d --directory --file --justfile"
    ),
    **_one_word("gradle gradlew mvn mvnw sbt lein ant mill", "-f -P -pl -s -p -b --file"),
    **_some_two("dotnet", "ef new nuget sln tool workload add"),
    **_some_two("flutter dart", "pub"),
    **_one_word("composer artisan symfony drush wp", "-d --working-dir"),
    **_one_word("swift zig dune opam cabal stack rebar3 mix nimble shards luarocks cpanm dub alr"),
    **_one_word("bazel bazelisk buck buck2 pants meson scons west platformio pio idf.py conan vcpkg"),
    **_one_word(
        "pre-commit nox alembic flask django-admin mkdocs hugo sphinx-build jupyter dbt mlflow kedro celery"
    ),
    **_all_deep("airflow prefect dagster", 2),
    **_one_word("pod fastlane xcodebuild fastboot adb", "-s"),
    **_all_deep("xcrun", 2),
    # the machine
    **_one_word(
        "apt apt-get aptitude apt-cache apt-mark dnf yum zypper tdnf microdnf", "-o -c -t --target-release"
    ),
    **_one_word("apk brew port snap flatpak winget choco scoop pkg pkgin xbps nala guix emerge", ""),
    **_some_two("nix", "flake profile store registry", "--option"),
    **_one_word("nixos-rebuild home-manager darwin-rebuild dpkg-reconfigure chezmoi stow"),
    **_one_word(
        "systemctl loginctl machinectl resolvectl networkctl timedatectl hostnamectl localectl coredumpctl",
        "-H --host -M --machine -t --type -p --property -n --lines -o --output",
    ),
    **_one_word("supervisorctl pm2 launchctl initctl", "-c"),
    **_all_deep("nmcli btrfs service rc-service", 2),
    **_one_word(
        "ip ufw zfs zpool tailscale wg wg-quick networksetup defaults diskutil hdiutil pfctl bluetoothctl",
        "-n -f",
    ),
    **_one_word("tmux zellij abduco wezterm kitty", "-L -S -f -c"),
    **_one_word(
        "restic borg rclone kopia duplicity certbot openssl gpgconf rabbitmqctl influx mc", "-r --repo"
    ),
    **_one_word(
        "ollama op bw pass stripe ngrok caddy hasura sentry-cli ffuf task taskwarrior timew todo.sh khal khard"
    ),
}
"""Programs with sub-commands."""
