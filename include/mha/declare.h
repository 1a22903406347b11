/* What stands around the declarations of every public header: C linkage for C++, and names that a
 * shared library shows. All other names of the libraries are hidden in it. */
#ifndef MHA_DECLARE_H
#define MHA_DECLARE_H

#if defined(__GNUC__)
#define MHA_NAMES_SHOWN   _Pragma("GCC visibility push(default)")
#define MHA_NAMES_RESTORE _Pragma("GCC visibility pop")
#else
#define MHA_NAMES_SHOWN
#define MHA_NAMES_RESTORE
#endif

#ifdef __cplusplus
#define MHA_DECLARATIONS_BEGIN                                                                     \
    extern "C" {                                                                                   \
    MHA_NAMES_SHOWN
#define MHA_DECLARATIONS_END                                                                       \
    MHA_NAMES_RESTORE                                                                              \
    }
#else
#define MHA_DECLARATIONS_BEGIN MHA_NAMES_SHOWN
#define MHA_DECLARATIONS_END   MHA_NAMES_RESTORE
#endif

#endif
