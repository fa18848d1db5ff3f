// Our kernels as an actor; or, as `bench_cpu_ours --first KIND NONCE`, the first kernel of a process.
#include <malloc.h>

#include "ours/Ours.h"

int main(int argc, char** argv) {
  using namespace smalti::bench;
  if (argc == 4 && std::string(argv[1]) == "--first") {
    std::cout << firstCall(argv[2], static_cast<uint32_t>(std::stoul(argv[3]))) << std::endl;
    return 0;
  }
  // Results live in the heap, where freed memory is used again: fresh pages cost more than most kernels here.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  std::map<std::string, Maker> makers;
  for (const auto& more : {matmuls(), attentions(), rowKernels(), calls(), miniLm()})
    makers.insert(more.begin(), more.end());
  return Actor(std::move(makers)).serve();
}
