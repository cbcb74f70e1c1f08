"""The program and the sub-command of a command line."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import check_observations
from observations.shell.parse import Command, parse_command, parse_series, with_command_features
from observations.shell.programs import FAMILIES, WRAPPERS

PIECES = (
    *("git", "-C", "a", "x=1", "run", "compose", "make", "sudo", "gh", "pr", "gcloud", "python", "-m", "npm"),
    *(
        "stash",
        "cd",
        "&&",
        "|less",
        ";",
        "'q",
        "ls",
        "foo.exe",
        "/bin/git",
        "pull|",
        "pull",
        "time",
        "\n",
        "é",
    ),
)


@pytest.mark.parametrize(
    ("line", "subcommand"),
    [
        ("git pull", "git pull"),
        ("git -C dir pull --rebase", "git pull"),
        ("git -c user.name='Ada L' commit", "git commit"),
        ("git stash", "git stash"),
        ("git stash pop", "git stash pop"),
        ("git remote -v", "git remote"),
        ("docker compose up -d", "docker compose up"),
        ("docker compose -f dev.yml up -d", "docker compose up"),
        ("docker --context far ps", "docker ps"),
        ("docker-compose -f dev.yml up", "docker-compose up"),
        ("kubectl get pods", "kubectl get"),
        ("kubectl -n prod get pods", "kubectl get"),
        ("kubectl rollout restart deployment/web", "kubectl rollout restart"),
        ("npm run build", "npm run build"),
        ("npm test", "npm test"),
        ("pnpm --filter web build", "pnpm build"),
        ("cargo test --release", "cargo test"),
        ("cargo +nightly test", "cargo test"),
        ("apt-get -y install git", "apt-get install"),
        ("systemctl --user restart pipewire", "systemctl restart"),
        ("terraform -chdir=prod plan", "terraform plan"),
        ("uv pip install ruff", "uv pip install"),
        ("uv run pytest -x", "uv run pytest"),
        ("gh pr create --fill", "gh pr create"),
        ("gh -R ada/tiles pr list", "gh pr list"),
        ("gh api repos/ada/tiles", "gh api"),
        ("aws s3 cp a b", "aws s3 cp"),
        ("aws --profile prod s3 ls", "aws s3 ls"),
        ("gcloud compute instances list", "gcloud compute instances list"),
        ("python -m pytest -q", "python -m pytest"),
        ("python3.12 -u -m http.server", "python3.12 -m http.server"),
        ("python manage.py migrate", "python manage.py migrate"),
        ("make test", "make test"),
        ("make -C lib -j 8 test", "make test"),
        ("make DEBUG=1 test", "make test"),
        ("go mod tidy", "go mod tidy"),
        ("./gradlew :app:build", "gradlew :app:build"),
        ("bundle exec rspec spec", "bundle exec rspec"),
        ("service nginx restart", "service nginx restart"),
    ],
)
def test_a_program_with_subcommands_says_which(line: str, subcommand: str) -> None:
    assert parse_command(line).subcommand == subcommand
    assert parse_command(f"sudo {line}").subcommand == subcommand


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("ls -la", "ls"),
        ("/usr/bin/vim notes", "vim"),
        ("./run.sh --fast", "run.sh"),
        (r"\ls", "ls"),
        ("'htop'", "htop"),
        (r'"C:\Program Files\Git\git.exe" status', "git"),
        ("DEBUG=1 LEVEL='a b' node server.js", "node"),
        ("sudo vim /etc/hosts", "vim"),
        ("sudo -u postgres -E psql", "psql"),
        ("sudo -u www env HOME=/x nohup nice -n 5 node server.js", "node"),
        ("time -p sort big.txt", "sort"),
        ("exec zsh", "zsh"),
        ("timeout 5 curl example.com", "curl"),
        ("timeout -s KILL 5 curl example.com", "curl"),
        ("sudo", "sudo"),
        ("sudo -l", "sudo"),
        ("command -v vim", "command"),
        ("env", "env"),
        ("cd /srv", "cd"),
        ("cd /srv && htop", "htop"),
        ("cd a; cd b", "cd"),
        ("source .venv/bin/activate && jupyterlab", "jupyterlab"),
        ("[ -f a ] && cat a", "cat"),
        ("export A=b", "export"),
        ("export A=b; node x.js", "node"),
        ("set | grep A", "set"),
        ("cat a | sort | uniq -c", "cat"),
        ("grep x <a >b 2>&1", "grep"),
        ("<a grep x", "grep"),
        ("2>/dev/null find .", "find"),
        ("if [ -f a ]; then cat a; fi", "cat"),
        ("for f in *.c; do gcc $f; done", "gcc"),
        ("while true; do date; sleep 1; done", "date"),
        ("for f in a\ndo\n  wc $f\ndone", "wc"),
        ("(cd a; tree)", "tree"),
        ("{ date; }", "date"),
        ("! grep -q x a", "grep"),
        ("cat > a <<EOF\nrm -rf /\nEOF", "cat"),
        ("# a note\nuptime", "uptime"),
        ("PGPASSWORD=‹secret› psql", "psql"),
        ("echo ‹secret› | sudo -S ls", "echo"),
    ],
)
def test_the_program_is_the_first_that_does_something(line: str, program: str) -> None:
    assert parse_command(line).program == program


@pytest.mark.parametrize(
    "line",
    ["", "   ", "\n", "#42", "# note to self", "A=b", "A=b C='d e'", "$(which vim) a", "‹secret›", "'a b' c"],
)
def test_a_line_that_runs_nothing_known_has_no_program(line: str) -> None:
    assert parse_command(line) == Command(None, None)


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=120) | st.text("ab -'\"\\$(){}|&;<>`#=\n", max_size=60))
def test_any_text_can_be_parsed(text: str) -> None:
    program, subcommand = parse_command(text)
    assert program is None or (program and " " not in program)
    assert subcommand is None or subcommand.startswith(f"{program} ")


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=6))
def test_the_quick_way_agrees_with_the_careful_one(words: list[str]) -> None:
    """A redirection sends a line down the careful path and changes nothing else."""
    line = " ".join(word for word in words if word not in ("'q", "\n", "é"))
    assert parse_command(line) == parse_command(f"{line} >log")


@settings(deadline=None, max_examples=300)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map(" ".join), max_size=8))
def test_a_column_is_parsed_like_its_lines(lines: list[str]) -> None:
    parsed = parse_series(pl.Series("command", [*lines, None], dtype=pl.String))
    assert parsed.rows() == [*(tuple(parse_command(line)) for line in lines), (None, None)]


def test_the_tables_say_each_thing_once() -> None:
    assert not set(FAMILIES) & set(WRAPPERS)
    assert all(f.depth >= 1 for f in FAMILIES.values())


def observed(*records: tuple[str, dict[str, str]]) -> pl.DataFrame:
    gathered = RecordBuilder()
    for type_, features in records:
        gathered.add(type_, "ran", at=datetime(2026, 3, 2, tzinfo=UTC), tz="UTC", features=features)
    return gathered.take()


def test_features_are_added_to_commands_only() -> None:
    frame = observed(
        ("command", {"command": "git pull"}),
        ("command", {"command": "ls"}),
        ("email", {"command": "git pull"}),
    )
    result = check_observations(with_command_features(frame))
    assert result.get_column("program:text").to_list() == ["git", "ls", None]
    assert result.get_column("subcommand:text").to_list() == ["git pull", None, None]


def test_what_a_record_says_itself_is_never_overwritten() -> None:
    frame = observed(
        ("command", {"command": "git pull", "program": "mine"}),
        ("command", {"command": "git push", "subcommand": "mine too"}),
    )
    result = with_command_features(frame)
    assert result.get_column("program:text").to_list() == ["mine", "git"]
    assert result.get_column("subcommand:text").to_list() == [None, "mine too"]


def test_frames_without_commands_come_back_as_they_are() -> None:
    frame = observed(("email", {"subject": "hello"}))
    assert with_command_features(frame).equals(frame)
    assert with_command_features(frame.clear()).equals(frame.clear())


def test_columns_that_would_be_empty_are_not_added() -> None:
    result = with_command_features(observed(("command", {"command": "ls"})))
    assert "program:text" in result.columns
    assert "subcommand:text" not in result.columns
