// Our kernels as an actor.
#include <malloc.h>

#include "ours/Ours.h"

int main() {
  using namespace smalti::bench;
  // Results live in the heap, where freed memory is used again: fresh pages cost more than most kernels here.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  std::map<std::string, Maker> makers;
  for (const auto& more : {matmuls()}) makers.insert(more.begin(), more.end());
  return Actor(std::move(makers)).serve();
}
