#include "expect.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "generate.h"
#include "types.h"

/* The elements of an operand: of one period, or all of a file of i32. */
struct Values {
  float* elements;
  long long count;
  int repeats;
};

/* What one check works with. */
struct Check {
  const struct Call* call;
  struct Values operand[kMostArrays];
  char* result; /* the one that is compared now */
  const struct Array* array;
  struct Verdict* verdict;
  double* want; /* a row */
};

/* Element i of an operand; NaN, which is never right, if there is none. */
static double in(const struct Check* c, int operand, long long i) {
  const struct Values* v = &c->operand[operand];
  if (v->repeats) i %= v->count;
  return i >= 0 && i < v->count ? (double)v->elements[i] : (double)NAN;
}

enum { kMostSize = 1 << 20 };

/* The sizes by their names; 0 if one is missing or impossible. */
static int sizes(const struct Check* c, const char* const* names, long long* to, int count) {
  for (int i = 0; i < count; ++i) {
    const int isFlag = !strcmp(names[i], "causal") || !strcmp(names[i], "transposed");
    if (!sizeOf(c->call, names[i], &to[i])) return 0;
    if ((!isFlag && to[i] == 0) || to[i] > kMostSize) return fail("call.txt: the check has an impossible size");
  }
  return 1;
}
#define SIZES(c, to, ...)                     \
  const char* const names[] = {__VA_ARGS__};  \
  long long to[sizeof names / sizeof *names]; \
  if (!sizes(c, names, to, sizeof names / sizeof *names)) return 0

enum { kRows = 8, kElements = 64 };

/* Sample s of n, each of [0, n) about as often: the first, the last, and others in between. */
static long long sample(int s, int samples, long long n) {
  return s == 0 ? 0 : s == samples - 1 ? n - 1 : (long long)((double)n * (s + 0.382) / samples);
}

/* Compares `count` elements at `first`, `step` apart, with c->want. */
static int compareRow(struct Check* c, long long first, long long step, long long count) {
  const int size = bytesOf(c->array->type);
  const double most = size == 4 ? kMostError32 : kMostError16;
  double difference = 0, norm = 0;
  for (long long i = 0; i < count; ++i) {
    const long long at = first + i * step;
    if (at < 0 || (at + 1) * size > c->array->bytes) return fail("call.txt: the check's sizes exceed the result's");
    const double d = toDouble(c->array->type, c->result + at * size) - c->want[i];
    difference += d * d;
    norm += c->want[i] * c->want[i];
  }
  const double error = sqrt(difference / (norm > 0 ? norm : 1));
  c->verdict->elements += count;
  if (!(error <= c->verdict->error)) c->verdict->error = error;
  return error <= most ||
         fail("wrong from element %lld of a result on: error %.2g, at most %.2g is allowed", first, error, most);
}

/* Rows of x @ y: y is of [k, n], or of [n, k]; in groups, whose ends are sizes, each has its own. */
static int product(struct Check* c, int isGrouped) {
  SIZES(c, s, "m", "n", "k", isGrouped ? "groups" : "transposed");
  const long long m = s[0], n = s[1], k = s[2], count = n < kElements ? n : kElements, step = n / count;
  const int x = c->call->operands - 2, y = x + 1;
  for (int r = 0; r < kRows; ++r) {
    const long long i = sample(r, kRows, m), first = sample(r, kRows, n - (count - 1) * step);
    long long base = 0;
    for (long long g = 0, end; isGrouped && g < s[3]; ++g) {
      char name[32];
      snprintf(name, sizeof name, "end%lld", g);
      if (!sizeOf(c->call, name, &end)) return 0;
      if (i >= end) base = (g + 1) * k * n;
    }
    for (long long e = 0; e < count; ++e) {
      const long long j = first + e * step;
      double sum = 0;
      for (long long l = 0; l < k; ++l)
        sum += in(c, x, i * k + l) * in(c, y, base + (!isGrouped && s[3] ? j * k + l : l * n + j));
      c->want[e] = sum;
    }
    if (!compareRow(c, i * n + first, step, count)) return 0;
  }
  return 1;
}

/* Functions of rows of [rows, columns], some with weights of [columns]. */
static int rowFunction(struct Check* c) {
  SIZES(c, s, "rows", "columns");
  const long long n = s[1];
  const char* kind = c->call->kind;
  for (int r = 0; r < kRows; ++r) {
    const long long i = sample(r, kRows, s[0]), at = i * n;
    double most = -INFINITY, sum = 0, squares = 0, weights = 0;
    for (long long j = 0; j < n; ++j) {
      const double v = in(c, 0, at + j);
      most = fmax(most, v), sum += v, squares += v * v;
    }
    for (long long j = 0; j < n; ++j) weights += exp(in(c, 0, at + j) - most);
    const double mean = sum / (double)n, square = squares / (double)n;
    for (long long j = 0; j < n; ++j) {
      const double v = in(c, 0, at + j);
      c->want[j] = !strcmp(kind, "softmax")    ? exp(v - most) / weights
                   : !strcmp(kind, "rms_norm") ? v / sqrt(square + 1e-5) * in(c, 1, j)
                   : !strcmp(kind, "chain")
                       ? v / (1 + exp(-1.702 * v)) + 1
                       : (v - mean) / sqrt(square - mean * mean + 1e-5) * in(c, 1, j) + in(c, 2, j);
    }
    if (!compareRow(c, at, 1, n)) return 0;
  }
  return 1;
}

