# SPDX-License-Identifier: Apache-2.0
#
# A thin face over CMake and ctest. Each verb also works on a bare Debian 12: it sets up what it needs, once.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SOAK_KILLS ?= 150
SOAK_SEEDS ?= 200

.PHONY: all release dev deps deps-test demo check check-fast soak tsan fuzz coverage bench bench-micro bench-programs bench-spark fmt lint install clean
.NOTPARALLEL:

all: release

deps:
	scripts/deps.sh
deps-test:
	scripts/deps.sh test

# build/release/bin/lakecdc and build/release/lib/liblakecdc.so
release: deps
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

# the same with AddressSanitizer, UndefinedBehaviorSanitizer and the test programs, in build/dev
dev: deps-test
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)

# the changes of the sample table
demo: release
	scripts/demo.sh

# every test; check-fast leaves out those that start Spark or take minutes
check: dev release
	scripts/run_tests.sh dev release -- -j $(JOBS)
check-fast: dev release
	scripts/run_tests.sh dev release -- -j $(JOBS) -LE "spark|slow"

# syncs that are killed SOAK_KILLS times, each time all of SQLite, PostgreSQL, files and the archive at once; syncs that are
# killed at every point after a person's order; then Kafka and the archive by themselves SOAK_KILLS times; SOAK_SEEDS random
# histories through the archive; 1,000 rounds over 1,000 tables with nothing new
# On two cores: with SOAK_KILLS=2 SOAK_SEEDS=2 three and a half minutes in all, of which the rounds are two; with SOAK_KILLS
# from 150 on the second part kills at every one of 2,300 points, for about six minutes (tests/sync/kill_points.py)
soak: release deps-test
	LAKECDC=build/release/bin/lakecdc LAKECDC_KILLS=$(SOAK_KILLS) build/venv/bin/python tests/sync/crash.py
	LAKECDC=build/release/bin/lakecdc LAKECDC_KILLS=$(SOAK_KILLS) build/venv/bin/python tests/sync/kill_points.py
	LAKECDC=build/release/bin/lakecdc LCDC_KAFKA_KILLS=$(SOAK_KILLS) \
	    build/venv/bin/python tests/sync/kafka.py --only killed_again
	LAKECDC=build/release/bin/lakecdc LCDC_ARCHIVE_KILLS=$(SOAK_KILLS) LCDC_ARCHIVE_SEEDS=$(SOAK_SEEDS) \
	    build/venv/bin/python tests/sync/archive.py
	LAKECDC=build/release/bin/lakecdc build/venv/bin/python tests/sync/thousand_tables.py --rounds 1000

# ThreadSanitizer does not know the threads of librdkafka (C11's) and ends with them; running out of memory, allocation
# by allocation, is for the sanitizers of dev
tsan: deps-test
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS)
	ctest --preset tsan -j $(JOBS) -L unit -E "sink/kafka|unit.torture"

# each target for FUZZ_SECONDS
fuzz: deps-test
	cmake --preset fuzz -DLAKECDC_FUZZ_SECONDS=$(FUZZ_SECONDS)
	cmake --build --preset fuzz -j $(JOBS)
	ctest --preset fuzz -L fuzz

coverage: deps-test
	cmake --preset coverage
	cmake --build --preset coverage -j $(JOBS)
	ctest --preset coverage -j $(JOBS) -L unit
	python3 scripts/coverage.py build/coverage

# this project beside its peers: bench/results/ (BENCH="--only cdf --rounds 3" for a part of it)
bench: bench-programs
	build/venv/bin/python bench/run.py $(BENCH)

# the hot loops by themselves
bench-micro: bench-programs
	build/venv/bin/python bench/micro/run.py build/release

bench-programs: deps-test
	cmake --preset release -DLAKECDC_BENCH=ON
	cmake --build --preset release -j $(JOBS)

# memory and first row of a 2 GB Spark result, beside PySpark
bench-spark: release
	scripts/spark_env.sh
	LAKECDC=build/release/bin/lakecdc python3 bench/spark_memory.py --out bench/results/spark_memory.md

fmt: deps-test
	git ls-files '*.c' '*.h' '*.cc' | xargs clang-format-14 -i

lint: release
	scripts/deps.sh lint
	git ls-files '*.c' '*.h' '*.cc' | xargs clang-format-14 --dry-run -Werror
	python3 scripts/check_style.py
	git ls-files 'src/*.c' | xargs -n 1 -P $(JOBS) clang-tidy-14 --quiet -p build/release \
	    --extra-arg=-Wno-unknown-warning-option

install: release
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build/dev build/release build/tsan build/fuzz build/coverage
