/* Without any font, png and pdf show boxes in place of letters, and gnuplot does not say so. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "plot_picture.h"

enum { DEEPEST_FOLDER = 6, PATH_SIZE = 1024 };

static bool is_font(const char *name) {
    static const char *const endings[] = {
        ".ttf", ".otf", ".ttc", ".pfb", ".pcf.gz", ".TTF", ".OTF"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t size = strlen(endings[i]);
        if (length > size && strcmp(name + length - size, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool folder_has_font(const char *path, int depth) {
    DIR *folder = depth > 0 ? opendir(path) : NULL;
    bool found = false;
    if (folder == NULL) {
        return false;
    }
    for (struct dirent *entry; !found && (entry = readdir(folder)) != NULL;) {
        char inner[PATH_SIZE];
        int size = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        found =
            is_font(entry->d_name) || (entry->d_name[0] != '.' && size > 0 && size < PATH_SIZE &&
                                          folder_has_font(inner, depth - 1));
    }
    closedir(folder);
    return found;
}

static bool fonts_are_installed(void) {
    static const char *const folders[] = {"/usr/share/fonts", "/usr/local/share/fonts",
        "/usr/share/texmf/fonts", "/usr/X11R6/lib/X11/fonts"};
    static const char *const in_home[] = {".fonts", ".local/share/fonts"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (folder_has_font(folders[i], DEEPEST_FOLDER)) {
            return true;
        }
    }
    const char *home = getenv("HOME");
    for (size_t i = 0; home != NULL && i < sizeof in_home / sizeof *in_home; i++) {
        char path[PATH_SIZE];
        int size = snprintf(path, sizeof path, "%s/%s", home, in_home[i]);
        if (size > 0 && size < PATH_SIZE && folder_has_font(path, DEEPEST_FOLDER)) {
            return true;
        }
    }
    return false;
}

void tell_missing_fonts(enum picture_kind kind) {
    if ((kind == PICTURE_PNG || kind == PICTURE_PDF) && !fonts_are_installed()) {
        complain("no fonts found, so the picture may show boxes for letters (Debian package "
                 "fonts-liberation)");
    }
}