static double dot(const struct Check* c, int x, long long i, int y, long long j, long long size) {
  double sum = 0;
  for (long long d = 0; d < size; ++d) sum += in(c, x, i * size + d) * in(c, y, j * size + d);
  return sum;
}

/* Rows of softmax(q kᵀ / sqrt(size)) v; all are of [batch, heads, length, size]. */
static int attention(struct Check* c) {
  SIZES(c, s, "batch", "heads", "length", "size", "causal");
  const long long length = s[2], size = s[3];
  for (int r = 0; r < kRows; ++r) {
    const long long row = sample(r, kRows, s[0] * s[1] * length), keys = row / length * length;
    const long long count = s[4] ? row % length + 1 : length;
    double total = 0;
    memset(c->want, 0, (size_t)size * sizeof *c->want);
    for (long long j = keys; j < keys + count; ++j) {
      const double weight = exp(dot(c, 0, row, 1, j, size) / sqrt((double)size));
      total += weight;
      for (long long d = 0; d < size; ++d) c->want[d] += weight * in(c, 2, j * size + d);
    }
    for (long long d = 0; d < size; ++d) c->want[d] /= total;
    if (!compareRow(c, row * size, 1, size)) return 0;
  }
  return 1;
}

/* Rows of the gradients of attention, of q, k, v, the cotangent d, and a logarithm and a delta for each query: with the
 * weights p = 2^(log2(e) q kᵀ / sqrt(size) - logarithm) and e = p (d vᵀ - delta), the gradient of q is e k /
 * sqrt(size), that of k is eᵀ q / sqrt(size), that of v is pᵀ d. `of`: 0 is q, 1 is k, 2 is v. */
static int gradient(struct Check* c, int of) {
  SIZES(c, s, "batch", "heads", "length", "size", "causal");
  const long long length = s[2], size = s[3];
  const double scale = 1 / sqrt((double)size), log2e = 1.4426950408889634;
  for (int r = 0; r < kRows; ++r) {
    const long long row = sample(r, kRows, s[0] * s[1] * length), begin = row / length * length;
    const long long first = of > 0 && s[4] ? row : begin, end = of == 0 && s[4] ? row + 1 : begin + length;
    memset(c->want, 0, (size_t)size * sizeof *c->want);
    for (long long other = first; other < end; ++other) {
      const long long query = of == 0 ? row : other, key = of == 0 ? other : row;
      const double p = exp2(log2e * scale * dot(c, 0, query, 1, key, size) - in(c, 4, query));
      const double e = of == 2 ? 0 : scale * p * (dot(c, 3, query, 2, key, size) - in(c, 5, query));
      for (long long d = 0; d < size; ++d)
        c->want[d] += of == 2 ? p * in(c, 3, query * size + d) : e * in(c, of == 0 ? 1 : 0, other * size + d);
    }
    if (!compareRow(c, row * size, 1, size)) return 0;
  }
  return 1;
}

/* Sums of rows of x * y. */
static int delta(struct Check* c) {
  SIZES(c, s, "batch", "heads", "length", "size");
  for (int r = 0; r < kElements; ++r) {
    const long long row = sample(r, kElements, s[0] * s[1] * s[2]);
    c->want[0] = dot(c, 0, row, 1, row, s[3]);
    /* The norm of its terms: the sum may be as good as 0. */
    double got = toDouble(c->array->type, c->result + row * bytesOf(c->array->type)), terms = 0;
    for (long long d = 0; d < s[3]; ++d) terms += fabs(in(c, 0, row * s[3] + d) * in(c, 1, row * s[3] + d));
    const double error = fabs(got - c->want[0]) / (terms > 0 ? terms : 1);
    c->verdict->elements += 1;
    if (!(error <= c->verdict->error)) c->verdict->error = error;
    if (!(error <= kMostError32))
      return fail("wrong at element %lld of a result: error %.2g, at most %.2g is allowed", row, error, kMostError32);
  }
  return 1;
}

/* One query per sequence of [batch, key heads, heads / key heads, size], keys and values in pages of [key heads, pages,
 * page, size]. Operand 0 has the lengths, operand 1 the pages of each sequence. */
