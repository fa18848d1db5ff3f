#include "call.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "types.h"

static const long long kMostBytes = 1LL << 40;

/* A line that is being read, word by word. */
struct Line {
  char* at;
  int number;
};

/* The next word; "": there is none. */
static char* word(struct Line* line) {
  while (*line->at == ' ') ++line->at;
  char* begin = line->at;
  while (*line->at && *line->at != ' ') ++line->at;
  if (*line->at) *line->at++ = 0;
  return begin;
}

static int wrong(const struct Line* line, const char* what) {
  return fail("call.txt, line %d: %s", line->number, what);
}

/* Whether the next word is this one. */
static int expect(struct Line* line, const char* name) { return strcmp(word(line), name) == 0; }

static int toNumber(const char* text, long long least, long long most, long long* to) {
  char* end;
  if (!isdigit((unsigned char)*text)) return 0;
  errno = 0;
  *to = strtoll(text, &end, 10);
  return !*end && !errno && *to >= least && *to <= most;
}

static int number(struct Line* line, long long least, long long most, long long* to) {
  return toNumber(word(line), least, most, to);
}

static int integer(struct Line* line, int most, int* to) {
  long long value;
  return number(line, 0, most, &value) && (*to = (int)value, 1);
}

static int named(struct Line* line, const char* name, long long most, long long* to) {
  return expect(line, name) && number(line, 0, most, to);
}

static int real(struct Line* line, double* to) {
  const char* text = word(line);
  char* end;
  *to = strtod(text, &end);
  return *text && !*end && *to > -1e30 && *to < 1e30;
}

static int copyText(const char* text, char* to, size_t bytes) {
  const size_t length = strlen(text);
  return length > 0 && length < bytes && (memcpy(to, text, length + 1), 1);
}

/* "N,N,N" */
static int numbers(char* text, long long most, long long* to) {
  int n = 0;
  for (char* part = strtok(text, ","); part; part = strtok(NULL, ","))
    if (n == kDimensions || !toNumber(part, 1, most, &to[n++])) return 0;
  return n;
}

static int readType(struct Line* line, char* type) {
  return copyText(word(line), type, sizeof((struct Array*)0)->type) && bytesOf(type) > 0;
}

/* "sm_90a" */
static int readArchitecture(const char* name, struct Code* code) {
  if (strncmp(name, "sm_", 3) || !copyText(name, code->architecture, sizeof code->architecture)) return 0;
  char* end;
  code->capability = isdigit((unsigned char)name[3]) ? (int)strtol(name + 3, &end, 10) : 0;
  if (code->capability < 10) return 0;
  code->isExact = *end == 'a';
  return !end[code->isExact];
}

static int readCode(struct Line* line, struct Call* call) {
  if (call->codes == kMostCodes) return wrong(line, "too many architectures");
  struct Code* code = &call->code[call->codes++];
  if (!readArchitecture(word(line), code)) return wrong(line, "not an architecture");
  for (int i = 0; i + 1 < call->codes; ++i)
    if (!strcmp(call->code[i].architecture, code->architecture))
      return wrong(line, "the architecture is there already");
  if (!named(line, "points", INT64_MAX, &code->points) || !named(line, "threads", 1024, &code->threads) ||
      !named(line, "shared", 1 << 20, &code->shared) || !named(line, "workspace", kMostBytes, &code->workspace) ||
      !expect(line, "files"))
    return wrong(line, "not a launch");
  if (code->threads == 0 || code->threads % 32) return wrong(line, "threads must be whole warps of 32");
  const char* files = word(line);
  code->hasCubin = strstr(files, "cubin") != NULL;
  code->hasPtx = strstr(files, "ptx") != NULL;
  return code->hasCubin || code->hasPtx || wrong(line, "without files");
}

