/* Folders of calls. */
#pragma once

#include <stddef.h>

struct Folder {
  char* path;
  const char* wrong; /* why it is not a call; NULL: it has a call.txt */
};

struct Folders {
  struct Folder* all;
  size_t count;
};

/* Adds the folder if it has a call.txt, otherwise those below it, in the order of their names. A folder without either
 * is an error. */
void findCalls(const char* folder, struct Folders*);