static int decode(struct Check* c) {
  SIZES(c, s, "batch", "heads", "key_heads", "length", "page", "size");
  const long long page = s[4], size = s[5], perSequence = s[3] / page, pages = s[0] * perSequence;
  const int k = 3, v = c->call->operands - 1;
  if (s[1] % s[2]) return fail("call.txt: the check has an impossible size");
  for (int r = 0; r < kRows; ++r) {
    const long long row = sample(r, kRows, s[0] * s[1]), sequence = row / s[1], head = row % s[1] / (s[1] / s[2]);
    double total = 0;
    memset(c->want, 0, (size_t)size * sizeof *c->want);
    for (long long j = 0; j < (long long)in(c, 0, sequence); ++j) {
      const long long key = (head * pages + (long long)in(c, 1, sequence * perSequence + j / page)) * page + j % page;
      const double weight = exp(dot(c, 2, row, k, key, size) / sqrt((double)size));
      total += weight;
      for (long long d = 0; d < size; ++d) c->want[d] += weight * in(c, v, key * size + d);
    }
    for (long long d = 0; d < size; ++d) c->want[d] /= total;
    if (!compareRow(c, row * size, 1, size)) return 0;
  }
  return 1;
}

static int checkResult(struct Check* c, int result) {
  const char* kind = c->call->kind;
  if (!strcmp(kind, "matmul")) return product(c, 0);
  if (!strcmp(kind, "grouped")) return product(c, 1);
  if (!strcmp(kind, "attention")) return attention(c);
  if (!strcmp(kind, "queries")) return gradient(c, 0);
  if (!strcmp(kind, "keys")) return gradient(c, 1 + result);
  if (!strcmp(kind, "delta")) return delta(c);
  if (!strcmp(kind, "decode")) return decode(c);
  if (!strcmp(kind, "softmax") || !strcmp(kind, "rms_norm") || !strcmp(kind, "layer_norm") || !strcmp(kind, "chain"))
    return rowFunction(c);
  return fail("call.txt: an unknown check: '%s'", kind);
}

static int loadValues(const char* folder, struct Check* c, int i) {
  const struct Array* a = &c->call->array[i];
  struct Values* v = &c->operand[i];
  char file[64];
  if (a->content == kSame) return *v = c->operand[a->other], 1;
  if (a->content == kAlias) return fail("call.txt: a check of a kernel that overwrites its operands");
  struct Generator g = {.array = i, .centre = a->centre, .radius = a->radius};
  memcpy(g.type, a->type, sizeof g.type);
  snprintf(file, sizeof file, "operand%d.bin", i);
  v->repeats = a->content == kRandom;
  v->count = v->repeats ? kPeriod : a->bytes / 4;
  char* bytes = v->repeats ? onePeriod(&g) : readExactly(folder, file, a->bytes);
  v->elements = malloc(((size_t)v->count + 1) * sizeof *v->elements);
  for (long long j = 0; bytes && v->elements && j < v->count; ++j) {
    int32_t whole;
    if (!v->repeats) memcpy(&whole, bytes + 4 * j, 4);
    v->elements[j] = v->repeats ? (float)toDouble(a->type, bytes + j * bytesOf(a->type)) : (float)whole;
  }
  const int ok = bytes && v->elements;
  free(bytes);
  return ok || fail("there is no memory");
}

/* Elements of a result that are NaN. */
static long long undefined(const struct Array* a, const char* result) {
  long long count = 0;
  const int isWide = bytesOf(a->type) == 4;
  for (long long i = 0; i < a->bytes; i += isWide ? 4 : 2) {
    uint32_t bits = 0;
    memcpy(&bits, result + i, isWide ? 4 : 2);
    count += isWide ? (bits & 0x7fffffffu) > 0x7f800000u : (bits & 0x7fffu) > 0x7f80u;
  }
  return count;
}

static int checkOne(struct Check* c, const struct Launch* l, int r) {
  const int array = c->call->operands + r;
  c->array = &c->call->array[array];
  if (strcmp(c->array->type, "f32") && strcmp(c->array->type, "bf16"))
    return fail("call.txt: a check of a result that is neither f32 nor bf16");
  c->result = malloc((size_t)c->array->bytes + 1);
  int ok = c->result || fail("there is no memory");
  ok = ok && check(cu.copyOut(c->result, l->at[array], (size_t)c->array->bytes), "copy a result from the GPU");
  const long long missing = ok ? undefined(c->array, c->result) : 0;
  if (missing) ok = fail("result %d: %lld elements are NaN or were not written", r, missing);
  ok = ok && checkResult(c, r);
  free(c->result);
  return ok;
}

int checkResults(const char* folder, const struct Launch* l, struct Verdict* verdict) {
  memset(verdict, 0, sizeof *verdict);
  if (!*l->call->kind) return 1;
  struct Check* c = calloc(1, sizeof *c);
  int ok = c && (c->want = malloc(kMostSize * sizeof *c->want)) ? 1 : fail("there is no memory");
  if (c) c->call = l->call, c->verdict = verdict;
  for (int i = 0; ok && i < l->call->operands; ++i) ok = loadValues(folder, c, i);
  for (int r = 0; ok && r < l->call->results; ++r) ok = checkOne(c, l, r);
  verdict->isChecked = ok;
  for (int i = 0; c && i < l->call->operands; ++i)
    if (l->call->array[i].content != kSame) free(c->operand[i].elements);
  if (c) free(c->want);
  free(c);
  return ok;
}
