# One command each. `make help` lists them; ARGS passes arguments on: make test ARGS="-k analyser".
.DEFAULT_GOAL := help
.PHONY: help demo up test check fmt
.NOTPARALLEL:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

ARGS ?=
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONUNBUFFERED := 1

environment = VENV=$$(sh ./.ci/environment)

help:  ## list these commands
	@echo "Dolphy"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1 \2/p' Makefile | \
	  while read -r make name text; do printf '  make %-7s %s\n' "$$name" "$$text"; done

demo:  ## ingest the demo documents, ask them questions, show the evidence
	@$(environment) && exec "$$VENV/bin/python" manage.py demo $(ARGS)

up:  ## run web, worker, beat and their services at http://127.0.0.1:8000 until Ctrl-C
	@$(environment) && exec "$$VENV/bin/python" manage.py up $(ARGS)

test:  ## run the tests
	@$(environment) && exec "$$VENV/bin/python" -m pytest $(ARGS)

check:  ## check format, lint and types
	@$(environment) && \
	  "$$VENV/bin/ruff" format --check . && \
	  "$$VENV/bin/ruff" check . && \
	  DATABASE_URL=postgresql:///types REDIS_URL=redis://types "$$VENV/bin/mypy" .

fmt:  ## format the code and fix what lint can
	@$(environment) && "$$VENV/bin/ruff" format . && "$$VENV/bin/ruff" check --fix .