static int readMap(struct Line* line, struct Call* call) {
  const char* architecture = word(line);
  struct Code* code = NULL;
  for (int i = 0; i < call->codes; ++i)
    if (!strcmp(call->code[i].architecture, architecture)) code = &call->code[i];
  if (!code) return wrong(line, "a tensor map for code that is not there");
  if (code->maps == kMostMaps) return wrong(line, "too many tensor maps");
  struct Map* map = &code->map[code->maps++];
  long long boxRank;
  if (!expect(line, "array") || !integer(line, kMostArrays - 1, &map->array) || !expect(line, "bytes") ||
      !integer(line, 4, &map->bytes) || !expect(line, "extents") ||
      !(map->rank = numbers(word(line), 1LL << 32, map->extents)) || !expect(line, "box") ||
      !(boxRank = numbers(word(line), 256, map->box)))
    return wrong(line, "not a tensor map");
  return ((map->bytes == 1 || map->bytes == 2 || map->bytes == 4) && boxRank == map->rank) ||
         wrong(line, "a tensor map of impossible sizes");
}

static int readOperand(struct Line* line, struct Call* call, int isAlias) {
  if (call->results) return wrong(line, "an operand after the results");
  if (call->operands == kMostArrays) return wrong(line, "too many arrays");
  struct Array* a = &call->array[call->operands++];
  if (isAlias) {
    a->content = kAlias;
    return integer(line, kMostArrays, &a->other) || wrong(line, "not the number of a result");
  }
  if (!number(line, 0, kMostBytes, &a->bytes)) return wrong(line, "not a number of bytes");
  const char* content = word(line);
  if (!strcmp(content, "file")) return a->content = kFile, 1;
  if (!strcmp(content, "as")) {
    a->content = kSame;
    if (!integer(line, call->operands - 2, &a->other)) return wrong(line, "not the number of an earlier operand");
    const struct Array* same = &call->array[a->other];
    return ((same->content == kFile || same->content == kRandom) && same->bytes == a->bytes) ||
           wrong(line, "another size than the operand whose memory it has");
  }
  if (strcmp(content, "random")) return wrong(line, "neither file nor random nor as");
  a->content = kRandom;
  if (!readType(line, a->type) || !canRound(a->type) || !real(line, &a->centre) || !real(line, &a->radius))
    return wrong(line, "not a type, a centre and a radius");
  return a->bytes % bytesOf(a->type) == 0 || wrong(line, "not a whole number of elements");
}

static int readResult(struct Line* line, struct Call* call) {
  if (call->operands + call->results == kMostArrays) return wrong(line, "too many arrays");
  struct Array* a = &call->array[call->operands + call->results++];
  if (!number(line, 0, kMostBytes, &a->bytes)) return wrong(line, "not a number of bytes");
  if (!readType(line, a->type)) return wrong(line, "an unknown type");
  if (a->bytes % bytesOf(a->type)) return wrong(line, "not a whole number of elements");
  const char* content = word(line);
  a->content = strcmp(content, "file") ? kComputed : kFile;
  return a->content == kFile || !strcmp(content, "computed") || wrong(line, "neither file nor computed");
}

static int readCheck(struct Line* line, struct Call* call) {
  if (!copyText(word(line), call->kind, sizeof call->kind)) return wrong(line, "without a kind");
  for (char* text; *(text = word(line));) {
    char* value = strchr(text, '=');
    if (!value || call->sizes == kMostSizes) return wrong(line, "not a list of sizes");
    *value++ = 0;
    if (!copyText(text, call->size[call->sizes].name, sizeof call->size[0].name) ||
        !toNumber(value, 0, kMostBytes, &call->size[call->sizes++].value))
      return wrong(line, "not a size");
  }
  return 1;
}

static int readRest(struct Line* line, char* to, size_t bytes) {
  const char* text = line->at;
  line->at += strlen(text);
  return copyText(text, to, bytes) || wrong(line, "too long, or empty");
}

