# make            the program build/mha and the libraries libmha and libmha_io, static and shared
# make install    all of it under PREFIX, which is /usr/local
# make help       all targets
#
# CFLAGS, CPPFLAGS, LDFLAGS, LDLIBS and CC are the user's; what the code itself needs follows them.
# WERROR=1 turns warnings into errors, SANITIZE=address,undefined builds apart, V=1 shows commands;
# OPENMP= builds a library that computes on one thread.

CC       ?= cc
CFLAGS   ?= -O2 -g
BUILD    ?= build$(if $(SANITIZE),/sanitize)
PKG_CONFIG ?= pkg-config
OPENMP   ?= -fopenmp

USER_FLAGS := $(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS)
ifneq ($(filter -ffast-math -Ofast -ffinite-math-only -funsafe-math-optimizations,$(USER_FLAGS)),)
$(error flags must not contain -ffast-math, -Ofast, -ffinite-math-only or -funsafe-math-optimizations: masks and checks rely on NaN and infinity)
endif

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wmissing-prototypes \
            -Wstrict-prototypes -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2 $(if $(WERROR),-Werror)
SANITIZER := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# -fopenmp-simd makes compilers pass over all other OpenMP pragmas without a warning.
THREADING := $(or $(strip $(OPENMP)),-fopenmp-simd)
ALL_CFLAGS = $(CFLAGS) -std=c11 -ffp-contract=off $(THREADING) $(WARNINGS) $(SANITIZER) -MMD -MP
ALL_CPPFLAGS = $(CPPFLAGS) -Iinclude -D_XOPEN_SOURCE=700
ALL_LDFLAGS = $(LDFLAGS) $(SANITIZER)

