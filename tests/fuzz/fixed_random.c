/* Loaded before libc by `scripts/fuzz.sh --fixed`, so that hash tables get the same keys in every run: their probing is coverage
 * that libFuzzer follows, and random keys would lead it elsewhere each time. For fuzz targets only; nothing else may load it. */
#include <string.h>
#include <sys/types.h>

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    (void)flags;
    memset(buffer, 0, length);
    return (ssize_t)length;
}
