#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "shared.h"

static FILE* file;
static int* isFirst; /* in the current object or list; shared by all processes that write */

static void quote(const char* text) {
  fputc('"', file);
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    if ((unsigned char)*text < 0x20)
      fprintf(file, "\\u%04x", *text);
    else
      fputc(*text, file);
  }
  fputc('"', file);
}

static int next(const char* name) {
  if (!file) return 0;
  fputs(*isFirst ? "\n" : ",\n", file);
  *isFirst = 0;
  if (name) {
    quote(name);
    fputs(": ", file);
  }
  return 1;
}

int openReport(const char* path) {
  if (!path) return 1;
  isFirst = sharedMemory(sizeof *isFirst);
  *isFirst = 1;
  file = fopen(path, "w");
  return file ? 1 : fail("%s: %s", path, strerror(errno));
}

void flushReport(void) {
  if (file) fflush(file);
}

void reportText(const char* name, const char* value) {
  if (next(name)) quote(value);
}

void reportNumber(const char* name, double value) {
  if (!next(name)) return;
  if (isfinite(value))
    fprintf(file, "%.9g", value);
  else
    fputs("null", file);
}

static void begin(const char* name, char bracket) {
  if (!next(name)) return;
  fputc(bracket, file);
  *isFirst = 1;
}

static void end(char bracket) {
  if (!file) return;
  fputc('\n', file);
  fputc(bracket, file);
  *isFirst = 0;
}

void beginObject(const char* name) { begin(name, '{'); }
void endObject(void) { end('}'); }
void beginList(const char* name) { begin(name, '['); }
void endList(void) { end(']'); }

int closeReport(void) {
  if (!file) return 1;
  fputc('\n', file);
  const int failed = ferror(file) | fclose(file);
  file = NULL;
  return !failed || fail("the report could not be written");
}