# Sources with a precision are compiled twice, what the complex step needs a third time, the others once; kernels once a precision and
# instruction set. Every set is named by single features, since clang 14 does not know x86-64-v3.
KERNELS := $(filter-out src/kernels/select.c,$(wildcard src/kernels/*.c))
NUMERIC := $(wildcard src/math/*.c src/ops/*.c src/layer/*.c src/fused/*.c) src/kernels/select.c \
  src/learn/loss.c src/learn/sgd.c
COMPLEX := $(wildcard src/math/*.c src/ops/*.c) src/layer/stages.c src/layer/projections.c \
  $(wildcard src/complex/*.c)
COMMON  := $(wildcard src/base/*.c) \
  $(filter-out src/learn/loss.c src/learn/sgd.c,$(wildcard src/learn/*.c))
IO      := $(wildcard src/io/*.c)
PROGRAM := $(wildcard train/*.c train/run/*.c train/checks/*.c train/checks/*/*.c train/commands/*.c train/tasks/*.c)
PROGRAM_NUMERIC := $(wildcard train/numeric/*.c)
PLOTS   := $(sort $(wildcard plots/*.gp))
INNER_LOOPS := src/math/% src/ops/% src/fused/% src/learn/loss% src/learn/sgd%

# The machine compiled for; of this one where the compiler is not there yet (make setup check).
MACHINE := $(or $(shell $(CC) $(CFLAGS) -dumpmachine 2>/dev/null),$(shell uname -m))
KERNEL_SETS := baseline $(if $(filter x86_64%,$(MACHINE)),v3 v4)
baseline_CFLAGS :=
v3_CFLAGS := -mavx2 -mfma -mbmi -mbmi2 -mf16c -mno-avx512f
v4_CFLAGS := $(filter-out -mno-%,$(v3_CFLAGS)) -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl
KERNEL_OBJ := $(foreach precision,f32 f64,$(foreach set,$(KERNEL_SETS),\
  $(KERNELS:%.c=$(BUILD)/$(precision)/$(set)/%.o)))

F32_OBJ  := $(NUMERIC:%.c=$(BUILD)/f32/%.o)
F64_OBJ  := $(NUMERIC:%.c=$(BUILD)/f64/%.o)
COMPLEX_OBJ := $(COMPLEX:%.c=$(BUILD)/c128/%.o)
CORE_OBJ := $(F32_OBJ) $(F64_OBJ) $(COMPLEX_OBJ) $(KERNEL_OBJ) $(COMMON:%.c=$(BUILD)/common/%.o)
IO_OBJ   := $(IO:%.c=$(BUILD)/common/%.o)
PROGRAM_OBJ := $(PROGRAM:%.c=$(BUILD)/common/%.o) $(BUILD)/common/plot_scripts.o \
  $(PROGRAM_NUMERIC:%.c=$(BUILD)/f32/%.o) $(PROGRAM_NUMERIC:%.c=$(BUILD)/f64/%.o)

# The version stands in mha_version() alone.
VERSION := $(shell sed -n '/mha_version(void) {/,/}/s/.*return "\([0-9]*\.[0-9]*\.[0-9]*\)";.*/\1/p' src/base/error.c)
$(if $(VERSION),,$(error src/base/error.c: mha_version() returns no version "MAJOR.MINOR.PATCH"))
SOVERSION := $(firstword $(subst ., ,$(VERSION)))

# Each library as archive, as shared library, and under the names by which programs and linkers find
# the latter. Objects of the libraries serve all of them, the program and the tests.
ARCHIVES     := $(BUILD)/libmha.a $(BUILD)/libmha_io.a
SHARED       := $(BUILD)/libmha.so.$(VERSION) $(BUILD)/libmha_io.so.$(VERSION)
SHARED_LINKS := $(foreach name,libmha libmha_io,$(BUILD)/$(name).so.$(SOVERSION) $(BUILD)/$(name).so)
LIBRARY_CFLAGS := -fPIC -fvisibility=hidden

IO_PACKAGES      := libzip jansson
PROGRAM_PACKAGES := libzip jansson
package_flags = $(shell $(PKG_CONFIG) --cflags $(1) 2>/dev/null)
package_libs  = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-4s %s\n' $(1) '$(patsubst $(BUILD)/%,%,$@)')

.PHONY: all lib help install install-folders uninstall setup demo gradcheck plots format lint clean FORCE
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

all: $(BUILD)/mha lib

lib: $(ARCHIVES) $(SHARED) $(SHARED_LINKS)

help:
	@printf '%s\n' \
	 'make              the program $(BUILD)/mha, and libmha and libmha_io, static and shared' \
	 'make lib          the libraries alone' \
	 'make install      the program, libraries, headers and man page under PREFIX ($(PREFIX))' \
	 'make uninstall    remove what make install put there' \
	 'make setup        install what is missing (Debian and Ubuntu), or print what is needed' \
	 'make demo         train, draw the loss curve and the heads, say where the pictures are' \
	 'make check        all tests' \
	 'make gradcheck    check every backward routine, in float too, and the checker itself' \
	 'make check-isa    the tests again under every instruction set of the processor, forced' \
	 'make bits         the same bits by every instruction set, aarch64 by qemu, threads and modes' \
	 'make sanitize     the tests under address, undefined-behaviour and thread sanitizers and valgrind' \
	 'make bench        the speed of mha, and of its rivals where they are installed' \
	 'make soak         the tests that take minutes: 200 kills, full disks of many sizes' \
	 'make fuzz         fuzz the readers of files with libFuzzer (clang), FUZZ_SECONDS each' \
	 'make plots        train anew and redraw the pictures of the README' \
	 'make format       lay out the sources with clang-format' \
	 'make lint         clang-format, clang-tidy, cppcheck and shellcheck' \
	 'make clean        remove $(BUILD)' \
	 'variables         CC CFLAGS CPPFLAGS LDFLAGS LDLIBS BUILD; OPENMP; WERROR=1 SANITIZE=... V=1;' \
	 '                  of install and uninstall: DESTDIR PREFIX BINDIR LIBDIR INCLUDEDIR MANDIR DATADIR'

# A change of compiler or flags rebuilds everything.
FLAGS_NOW := $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(LIBRARY_CFLAGS) | $(ALL_LDFLAGS) $(LDLIBS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || { $(if $(strip $(OPENMP)),$(check_openmp)) \
	  printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $@; }

# Asked when flags change. A compiler that builds nothing at all speaks for itself later.
builds = printf '%b\n' '$(1)' | $(CC) $(CPPFLAGS) $(CFLAGS) $(2) -x c - $(LDFLAGS) -o $(BUILD)/probe 2>/dev/null
EMPTY_PROGRAM  := int main(void) { return 0; }
OPENMP_PROGRAM := \#include <omp.h>\n\#ifndef _OPENMP\n\#error\n\#endif\nint main(void) { return omp_get_max_threads() < 1; }
check_openmp = $(call builds,$(OPENMP_PROGRAM),$(OPENMP)) || ! $(call builds,$(EMPTY_PROGRAM)) || { printf \
  'make: %s builds no program with %s: install its OpenMP (for clang libomp-dev), or give OPENMP= for one thread\n' \
  '$(CC)' '$(OPENMP)' >&2; exit 1; };

$(CORE_OBJ) $(IO_OBJ): ALL_CFLAGS += $(LIBRARY_CFLAGS)

# Inner loops want -O3, unless they are being debugged. Kernels raise no errno and no signals.
O3 := $(if $(filter -O0 -Og,$(CFLAGS)),,-O3) -fopenmp-simd
optimise = $(if $(filter $(INNER_LOOPS),$<),$(O3))
KERNEL_CFLAGS := $(O3) -fno-math-errno -fno-trapping-math

$(BUILD)/f32/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Isrc -DMHA_PRECISION=32 $(ALL_CFLAGS) $(optimise) -c $< -o $@

$(BUILD)/f64/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Isrc -DMHA_PRECISION=64 $(ALL_CFLAGS) $(optimise) -c $< -o $@

$(BUILD)/c128/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Isrc -DMHA_PRECISION=128 $(ALL_CFLAGS) $(optimise) -c $< -o $@

# kernel_rule PRECISION SET
define kernel_rule
$(BUILD)/f$(1)/$(2)/src/kernels/%.o: src/kernels/%.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$$(CC) $$(ALL_CPPFLAGS) -Isrc -DMHA_PRECISION=$(1) -DMHA_KERNEL=$(2) \
	  $$(ALL_CFLAGS) $$(KERNEL_CFLAGS) $$($(2)_CFLAGS) -c $$< -o $$@
endef
$(foreach precision,32 64,$(foreach set,$(KERNEL_SETS),$(eval $(call kernel_rule,$(precision),$(set)))))

$(BUILD)/f32/src/kernels/select.o $(BUILD)/f64/src/kernels/select.o $(BUILD)/common/src/base/isa.o: \
  ALL_CPPFLAGS += $(if $(filter v3,$(KERNEL_SETS)),-DMHA_KERNELS_X86)

$(BUILD)/common/src/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Isrc $(if $(findstring src/io/,$<),$(call package_flags,$(IO_PACKAGES))) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/common/train/%.o: train/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Itrain $(call package_flags,$(PROGRAM_PACKAGES)) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/f32/train/%.o $(BUILD)/f64/train/%.o: ALL_CPPFLAGS += -Itrain

# The gnuplot scripts become strings of the program: plot_script("loss.gp").
$(BUILD)/plot_scripts.c: $(PLOTS) plots/embed.sh
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)sh plots/embed.sh $(PLOTS) > $@

$(BUILD)/common/plot_scripts.o: $(BUILD)/plot_scripts.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Itrain $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/libmha.a: $(CORE_OBJ)
$(BUILD)/libmha_io.a: $(IO_OBJ)
$(BUILD)/%.a:
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# A name that neither the objects nor the libraries behind them define is an error here (sanitizers
# define theirs in the program).
$(BUILD)/libmha.so.$(VERSION): $(CORE_OBJ)
$(BUILD)/libmha_io.so.$(VERSION): $(IO_OBJ) $(BUILD)/libmha.so.$(VERSION)
$(BUILD)/libmha_io.so.$(VERSION): private PACKAGE_LIBS = $(call package_libs,$(IO_PACKAGES))
$(SHARED): $(BUILD)/%.so.$(VERSION):
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,$*.so.$(SOVERSION) \
	  -Wl,--as-needed $(if $(SANITIZE),,-Wl,-z,defs) $^ $(LDLIBS) $(PACKAGE_LIBS) -lm -o $@
$(BUILD)/%.so.$(SOVERSION): $(BUILD)/%.so.$(VERSION)
	$(Q)ln -sf $(<F) $@
$(BUILD)/%.so: $(BUILD)/%.so.$(SOVERSION)
	$(Q)ln -sf $(<F) $@

$(BUILD)/mha: $(PROGRAM_OBJ) $(IO_OBJ) $(CORE_OBJ)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LDLIBS) $(call package_libs,$(PROGRAM_PACKAGES)) -lm -o $@

gradcheck: $(BUILD)/mha
	$(BUILD)/mha gradcheck
	$(BUILD)/mha gradcheck --float
	$(BUILD)/mha gradcheck --self-test

include src/install.mk

setup:
	$(Q).ci/setup

# `make -j setup demo` must not build before the compiler is there.
ifneq ($(filter setup,$(MAKECMDGOALS)),)
$(BUILD)/flags: | setup
endif

# Runs of two tasks, from nothing to pictures. Names of runs stand in the pictures, so it works there.
PROGRAM_HERE = $(abspath $(BUILD)/mha)
DEMO := $(BUILD)/demo
demo: $(BUILD)/mha
	@mkdir -p $(DEMO)
	cd $(DEMO) && $(PROGRAM_HERE) train reverse --force -o reverse
	cd $(DEMO) && $(PROGRAM_HERE) train offsets --force -o offsets
	cd $(DEMO) && $(PROGRAM_HERE) plot loss reverse offsets -o loss.png
	cd $(DEMO) && $(PROGRAM_HERE) plot heads offsets -o heads.png
	cd $(DEMO) && $(PROGRAM_HERE) plot heads offsets
	@printf '\nThe pictures:\n  %s  how the loss fell\n  %s  what each head looks at\n' \
	  $(DEMO)/loss.png $(DEMO)/heads.png

# The pictures of the README, from runs made anew.
README_RUNS := $(BUILD)/readme
PICTURES := $(abspath plots)
plots: $(BUILD)/mha
	@mkdir -p $(README_RUNS)
	cd $(README_RUNS) && $(PROGRAM_HERE) train offsets --heads 1 --force -o one-head
	cd $(README_RUNS) && $(PROGRAM_HERE) train offsets --force -o two-heads
	cd $(README_RUNS) && $(PROGRAM_HERE) train letters --force -o letters
	cd $(README_RUNS) && $(PROGRAM_HERE) plot loss one-head two-heads -o $(PICTURES)/loss.png
	cd $(README_RUNS) && $(PROGRAM_HERE) plot heads two-heads -o $(PICTURES)/heads.png
	cd $(README_RUNS) && $(PROGRAM_HERE) plot heads letters -o $(PICTURES)/letters.png
	$(PROGRAM_HERE) plot gradcheck -o $(PICTURES)/gradcheck.png

format:
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

# Findings are mended or argued where they stand; .clang-tidy says which checks are on.
# tidy FILES,FLAGS: on all processors.
tidy = $(Q)printf '%s\n' $(1) | xargs -n 6 -P "$$(nproc)" \
  sh -c 'clang-tidy --quiet "$$@" -- -std=c11 $(ALL_CPPFLAGS) $(2)' tidy
lint:
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror
	$(Q)shellcheck .ci/setup .ci/run plots/embed.sh tests/*.sh tests/*/*.sh \
	  train/completion.bash
	$(Q)cppcheck --quiet --std=c11 --enable=warning,performance,portability --error-exitcode=1 \
	  --inline-suppr --suppress=missingInclude -Iinclude -Isrc -Itrain -DMHA_PRECISION=64 src train
	$(call tidy,$(COMMON) $(NUMERIC),$(THREADING) -Isrc -DMHA_PRECISION=64)
	$(call tidy,$(KERNELS),-Isrc -DMHA_PRECISION=64 -DMHA_KERNEL=$(lastword $(KERNEL_SETS)) \
	  $($(lastword $(KERNEL_SETS))_CFLAGS))
	$(call tidy,$(IO),-Isrc)
	$(call tidy,$(PROGRAM),-Itrain)
	$(call tidy,$(PROGRAM_NUMERIC),-Itrain -DMHA_PRECISION=64)

clean:
	rm -rf $(BUILD)

include tests/tests.mk

-include $(CORE_OBJ:.o=.d) $(IO_OBJ:.o=.d) $(PROGRAM_OBJ:.o=.d)
