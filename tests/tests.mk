# Tests. tests/*.c are compiled once, tests/numeric/*.c once a precision (MHA_PRECISION).

TEST_COMMON  := $(wildcard tests/*.c)
TEST_NUMERIC := $(wildcard tests/numeric/*.c)
TEST_OBJ := $(TEST_COMMON:%.c=$(BUILD)/common/%.o) \
            $(TEST_NUMERIC:%.c=$(BUILD)/f32/%.o) $(TEST_NUMERIC:%.c=$(BUILD)/f64/%.o)
# The program's own modules, without its main, are tested too.
TESTED_OBJ := $(filter-out %/train/main.o,$(PROGRAM_OBJ))
# There may be more threads than processors: who waits must not keep one busy.
TEST_ENVIRONMENT = OMP_WAIT_POLICY=passive MHA=$(abspath $(BUILD)/mha) MHA_GOLDEN=$(abspath tests/golden)

include tests/bits/bits.mk

.PHONY: check check-isa soak readme gradcheck-example kernels symbols exported doors man installed sanitize sanitize-address sanitize-valgrind \
  check-in-one-process check-without-forks check-with-forks

$(BUILD)/common/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Isrc -Itrain -Itests $(call package_flags,check $(PROGRAM_PACKAGES)) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/f32/tests/%.o $(BUILD)/f64/tests/%.o: ALL_CPPFLAGS += -Itests $(call package_flags,check)

$(BUILD)/check: $(TEST_OBJ) $(TESTED_OBJ) $(IO_OBJ) $(CORE_OBJ)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LDLIBS) $(call package_libs,check $(PROGRAM_PACKAGES)) -lm -o $@

check: $(BUILD)/mha $(BUILD)/check readme gradcheck-example kernels symbols exported doors man $(if $(SANITIZE),,installed) \
  threads bits-here
	$(Q)$(TEST_ENVIRONMENT) $(BUILD)/check
	@echo 'make check: all tests passed'

# The suite again under each instruction set that the processor has, forced. CK_RUN_SUITE in the
# environment names one suite of it.
check-isa: $(BUILD)/mha $(BUILD)/check $(BUILD)/check-threads $(BITS)
	$(Q)$(TEST_ENVIRONMENT) sh tests/bits/each.sh $(BITS) \
	  sh -c '$(abspath $(BUILD)/check) $(if $(CK_RUN_SUITE),,&& $(abspath $(BUILD)/check-threads))'

# The C example of the README, as it stands there, against the library alone: it prints what the
# README says.
readme: $(BUILD)/readme-example
	$(Q)! grep -n '@@' README.md
	$(Q)awk '/^```text$$/ {on = 1; next} /^```$$/ {on = 0} on && /^step/' README.md > $<.expected
	$(Q)$< > $<.output && diff $<.expected $<.output
$(BUILD)/readme-example.c: README.md
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)awk '/^```c$$/ {on = 1; next} /^```$$/ {on = 0} on' README.md > $@
$(BUILD)/readme-example: $(BUILD)/readme-example.c $(BUILD)/libmha.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< $(BUILD)/libmha.a $(LDLIBS) -lm -o $@

# The program in the description of <mha/gradcheck.h>, as it stands there, and with mistakes.
gradcheck-example: $(BUILD)/libmha.a
	$(Q)CC=$(call quoted,$(CC) $(CFLAGS) $(THREADING) $(SANITIZER) $(LDFLAGS)) \
	  sh tests/gradcheck_example.sh $(BUILD)/gradcheck-example $(BUILD)/libmha.a

# Kernels, operators and the fused wing need nothing but mathematics, each other and threads: they
# cannot take memory, print or end the program. Workspaces are made before.
ARITHMETIC := $(KERNEL_OBJ) $(filter-out %/workspace.o,$(foreach folder,math ops fused,\
  $(filter $(BUILD)/f32/src/$(folder)/% $(BUILD)/f64/src/$(folder)/%,$(F32_OBJ) $(F64_OBJ))))
kernels: $(ARITHMETIC)
	$(Q)nm -u $^ > $(BUILD)/kernels.txt
	$(Q)! awk 'NF == 2 {print $$2}' $(BUILD)/kernels.txt | sort -u | grep -vE \
	  '^(mha_(f32|f64|mask|head_width|parallel_run)|(exp|sqrt|log)f?$$|mem(set|cpy|move|chr)$$|__(asan|ubsan|stack_chk)|_GLOBAL_)'

# Every global name of the libraries starts with mha_ and is defined once, and both precisions have the
# same ones: a name that is missing from the name map shows here.
symbols: $(ARCHIVES)
	$(Q)nm -g --defined-only $^ | awk 'NF == 3 {print $$3}' > $(BUILD)/symbols.txt
	$(Q)! grep -vE '^(mha_|__odr_asan)' $(BUILD)/symbols.txt
	$(Q)! sort $(BUILD)/symbols.txt | uniq -d | grep .
	$(Q)sed -n 's/^mha_f32_//p' $(BUILD)/symbols.txt | sort > $(BUILD)/symbols32.txt
	$(Q)sed -n 's/^mha_f64_//p' $(BUILD)/symbols.txt | sort | diff $(BUILD)/symbols32.txt -

# The shared libraries export what the public headers declare, and nothing else.
exported: $(SHARED)
	$(Q)CC=$(call quoted,$(CC)) sh tests/exported.sh $(BUILD)/exported $(SHARED)

# Options stand in --help, the manual page and the completion alike.
man: $(BUILD)/mha
	$(Q)bash tests/manual.sh $(BUILD)/mha

# What make install puts into a folder serves C and C++ programs; then the same with a DESTDIR that the
# shell could misread, where uninstalling leaves what others put there, and nothing else.
SCRATCH := $(abspath $(BUILD))/installed
STAGED  := $(SCRATCH)/Stage, it's one | two & "three"
scratch_folders = DESTDIR=$(call quoted,$(1)) PREFIX=$(2) BINDIR=$(2)/bin LIBDIR=$(2)/lib \
  INCLUDEDIR=$(2)/include DATADIR=$(2)/share MANDIR=$(2)/share/man
installed: all
	$(Q)rm -rf $(SCRATCH)
	$(Q)$(MAKE) --no-print-directory $(call scratch_folders,,$(SCRATCH)/prefix) install > /dev/null
	$(Q)CC=$(call quoted,$(CC) $(CFLAGS) $(LDFLAGS)) CXX=$(call quoted,$(CXX)) \
	  PKG_CONFIG=$(call quoted,$(PKG_CONFIG)) sh tests/installed/run.sh $(SCRATCH)/prefix $(SCRATCH)/programs
	$(Q)mkdir -p $(call quoted,$(STAGED)/usr/include/mha)
	$(Q)touch $(call quoted,$(STAGED)/usr/include/mha/other.h)
	$(Q)$(MAKE) --no-print-directory $(call scratch_folders,$(STAGED),/usr) install > /dev/null
	$(Q)$(MAKE) --no-print-directory $(call scratch_folders,$(STAGED),/usr) install > /dev/null
	$(Q)cd $(call quoted,$(STAGED)/usr) && find . ! -type d ! -name other.h | sed 's|^\./||' | sort \
	  | diff $(SCRATCH)/programs/expected -
	$(Q)grep -qx prefix=/usr $(call quoted,$(STAGED)/usr/lib/pkgconfig/mha.pc)
	$(Q)$(MAKE) --no-print-directory $(call scratch_folders,$(STAGED),/usr) uninstall
	$(Q)$(MAKE) --no-print-directory $(call scratch_folders,,$(SCRATCH)/prefix) uninstall
	$(Q)test -e $(call quoted,$(STAGED)/usr/include/mha/other.h)
	$(Q)! find $(SCRATCH)/prefix $(call quoted,$(STAGED)) ! -type d ! -name other.h | grep .
	$(Q)! test -e $(SCRATCH)/prefix/include/mha

# Both doors in one file with the long names, one without; a header past the door; flags that are
# refused.
doors:
	$(Q)printf '#define MHA_NO_SHORT_NAMES\n#include <mha/mha32.h>\n#include <mha/mha64.h>\n%s\n' \
	  'mha_f32_real a; mha_f64_weights w; mha_f32_layer *l;' | $(CC) -std=c11 -Iinclude -fsyntax-only -x c -
	$(Q)! printf '#include <mha/mha32.h>\n#include <mha/mha64.h>\n' \
	  | $(CC) -std=c11 -Iinclude -fsyntax-only -x c - 2>/dev/null
	$(Q)! printf '#include <mha/layer.h>\n' | $(CC) -std=c11 -Iinclude -fsyntax-only -x c - 2>/dev/null
	$(Q)! printf '#include <mha/mha32.h>\n' \
	  | $(CC) -std=c11 -ffast-math -Iinclude -fsyntax-only -x c - 2>/dev/null
	$(Q)! $(MAKE) -n CFLAGS=-ffast-math help > /dev/null 2>&1
	$(Q)! $(MAKE) -n CFLAGS=-Ofast help > /dev/null 2>&1

# The same tests under sanitizers and valgrind: in one process, where leaks are looked for once and not
# after each test; then those that need a process of their own.
sanitize: sanitize-address sanitize-valgrind sanitize-thread
sanitize-address:
	$(Q)$(MAKE) --no-print-directory SANITIZE=address,undefined check-in-one-process
check-in-one-process: check-without-forks check-with-forks threads
check-without-forks: $(BUILD)/check $(BUILD)/mha
	$(Q)$(TEST_ENVIRONMENT) CK_FORK=no CK_EXCLUDE_TAGS=fork $(BUILD)/check
check-with-forks: $(BUILD)/check $(BUILD)/mha
	$(Q)$(TEST_ENVIRONMENT) CK_INCLUDE_TAGS=fork CK_TIMEOUT_MULTIPLIER=10 $(BUILD)/check
# On one thread: those of OpenMP stay, so that what is kept for them looks lost, and under valgrind a process
# that has threads does not learn why another could not be started.
sanitize-valgrind: $(BUILD)/check $(BUILD)/mha
	$(Q)$(TEST_ENVIRONMENT) OMP_NUM_THREADS=1 CK_FORK=no CK_EXCLUDE_TAGS="fork long" valgrind --quiet \
	  --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite,possible $(BUILD)/check

# What takes minutes: 200 kills, full disks of many sizes.
SOAK_OBJ := $(patsubst %.c,$(BUILD)/common/%.o,$(wildcard tests/soak/*.c))
$(BUILD)/soak: $(SOAK_OBJ) $(filter-out %/tests/main.o,$(TEST_OBJ)) $(TESTED_OBJ) $(IO_OBJ) $(CORE_OBJ)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LDLIBS) $(call package_libs,check $(PROGRAM_PACKAGES)) -lm -o $@
soak: $(BUILD)/mha $(BUILD)/soak
	$(Q)$(TEST_ENVIRONMENT) $(BUILD)/soak

include tests/fuzz/fuzz.mk tests/threads/threads.mk tests/bench/bench.mk

-include $(TEST_OBJ:.o=.d) $(SOAK_OBJ:.o=.d)
