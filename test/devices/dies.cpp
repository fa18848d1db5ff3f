// smalti_devices_dies HOW: process 1 of several dies while the others wait for it ("waiting") or compute ("computing"),
// or ends regularly before the others ("ends").
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "smalti/smalti.h"

namespace pl = smalti;

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "waiting";
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = std::getenv("PMI_RANK");
  const auto sum =
      pl::shard_map([](const pl::Array& x) { return pl::psum(x, "x"); }, pl::Mesh({{"x", 2}}), pl::P("x"), pl::P());
  const auto ran = pl::attempt([&] {
    const pl::Array x = pl::ones({2, 8});
    (void)sum(x);
    if (rank && std::string(rank) == "1") {
      if (how == "ends") std::exit(0);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      std::cerr << "dies now" << std::endl;
      std::raise(SIGKILL);
    }
    if (how == "computing") std::this_thread::sleep_for(std::chrono::milliseconds(800));
    for (;;) (void)sum(x);
  });
  if (!ran) std::cerr << ran.error().str();
  return 3;
}
