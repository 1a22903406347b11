# Fuzzing the readers of arrays with libFuzzer under address and undefined-behaviour sanitizers (needs
# clang and its run-time libraries, on Debian 12 libclang-rt-14-dev):
# no crash, no file that takes a second, no allocation above 50 MB. FUZZ_SECONDS a target; finds stay in
# $(BUILD)/fuzz.

FUZZ_SECONDS ?= 600
FUZZ_TARGETS := npy safetensors
FUZZ_BUILD   := $(BUILD)/fuzz

.PHONY: fuzz fuzz-programs $(FUZZ_TARGETS:%=fuzz-%)

fuzz: $(FUZZ_TARGETS:%=fuzz-%)
	@echo 'make fuzz: nothing found'

$(FUZZ_TARGETS:%=fuzz-%): fuzz-%: fuzz-programs
	@mkdir -p $(FUZZ_BUILD)/corpus-$*
	cd $(FUZZ_BUILD) && ./fuzz-$* -max_total_time=$(FUZZ_SECONDS) -timeout=1 -malloc_limit_mb=50 \
	  -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 corpus-$* $(abspath tests/fuzz/corpus/$*)

fuzz-programs:
	$(Q)$(MAKE) --no-print-directory CC=clang CFLAGS='-O1 -g' BUILD=$(FUZZ_BUILD) \
	  SANITIZE=fuzzer-no-link,address,undefined $(FUZZ_TARGETS:%=$(FUZZ_BUILD)/fuzz-%)

$(BUILD)/fuzz-%: $(BUILD)/common/tests/fuzz/fuzz_%.o $(BUILD)/common/tests/fuzz/fuzz_reader.o $(IO_OBJ) $(CORE_OBJ)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -fsanitize=fuzzer $^ $(LDLIBS) $(call package_libs,$(IO_PACKAGES)) -lm -o $@
