# Tests of threads, in a program that Check does not fork: a forked process computes on one thread.

THREADS_OBJ := $(patsubst %.c,$(BUILD)/common/%.o,$(wildcard tests/threads/*.c))
$(BUILD)/check-threads: $(THREADS_OBJ) $(CORE_OBJ)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LDLIBS) $(call package_libs,check) -lm -o $@

.PHONY: threads sanitize-thread thread-sanitized
threads: $(BUILD)/check-threads
	$(Q)$(TEST_ENVIRONMENT) $(abspath $<)

# Races, by the thread sanitizer of clang. LLVM's OpenMP tells it through libarcher, which is found
# beside libomp, which threads wait for which; the runtime itself is not watched. (gcc's libgomp
# tells nothing, so that every barrier looks like a race; and libarcher 14 loses track of nested
# regions.)
ARCHER := ignore_noninstrumented_modules=1 halt_on_error=1
sanitize-thread:
	$(Q)$(MAKE) --no-print-directory CC=clang OPENMP=-fopenmp SANITIZE=thread BUILD=$(BUILD)/sanitize-thread \
	  CFLAGS='-O1 -g' thread-sanitized
thread-sanitized: $(BUILD)/check-threads $(BUILD)/mha
	$(Q)$(TEST_ENVIRONMENT) TSAN_OPTIONS='$(ARCHER)' CK_EXCLUDE_TAGS=nested $(abspath $<)
	$(Q)rm -rf $(BUILD)/run
	$(Q)$(TEST_ENVIRONMENT) TSAN_OPTIONS='$(ARCHER)' $(BUILD)/mha train reverse --steps 5 --batch 32 --target-length 64 --width 80 \
	  --threads 2 --quiet -o $(BUILD)/run

-include $(THREADS_OBJ:.o=.d)
