# One command each. Needs Python 3.11 or newer, nothing else.
PYTHON ?= python3
BIN := .venv/bin
DEMO := fixtures/demo --tz Europe/Berlin --me maya@example.com

.PHONY: demo test check docs tables benchmark golden notebooks lock hooks clean

demo: .venv/installed  ## set up, and run the main job on the bundled data
	@$(BIN)/habitus detect $(DEMO)

test: .venv/dev-installed  ## set up, and pass the tests
	$(BIN)/pytest -n 2

check: .venv/dev-installed  ## format, lint, types, tests
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

docs: .venv/dev-installed  ## build the documentation to build/docs; a warning is an error
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --builder html docs build/docs

tables: .venv/dev-installed  ## write the generated tables and the printed outputs of the documentation anew
	$(BIN)/python docs/generate.py
	$(BIN)/python -m tests.doc_pages

hooks: .venv/dev-installed  ## run the checks of `.pre-commit-config.yaml` before each commit
	$(BIN)/pre-commit install

benchmark: .venv/benchmark-installed  ## speed and memory, as ratios measured in one run
	$(BIN)/pytest tests/benchmarks --override-ini addopts= --benchmark-columns=min,median,ops

golden: .venv/installed  ## write the demo's expected answer anew; read the difference before committing it
	@mkdir -p fixtures/expected
	$(BIN)/habitus detect $(DEMO) --status all --format ndjson > fixtures/expected/demo.ndjson.new
	mv fixtures/expected/demo.ndjson.new fixtures/expected/demo.ndjson

notebooks: .venv/dev-installed  ## run the notebooks, and write them as pages to build/notebooks
	$(BIN)/jupyter nbconvert --execute --to html --config notebooks/offline.py --output-dir build/notebooks notebooks/*.ipynb

lock: .venv/dev-installed  ## renew requirements.lock, requirements-dev.lock and requirements-benchmark.lock
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header pyproject.toml --extra dev -o requirements-dev.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header pyproject.toml --extra benchmark -c requirements-dev.lock -o requirements-benchmark.lock

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "habitus needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name a newer one: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python requirements.lock pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

.venv/dev-installed: .venv/bin/python requirements-dev.lock pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@ .venv/installed

.venv/benchmark-installed: .venv/dev-installed requirements-benchmark.lock
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-benchmark.lock
	@touch $@

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
