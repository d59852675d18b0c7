# make run   materialise the graph over the sample filings, print the metrics and where the report is
# make test  lint, type-check and test
# make ui    the Dagster UI and daemon on the same instance
# make licences, make sbom, make audit   what is installed: licences, a bill of materials, known vulnerabilities
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS := offline,fast,tatr,ui,mcp,s3,postgres,dev
PORT ?= 3000

.PHONY: run test ui env lint types unit bench faults soak licences sbom audit constraints clean

run: env
	$(BIN)/finrag run

test: env lint types unit

ui: env
	DAGSTER_HOME="$$($(BIN)/finrag home)" $(BIN)/dagster dev --workspace workspace.yaml --port $(PORT)

# Compiled here, as Python itself does not where PYTHONDONTWRITEBYTECODE is set: a quarter of a short command's time.
env: $(VENV)/.complete
	$(BIN)/python -m compileall -q finrag_pipeline

$(VENV)/.complete: setup.py constraints.txt Makefile
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint constraints.txt --editable '.[$(EXTRAS)]'
	touch $@

lint:
	$(BIN)/ruff check finrag_pipeline finrag_pipeline_tests benchmarks setup.py
	$(BIN)/ruff format --check finrag_pipeline finrag_pipeline_tests benchmarks setup.py

types:
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python

# Tests are compiled by pytest, ten seconds of each of its processes, and kept so: see env.
unit:
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

bench:
	$(BIN)/python -m benchmarks.embedding
	$(BIN)/python -m benchmarks.bm25
	$(BIN)/python -m benchmarks.pages data_lake/sources/sample/pdfs

faults:
	$(BIN)/python -m benchmarks.faults

soak:
	$(BIN)/python -m benchmarks.soak

licences: env
	$(BIN)/uv tool run --from pip-licenses pip-licenses --python $(BIN)/python --format=markdown --order=license

sbom: env
	mkdir -p build
	$(BIN)/uv tool run --from cyclonedx-bom cyclonedx-py environment $(BIN)/python --output-file build/sbom.json

audit: env
	.ci/audit $(VENV)

constraints: env
	$(BIN)/uv pip compile setup.py --extra offline --extra fast --extra ui --extra tatr --extra s3 --extra ray --extra postgres --extra dev --python-version 3.11 \
		--upgrade --no-header --no-annotate --quiet --output-file constraints.txt

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache build *.egg-info
