#include "folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add(struct Folders* to, const char* path, const char* wrong) {
  to->all = realloc(to->all, (to->count + 1) * sizeof *to->all);
  if (!to->all) abort();
  to->all[to->count++] = (struct Folder){strdup(path), wrong};
}

/* No links, which may lead back. */
static int isFolder(const char* path) {
  struct stat s;
  return lstat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static int isThere(const char* path) {
  struct stat s;
  return stat(path, &s) == 0;
}

static int byName(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

void findCalls(const char* folder, struct Folders* to) {
  char path[4096], **names = NULL;
  size_t n = 0, folders = 0;
  if (snprintf(path, sizeof path, "%s/call.txt", folder) >= (int)sizeof path)
    return add(to, folder, "the path is too long");
  if (isThere(path)) return add(to, folder, NULL);
  DIR* open = opendir(folder);
  if (!open) return add(to, folder, strerror(errno));
  for (struct dirent* e; (e = readdir(open));) {
    if (e->d_name[0] == '.') continue;
    names = realloc(names, (n + 1) * sizeof *names);
    if (!names) abort();
    names[n++] = strdup(e->d_name);
  }
  closedir(open);
  qsort(names, n, sizeof *names, byName);
  for (size_t i = 0; i < n; ++i) {
    if (snprintf(path, sizeof path, "%s/%s", folder, names[i]) < (int)sizeof path && isFolder(path)) {
      ++folders;
      findCalls(path, to);
    }
    free(names[i]);
  }
  free(names);
  if (!folders) add(to, folder, "call.txt: No such file or directory");
}
