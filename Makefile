# Thin: each target is a few commands that could be typed.
.DEFAULT_GOAL := build
.PHONY: build configure demo pack-headers test test-all fuzz lint lint-deep check-alone format bench clean

RELEASE := build/release
# Two tests at a time share the cores: threads that wait must not keep one busy.
CTEST := OMP_WAIT_POLICY=passive ctest --test-dir $(RELEASE) --output-on-failure -j 2

build: configure  ## release build; the program is build/release/bin/obol
	@cmake --build --preset release --target obol

configure:
	@scripts/install-deps build
	@mkdir -p build
	@cmake --preset release > $(RELEASE).log 2>&1 || { cat $(RELEASE).log; exit 1; }

demo: build  ## from nothing to pictures
	@scripts/demo

test:  ## build and run the fast tests
	@scripts/install-deps test
	@$(MAKE) --no-print-directory configure
	@cmake --build --preset release
	@$(CTEST) -LE long

test-all: test fuzz  ## the long ones too, and everything without LibTorch under the sanitizers
	@$(CTEST) -L long --no-tests=ignore
	@cmake --build --preset asan
	@ctest --test-dir build/asan --output-on-failure -j 2 -L unit

fuzz:  ## 100,000 mutated files per reader, under the address sanitizer
	@scripts/install-deps test
	@cmake --preset asan > /dev/null
	@cmake --build --preset asan --target mutate
	@ctest --test-dir build/asan --output-on-failure -j 2 -L fuzz

lint:  ## format and clang-tidy, every finding an error
	@scripts/install-deps lint test
	@scripts/lint

lint-deep:  ## with clang's analyzer as well
	@scripts/install-deps lint test
	@DEEP=yes scripts/lint

check-alone:  ## every source that does not use LibTorch by itself, to find missing includes
	@scripts/install-deps test
	@scripts/check-alone

pack-headers:  ## header-only libraries for a machine where nothing can be installed
	@scripts/pack-headers

format:
	@git ls-files -- '*.h' '*.cpp' '*.cu' ':!tests/lint' | xargs clang-format-16 -i

bench:  ## everything against a reference, one table; --quick and more: bench/run --help
	@$(MAKE) --no-print-directory build
	@bench/run

clean:
	rm -rf build demo
