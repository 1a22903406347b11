# make install and make uninstall. The folders are absolute paths; DESTDIR, which may be any text, stands
# before them for staging and in no installed file.

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
INSTALL    ?= install

# What is installed, part by part: files, their folder and their mode. make uninstall walks the same
# table. The links of the shared libraries are copied as links.
INSTALLED := program libraries links packages headers manual completion
INSTALLED_FILES = $(foreach part,$(INSTALLED),$($(part)_files))

program_files    := $(BUILD)/mha
program_folder    = $(BINDIR)
program_mode     := 755
libraries_files  := $(ARCHIVES) $(SHARED)
libraries_folder  = $(LIBDIR)
libraries_mode   := 644
links_files      := $(SHARED_LINKS)
links_folder      = $(LIBDIR)
packages_files   := $(BUILD)/mha.pc $(BUILD)/mha_io.pc
packages_folder   = $(LIBDIR)/pkgconfig
packages_mode    := 644
headers_files    := $(wildcard include/mha/*.h)
headers_folder    = $(INCLUDEDIR)/mha
headers_mode     := 644
manual_files     := $(BUILD)/mha.1
manual_folder     = $(MANDIR)/man1
manual_mode      := 644
completion_files := $(BUILD)/completions/mha
completion_folder = $(DATADIR)/bash-completion/completions
completion_mode  := 644

# A text as one word of the shell, and as the replacement of a sed command s|...|...|.
quoted = '$(subst ','\'',$(1))'
replacement = $(subst &,\&,$(subst |,\|,$(subst \,\\,$(1))))
fill = -e $(call quoted,s|@$(1)@|$(call replacement,$(2))|g)
# In a .pc file folders below PREFIX move with it.
below_prefix = $(subst $(newline),,$(subst $(newline)$(PREFIX)/,$${prefix}/,$(newline)$(1)))
define newline


endef

$(BUILD)/%.pc: src/%.pc.in FORCE
	@mkdir -p $(@D)
	$(Q)sed $(call fill,VERSION,$(VERSION)) $(call fill,PREFIX,$(PREFIX)) $(call fill,OPENMP,$(OPENMP)) \
	  $(call fill,LIBDIR,$(call below_prefix,$(LIBDIR))) \
	  $(call fill,INCLUDEDIR,$(call below_prefix,$(INCLUDEDIR))) $< > $@

$(BUILD)/mha.1: train/mha.1.in src/base/error.c
	@mkdir -p $(@D)
	$(Q)sed $(call fill,VERSION,$(VERSION)) $< > $@

$(BUILD)/completions/mha: train/completion.bash
	@mkdir -p $(@D)
	$(Q)cp $< $@

destination = $(call quoted,$(DESTDIR)$($(1)_folder))

define install_part
$(Q)$(if $($(1)_mode),$(INSTALL) -m $($(1)_mode),cp -Pf) $($(1)_files) $(call destination,$(1))

endef

define uninstall_part
$(Q)for name in $(notdir $($(1)_files)); do rm -f $(call destination,$(1))/"$$name" || exit 1; done

endef

install: install-folders $(INSTALLED_FILES)
	$(foreach part,$(INSTALLED),$(call install_part,$(part)))
	@printf 'installed mha %s in %s\n' $(VERSION) $(call quoted,$(DESTDIR)$(PREFIX))
	$(if $(DESTDIR),,@printf '%s\n' 'Programs linked with libmha.so may need `ldconfig` (as root) to find it.')

# Below an empty PREFIX everything would go into the root folder, perhaps by a variable that is not set.
.PHONY: install-prefix
install-prefix:
	@test -n $(call quoted,$(PREFIX)) || { \
	  printf 'make: PREFIX is empty: give PREFIX=/ for the root folder\n' >&2; exit 1; }

# Nothing is written before every folder is known to be there and writable.
install-folders: install-prefix $(INSTALLED_FILES)
	@for folder in $(foreach part,$(INSTALLED),$(call quoted,$($(part)_folder))); do \
	  case $$folder in /*) ;; *) \
	    printf 'make install: %s is not an absolute path\n' "$$folder" >&2; exit 1 ;; esac; \
	  $(INSTALL) -d $(call quoted,$(DESTDIR))"$$folder" && test -w $(call quoted,$(DESTDIR))"$$folder" || { \
	    printf 'make install: %s cannot be written to: become root, or give PREFIX=$$HOME/.local\n' \
	      $(call quoted,$(DESTDIR))"$$folder" >&2; exit 1; }; done

uninstall: install-prefix
	$(foreach part,$(INSTALLED),$(call uninstall_part,$(part)))
	$(Q)rmdir $(call destination,headers) 2>/dev/null || :
