# Speed: make bench prints everything, in about fifteen minutes; each part is a target of its own.
# Rivals are measured where they are installed: PyTorch and NumPy (a python3 that has them is looked for),
# and OpenBLAS. BENCH_THREADS are the threads beside one.

BENCH_THREADS ?= $(shell nproc 2>/dev/null || echo 1)
BENCH_MEMORY_SHAPE := 1,16384,16384,256,4
BENCH_PARTS := table rivals products threads gaps memory start
BENCH_PARTS := $(BENCH_PARTS:%=bench-%)
BENCH := $(BUILD)/bench
QUICK_SHAPES := 2,4,6,8,2 32,16,16,64,4 32,64,64,128,8

.PHONY: bench bench-quick $(BENCH_PARTS)

# In turn, whatever -j says: what is measured must be alone.
bench:
	$(Q)for part in $(BENCH_PARTS); do \
	  $(MAKE) --no-print-directory $$part || exit; echo; done

BENCH_OBJ := $(patsubst %.c,$(BUILD)/f32/%.o,$(wildcard tests/bench/*.c))
BENCH_SHARED := $(patsubst %,$(BUILD)/common/train/commands/bench_%.o,time machine shape)
$(BENCH_OBJ): ALL_CPPFLAGS += -Itrain

# Asked only where something is measured.
ifneq ($(filter bench% $(BENCH)/%,$(MAKECMDGOALS)),)
OPENBLAS_PROGRAM := \#include <cblas.h>\nint main(void) { openblas_set_num_threads(1); return 0; }
OPENBLAS_LIBS := $(or $(call package_libs,openblas),$(shell printf '%b' '$(OPENBLAS_PROGRAM)' \
  | $(CC) -x c - -lopenblas -o /dev/null 2>/dev/null && echo -lopenblas))
$(BENCH_OBJ): ALL_CPPFLAGS += $(patsubst -I%,-isystem %,$(call package_flags,openblas))
FIND_MODULES := import importlib.util as i; exit(not (i.find_spec("numpy") and i.find_spec("torch")))
BENCH_PYTHON := $(or $(shell for python in python3 /usr/bin/python3; do \
  $$python -c '$(FIND_MODULES)' 2>/dev/null && echo $$python && break; done),$(shell command -v python3))
endif

$(BENCH)/%: $(BUILD)/f32/tests/bench/%.o $(BENCH_SHARED) $(BUILD)/libmha.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LDLIBS) $(OPENBLAS_LIBS) -lm -o $@

# run_python SCRIPT ARGUMENTS
run_python = $(if $(BENCH_PYTHON),$(Q)$(BENCH_PYTHON) -B tests/bench/$(1) --mha $(BUILD)/mha $(2),\
  @echo '$(1): no python3 is installed: left out')
RIVALS_OPENBLAS = $(if $(OPENBLAS_LIBS),--openblas $(BENCH)/openblas)

bench-table: $(BUILD)/mha
	$(Q)$(BUILD)/mha bench --threads 1

bench-rivals bench-quick: $(BUILD)/mha $(if $(OPENBLAS_LIBS),$(BENCH)/openblas)
bench-rivals:
	$(call run_python,rivals.py,$(RIVALS_OPENBLAS))
	$(if $(filter 1,$(BENCH_THREADS)),,$(call run_python,rivals.py,$(RIVALS_OPENBLAS) --threads $(BENCH_THREADS)))

bench-quick:
	$(Q)$(BUILD)/mha bench --threads 1 $(QUICK_SHAPES:%=--shape %)
	$(call run_python,rivals.py,$(RIVALS_OPENBLAS) --rounds 3 $(QUICK_SHAPES))

# Where OpenBLAS knows AVX2 alone, MHA_ISA=v3 compares like with like.
bench-products: $(if $(OPENBLAS_LIBS),$(BENCH)/products)
	$(Q)$(if $(OPENBLAS_LIBS),$(BENCH)/products,echo 'products: OpenBLAS is not installed: left out')

bench-threads: $(BUILD)/mha
	$(if $(filter 1,$(BENCH_THREADS)),@echo 'threads: this machine has one processor: left out',\
	  $(call run_python,threads.py,--threads $(BENCH_THREADS)))

bench-gaps: $(BENCH)/gaps
	$(Q)$(BENCH)/gaps

bench-memory: $(BENCH)/memory
	$(Q)$(BENCH)/memory $(BENCH_MEMORY_SHAPE)

bench-start: $(BUILD)/mha
	$(call run_python,start.py,)

-include $(BENCH_OBJ:.o=.d)
