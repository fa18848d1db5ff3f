#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

char* readFile(const char* folder, const char* file, long long* bytes) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s/%s", folder, file);
  if (length < 0 || (size_t)length >= sizeof path) return fail("%s: the path is too long", file), NULL;
  FILE* f = fopen(path, "rb");
  if (!f) return fail("%s: %s", file, strerror(errno)), NULL;
  char* all = NULL;
  errno = 0;
  /* A folder can be opened, but not be read. */
  if (fseek(f, 0, SEEK_END) == 0 && (*bytes = ftell(f)) >= 0 && *bytes < (1LL << 40) && fseek(f, 0, SEEK_SET) == 0 &&
      (all = malloc((size_t)*bytes + 1)) && fread(all, 1, (size_t)*bytes, f) == (size_t)*bytes) {
    all[*bytes] = 0;
  } else {
    fail("%s: %s", file, errno ? strerror(errno) : "cannot be read");
    free(all);
    all = NULL;
  }
  fclose(f);
  return all;
}

char* readExactly(const char* folder, const char* file, long long bytes) {
  long long have = 0;
  char* all = readFile(folder, file, &have);
  if (all && have != bytes) {
    fail("%s: %lld bytes, and call.txt says %lld", file, have, bytes);
    free(all);
    return NULL;
  }
  return all;
}
