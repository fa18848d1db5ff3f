/* A call of a kernel as a folder describes it: call.txt, and the files it names. The writer is
 * src/gpu/pack/CallText.cpp.
 *
 *   smalti-gpu-call 4
 *   code ARCHITECTURE points N threads N shared N workspace N files LIST      kernel.ARCHITECTURE.cubin, .ptx
 *   map ARCHITECTURE array N bytes N extents N,N box N,N                      a tensor map, an argument of this code
 *   prints N                                                                  bytes for debug prints
 *   operand BYTES file                                                        operandN.bin
 *   operand BYTES random TYPE CENTRE RADIUS                                   generate.h
 *   operand BYTES as N                                                        the memory of operand N
 *   alias N                                                                   an operand in the memory of result N
 *   result BYTES TYPE file                                                    resultN.before.bin, resultN.bin
 *   result BYTES TYPE computed                                                undefined before, checked by `expect.h`
 *   end
 *
 * A benchmark has these lines, too, before `end`:
 *
 *   row NAME           what is computed; consecutive folders of the same row are parts of it, or choices of blocks
 *   part NAME
 *   blocks TEXT
 *   work flops N       or: work bytes N
 *   check KIND NAME=N… how `expect.h` computes the results; absent: nothing checks them */
#pragma once

enum { kMostArrays = 256, kMostMaps = 32, kMostCodes = 8, kMostSizes = 40, kDimensions = 5 };

/* An array of which boxes are copied: dimensions of both, the fastest first. */
struct Map {
  int array, bytes, rank;
  long long extents[kDimensions], box[kDimensions];
};

/* The kernel's code for one architecture, and its launch. */
struct Code {
  char architecture[16];
  int capability; /* × 10 */
  int isExact;    /* with instructions that no other architecture has: sm_90a */
  int hasCubin, hasPtx, maps;
  long long points, threads, shared, workspace;
  struct Map map[kMostMaps];
};

enum Content { kFile, kRandom, kSame, kAlias, kComputed };
struct Array {
  enum Content content;
  int other; /* of kSame the operand, of kAlias the result */
  char type[16];
  long long bytes;
  double centre, radius;
};

struct Call {
  int codes, operands, results;
  struct Code code[kMostCodes];
  struct Array array[kMostArrays]; /* operands, then results */
  long long printBytes;
  char row[128], part[32], blocks[64];
  double flops, movedBytes;
  char kind[32]; /* "": nothing checks the results */
  int sizes;
  struct {
    char name[16];
    long long value;
  } size[kMostSizes];
};

/* Reads call.txt of a folder. 0 and a reason: it cannot be read, is of another version, incomplete or malformed. */
int readCall(const char* folder, struct Call*);
/* A size of the benchmark. 0 and a reason: there is none of this name. */
int sizeOf(const struct Call*, const char* name, long long* value);
