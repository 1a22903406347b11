# Tests. tests/*.c are compiled once, tests/numeric/*.c once a precision (MHA_PRECISION).

TEST_COMMON  := $(wildcard tests/*.c tests/planted/*.c)
TEST_NUMERIC := $(wildcard tests/numeric/*.c)
TEST_OBJ := $(TEST_COMMON:%.c=$(BUILD)/common/%.o) \
            $(TEST_NUMERIC:%.c=$(BUILD)/f32/%.o) $(TEST_NUMERIC:%.c=$(BUILD)/f64/%.o)
# The program's own modules, without its main, are tested too.
TESTED_OBJ := $(filter-out %/train/main.o,$(PROGRAM_OBJ))

.PHONY: check complex-ready kernels-allocate-nothing sanitize sanitize-address sanitize-valgrind

$(BUILD)/common/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Isrc -Itrain -Itests $(call package_flags,check $(PROGRAM_PACKAGES)) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/f32/tests/%.o $(BUILD)/f64/tests/%.o: ALL_CPPFLAGS += -Itests $(call package_flags,check)

$(BUILD)/check: $(TEST_OBJ) $(TESTED_OBJ) $(IO_OBJ) $(CORE_OBJ)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LDLIBS) $(call package_libs,check $(PROGRAM_PACKAGES)) -lm -o $@

check: $(BUILD)/mha $(BUILD)/check $(BUILD)/readme-example complex-ready kernels-allocate-nothing
	$(Q)MHA=$(abspath $(BUILD)/mha) $(BUILD)/check
	$(Q)$(BUILD)/readme-example
	@echo 'make check: all tests passed'

# The C example of the README, as it stands there, against the library alone.
$(BUILD)/readme-example.c: README.md
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)awk '/^```c$$/ {on = 1; next} /^```$$/ {on = 0} on' README.md > $@
$(BUILD)/readme-example: $(BUILD)/readme-example.c $(BUILD)/libmha.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< $(BUILD)/libmha.a $(LDLIBS) -lm -o $@

# Neither operators nor matrix products take memory, print or end the program.
kernels-allocate-nothing: $(F32_OBJ) $(F64_OBJ)
	$(Q)! nm -u $(filter $(BUILD)/f32/src/math/% $(BUILD)/f32/src/ops/% \
	  $(BUILD)/f64/src/math/% $(BUILD)/f64/src/ops/%,$^) \
	  | grep -wE 'malloc|calloc|realloc|free|aligned_alloc|printf|fprintf|puts|exit|abort'

# The routines of the readable wing compile for a complex precision too.
COMPLEX_OBJ := $(patsubst %.c,$(BUILD)/c128/%.o,$(wildcard src/math/*.c src/ops/*.c src/layer/*.c))
complex-ready: $(COMPLEX_OBJ)
$(BUILD)/c128/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Isrc -DMHA_PRECISION=128 $(ALL_CFLAGS) $(optimise) -c $< -o $@

# The same tests under sanitizers, without forks under valgrind so that it sees leaks.
sanitize: sanitize-address sanitize-valgrind
sanitize-address:
	$(Q)CK_TIMEOUT_MULTIPLIER=10 $(MAKE) --no-print-directory SANITIZE=address,undefined check
sanitize-valgrind: $(BUILD)/check $(BUILD)/mha
	$(Q)MHA=$(abspath $(BUILD)/mha) CK_FORK=no CK_EXCLUDE_TAGS="fork long" valgrind --quiet --error-exitcode=1 \
	  --leak-check=full --errors-for-leak-kinds=definite,possible $(BUILD)/check

-include $(TEST_OBJ:.o=.d) $(COMPLEX_OBJ:.o=.d)
