# Tests. tests/*.c are compiled once, tests/numeric/*.c once a precision (MHA_PRECISION).

TEST_COMMON  := $(wildcard tests/*.c)
TEST_NUMERIC := $(wildcard tests/numeric/*.c)
TEST_OBJ := $(TEST_COMMON:%.c=$(BUILD)/common/%.o) \
            $(TEST_NUMERIC:%.c=$(BUILD)/f32/%.o) $(TEST_NUMERIC:%.c=$(BUILD)/f64/%.o)
# The program's own modules, without its main, are tested too.
TESTED_OBJ := $(filter-out %/train/main.o,$(PROGRAM_OBJ))

.PHONY: check sanitize

$(BUILD)/common/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Isrc -Itrain -Itests $(call package_flags,check $(PROGRAM_PACKAGES)) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/f32/tests/%.o $(BUILD)/f64/tests/%.o: ALL_CPPFLAGS += -Itests $(call package_flags,check)

$(BUILD)/check: $(TEST_OBJ) $(TESTED_OBJ) $(IO_OBJ) $(CORE_OBJ)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LDLIBS) $(call package_libs,check $(PROGRAM_PACKAGES)) -lm -o $@

check: $(BUILD)/mha $(BUILD)/check
	$(Q)MHA=$(BUILD)/mha $(BUILD)/check

-include $(TEST_OBJ:.o=.d)
