# Every target sets up what it needs in .venv, on a fresh machine and on a used one.

PYTHON ?= python3
SPEC   ?= specs/attention/gqa8_fp8_page1.yaml

VENV := .venv
BIN  := $(VENV)/bin
READY := $(VENV)/.ready

# The oldest supported Triton: it alone is in this environment, laid over .venv.
OLD_TRITON := 3.6.0
OLD_VENV   := .venv-triton36
OLD_READY  := $(OLD_VENV)/.ready

# What a file's tests share is made once where one process runs them all: `--dist loadfile`.
PYTEST := -m pytest -n 2 --durations=15

# A moved checkout or a removed interpreter leaves a dead environment behind: that is set up anew.
ifneq ($(shell $(BIN)/python -I -c 'import kgen; print(kgen.__file__)' 2>/dev/null),$(CURDIR)/kgen/__init__.py)
.PHONY: $(READY)
endif

.PHONY: demo test test-full lint format lock clean

demo: $(READY)
	$(BIN)/kgen demo $(SPEC)

test: $(READY)
	$(BIN)/python $(PYTEST) --dist loadfile -m "not gpu and not full"

test-full: $(READY) $(OLD_READY)
	$(BIN)/python $(PYTEST) -m "full and not gpu"
	$(OLD_VENV)/bin/python $(PYTEST) --dist loadfile -m "(compile or interpret) and not full" -p no:cacheprovider

lint: $(READY)
	$(BIN)/python -m black --check .

format: $(READY)
	$(BIN)/python -m black .

lock: $(READY)
	$(BIN)/python -m pip freeze --all --exclude kgen --exclude pip | \
	  sed -E '/^(nvidia|cuda)/d; s/\+(cpu|cu[0-9]+)//' > $(VENV)/frozen
	{ sed '/^#/!d' requirements-dev.lock; cat $(VENV)/frozen; } > $(VENV)/lock
	mv $(VENV)/lock requirements-dev.lock

clean:
	rm -rf $(VENV) $(OLD_VENV) .kgen-cache build dist out .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "kgen needs Python 3.11 to 3.13: make PYTHON=/path/to/python3.12 ..." >&2; exit 2; }
	@$(BIN)/python -c 'import pip' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --quiet --requirement requirements-dev.lock
	$(BIN)/python -m pip install --quiet --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(OLD_READY): $(READY)
	@$(BIN)/python -m venv --clear $(OLD_VENV)
	$(OLD_VENV)/bin/python -m pip install --quiet --quiet --no-deps triton==$(OLD_TRITON)
	@$(BIN)/python -c 'import sysconfig as s; print("import site; site.addsitedir(%r)" % s.get_path("purelib"))' \
	  > "$$($(OLD_VENV)/bin/python -c 'import sysconfig as s; print(s.get_path("purelib"))')/base.pth"
	@$(OLD_VENV)/bin/python -c 'import triton; assert triton.__version__ == "$(OLD_TRITON)", triton.__version__'
	@touch $@
