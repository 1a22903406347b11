# The same bits from every instruction set that fuses, any number of threads and both modes.
#   bits-here   this processor's sets, few trainings: part of make check
#   bits        many trainings, also the tile of v4 in the code of v3, and, where a cross compiler and
#               qemu are installed, aarch64

BITS_OBJ := $(BUILD)/common/tests/bits/main.o $(BUILD)/common/tests/bits/training.o \
  $(BUILD)/f32/tests/bits/bits.o $(BUILD)/f64/tests/bits/bits.o
BITS := $(BUILD)/bits/program
FEW_TRAININGS  := 24
MANY_TRAININGS := 300
THREAD_COUNTS  := 1 2 3 8

.PHONY: bits bits-here

$(BITS): $(BITS_OBJ) $(CORE_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LDLIBS) -lm -o $@

bits-here: $(BITS)
	$(Q)sh tests/bits/run.sh $(BUILD)/bits/few $(BITS) $(FEW_TRAININGS) $(THREAD_COUNTS)

# bits_build FOLDER VARIABLE=VALUE...: the program once more, built otherwise.
bits_build = $(MAKE) --no-print-directory BUILD=$(BUILD)/bits/$(1) $(2) $(BUILD)/bits/$(1)/bits/program
AARCH64_CC  ?= aarch64-linux-gnu-gcc
AARCH64_RUN ?= qemu-aarch64-static -L /usr/aarch64-linux-gnu
HAVE_AARCH64 = $(shell command -v $(AARCH64_CC) > /dev/null && command -v $(firstword $(AARCH64_RUN)) > /dev/null && echo yes)
bits: $(BITS)
	+$(Q)$(if $(filter v3,$(KERNEL_SETS)),$(call bits_build,tile-v4,CPPFLAGS='$(CPPFLAGS) -DMHA_TILE_V4'))
	+$(Q)$(if $(HAVE_AARCH64),$(call bits_build,aarch64,CC=$(AARCH64_CC) PKG_CONFIG=:))
	$(Q)$(if $(filter v3,$(KERNEL_SETS)),TILE_V4='$(BUILD)/bits/tile-v4/bits/program') \
	  $(if $(HAVE_AARCH64),AARCH64='$(AARCH64_RUN) $(BUILD)/bits/aarch64/bits/program') \
	  sh tests/bits/run.sh $(BUILD)/bits/many $(BITS) $(MANY_TRAININGS) $(THREAD_COUNTS)

-include $(BITS_OBJ:.o=.d)