static int readWork(struct Line* line, struct Call* call) {
  const char* what = word(line);
  double* to = !strcmp(what, "flops") ? &call->flops : !strcmp(what, "bytes") ? &call->movedBytes : NULL;
  return (to && real(line, to) && *to > 0) || wrong(line, "not an amount of work");
}

static int readLine(struct Line* line, struct Call* call) {
  const char* what = word(line);
  const int done = !strcmp(what, "code")      ? readCode(line, call)
                   : !strcmp(what, "map")     ? readMap(line, call)
                   : !strcmp(what, "operand") ? readOperand(line, call, 0)
                   : !strcmp(what, "alias")   ? readOperand(line, call, 1)
                   : !strcmp(what, "result")  ? readResult(line, call)
                   : !strcmp(what, "row")     ? readRest(line, call->row, sizeof call->row)
                   : !strcmp(what, "part")    ? readRest(line, call->part, sizeof call->part)
                   : !strcmp(what, "blocks")  ? readRest(line, call->blocks, sizeof call->blocks)
                   : !strcmp(what, "work")    ? readWork(line, call)
                   : !strcmp(what, "check")   ? readCheck(line, call)
                   : !strcmp(what, "prints")
                       ? number(line, 0, kMostBytes, &call->printBytes) || wrong(line, "not a number of bytes")
                       : wrong(line, "not understood");
  return done && (!*word(line) || wrong(line, "more than expected"));
}

/* What one line alone does not show. */
static int checkCall(struct Call* call) {
  if (!call->codes) return fail("call.txt: no code");
  if (!call->results) return fail("call.txt: no results");
  for (int i = 0; i < call->operands; ++i) {
    struct Array* a = &call->array[i];
    if (a->content != kAlias) continue;
    if (a->other >= call->results)
      return fail("call.txt: operand %d is an alias of result %d, and there are %d", i, a->other, call->results);
    a->bytes = call->array[call->operands + a->other].bytes;
  }
  for (int c = 0; c < call->codes; ++c)
    for (int m = 0; m < call->code[c].maps; ++m) {
      const struct Map* map = &call->code[c].map[m];
      if (map->array >= call->operands + call->results)
        return fail("call.txt: a tensor map of array %d, and there are %d", map->array, call->operands + call->results);
      double bytes = map->bytes;
      for (int d = 0; d < map->rank; ++d) bytes *= (double)map->extents[d];
      if (bytes > (double)call->array[map->array].bytes)
        return fail("call.txt: a tensor map of more bytes than array %d has", map->array);
    }
  return 1;
}

int readCall(const char* folder, struct Call* call) {
  enum { kVersion = 4 };
  long long bytes = 0;
  memset(call, 0, sizeof *call);
  char* text = readFile(folder, "call.txt", &bytes);
  if (!text) return 0;
  int version = 0, ended = 0, ok = 1;
  if ((long long)strlen(text) != bytes)
    ok = fail("call.txt: not text");
  else if (sscanf(text, "smalti-gpu-call %d", &version) != 1)
    ok = fail("call.txt: not the description of a call");
  else if (version != kVersion)
    ok = fail("call.txt: of version %d, and this program reads version %d", version, kVersion);
  struct Line line = {text, 0};
  for (char* next = text; ok && *next;) {
    line.at = next;
    ++line.number;
    next += strcspn(next, "\n");
    if (*next) *next++ = 0;
    if (ended)
      ok = wrong(&line, "something after the end");
    else if (line.number > 1 && !strcmp(line.at, "end"))
      ended = 1;
    else if (line.number > 1)
      ok = readLine(&line, call);
  }
  free(text);
  if (ok && !ended) ok = fail("call.txt: incomplete: there is no line 'end'");
  return ok && checkCall(call);
}

int sizeOf(const struct Call* call, const char* name, long long* value) {
  for (int i = 0; i < call->sizes; ++i)
    if (!strcmp(call->size[i].name, name)) return *value = call->size[i].value, 1;
  return fail("call.txt: the check '%s' needs '%s'", call->kind, name);
}
