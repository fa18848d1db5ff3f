// Functions of several devices that test/python/test_devices.py compares with JAX's of the same name.
#pragma once

#include <string>
#include <vector>

#include "smalti/smalti.h"

namespace smalti::devices::test {

struct Case {
  std::string name;
  ShardMap call;
  std::vector<Array> inputs;
};

class Cases {
 public:
  void add(std::string name, const DeviceFunction& f, const Mesh& mesh, const PartitionSpecs& in,
           const PartitionSpecs& out, std::vector<Array> inputs) {
    all.push_back({std::move(name), shard_map(f, mesh, in, out), std::move(inputs)});
  }
  std::vector<Case> all;
};

/// 0, 1, 2 … in another order: sums of them are exact.
Array numbers(Shape shape, DType dtype = f32);

void collectiveCases(Cases&);
void kernelCases(Cases&);
void guideCases(Cases&);

}  // namespace smalti::devices::test
