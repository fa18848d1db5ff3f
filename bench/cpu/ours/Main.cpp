// Smalti's kernels as an actor; or, as `bench_cpu_ours --first KIND NONCE`, the first kernel of a process.
#include "ours/Ours.h"

int main(int argc, char** argv) {
  using namespace smalti::bench;
  if (argc == 4 && std::string(argv[1]) == "--first") {
    std::cout << firstCall(argv[2], static_cast<uint32_t>(std::stoul(argv[3]))) << std::endl;
    return 0;
  }
  std::map<std::string, Maker> makers;
  for (const auto& more : {matmuls(), attentions(), rowKernels(), calls(), gradients(), miniLm()})
    makers.insert(more.begin(), more.end());
  return Actor(std::move(makers)).serve();
}
