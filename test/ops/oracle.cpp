// smalti_ops_oracle DIR: every case outside kernels and inside one; inputs and results as .npy (those of a kernel where
// they differ), index.json beside them, and promotions.json with the dtype that each pair of dtypes gives.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "Cases.h"

using namespace smalti;
using namespace smalti::ops::test;

namespace {

/// As one program. Results of rank 0 leave through SMEM; bools as i32, which memory holds for them.
Array inKernel(const Case& c, const Array& like) {
  const bool scalar = like.rank() == 0;
  const DType held = like.dtype() == DType::pred ? DType::i32 : like.dtype();
  std::vector<Operand> operands;
  std::vector<DType> types;
  for (const Array& a : c.inputs) {
    types.push_back(a.dtype());
    operands.emplace_back(a.dtype() == DType::pred ? astype(a, DType::i32) : a);
  }
  const auto kernel = [&](const std::vector<Ref>& refs) {
    Inputs read;
    for (size_t i = 0; i < types.size(); ++i) read.push_back(astype(refs[i][_], types[i]));
    const Array result = astype(c.op(read), held);
    if (scalar)
      refs.back()[{0}] = result;
    else
      refs.back()[_] = result;
  };
  BlockSpec out;
  if (scalar) out.memory_space = MemorySpace::smem;
  const Array result =
      pallas_call(kernel, {.out_shape = ShapeDtype{scalar ? Shape{1} : like.shape(), held}, .out_specs = {out}})
          .run(operands);
  return astype(scalar ? reshape(result, {}) : result, like.dtype());
}

std::string compareWithKernel(const Case& c, const Array& now, const std::filesystem::path& differing) {
  if (!c.kernel) return "not tried";
  const auto inside = attempt([&] { return inKernel(c, now); });
  if (!inside) return inside.error().str();
  const bool same = inside->type() == now.type() && std::memcmp(inside->data(), now.data(), now.bytes()) == 0;
  if (!same) unwrap(write_npy(differing, *inside));
  return same ? "same" : "different";
}

nlohmann::json promotions() {
  const DType types[] = {DType::pred,          DType::i8,  DType::i16,  DType::i32,    DType::u8,
                         DType::u16,           DType::u32, DType::bf16, DType::f8e5m2, DType::f8e4m3fn,
                         DType::f8e4m3b11fnuz, DType::f16, DType::f32};
  nlohmann::json table = nlohmann::json::array();
  const auto sum = [](const Operand& x, const Operand& y) {
    const auto result = attempt([&] { return add(x, y); });
    return result ? std::string(name(result->dtype())) : result.error().code;
  };
  for (const DType a : types) {
    const Array x = zeros({2}, a);
    for (const DType b : types) table.push_back({name(a), name(b), sum(x, zeros({2}, b))});
    table.push_back({name(a), "weak int", sum(x, 1)});
    table.push_back({name(a), "weak float", sum(x, 1.5)});
  }
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: smalti_ops_oracle DIR\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  nlohmann::json index = nlohmann::json::array();
  for (const auto& cases : {elementwiseCases(), arrayCases()})
    for (const Case& c : cases) {
      const std::string id = std::to_string(index.size());
      nlohmann::json j{{"jax", c.jax}, {"tolerance", c.tolerance}, {"inputs", nlohmann::json::array()}};
      for (size_t i = 0; i < c.inputs.size(); ++i) {
        j["inputs"].push_back(name(c.inputs[i].dtype()));
        unwrap(write_npy(folder / (id + "_in" + std::to_string(i) + ".npy"), c.inputs[i]));
      }
      const auto now = attempt([&] { return c.op(c.inputs); });
      if (now) {
        unwrap(write_npy(folder / (id + "_out.npy"), *now));
        j["out"] = name(now->dtype());
        j["kernel"] = compareWithKernel(c, *now, folder / (id + "_kernel.npy"));
      } else {
        j["error"] = now.error().str();
      }
      index.push_back(std::move(j));
    }
  std::ofstream(folder / "index.json") << index.dump(1) << '\n';
  std::ofstream(folder / "promotions.json") << promotions().dump() << '\n';
}
