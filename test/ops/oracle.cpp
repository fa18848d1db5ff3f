// smalti_ops_oracle DIR: every case outside kernels and inside one; inputs and results as .npy (those of a kernel where
// they differ), index.json next to them, and promotions.json with the dtype that each pair of dtypes gives.
// smalti_ops_oracle DIR --transform: the cases under jvp, vjp and vmap (Transformed.h), and index.json.
// smalti_ops_oracle DIR --devices: the cases of several devices, their results, and index.json.
// smalti_ops_oracle DIR --vmap: modules of batched kernels (VmapModules.cpp).
// smalti_ops_oracle DIR --export: the cases' kernels as StableHLO, and index.json.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "Cases.h"
#include "Transformed.h"

using namespace smalti;
using namespace smalti::ops::test;

namespace {

/// A case as one program. Results of rank 0 leave through SMEM; bools as i32, which memory holds for them.
struct InKernel {
  PallasCall call;
  std::vector<Operand> operands;
};

InKernel inKernel(const Case& c, const Array& like) {
  const bool scalar = like.rank() == 0;
  const DType held = like.dtype() == DType::pred ? DType::i32 : like.dtype();
  std::vector<Operand> operands;
  std::vector<DType> types;
  for (const Array& a : c.inputs) {
    types.push_back(a.dtype());
    operands.emplace_back(a.dtype() == DType::pred ? astype(a, DType::i32) : a);
  }
  const auto kernel = [=, op = c.op](const std::vector<Ref>& refs) {
    Inputs read;
    for (size_t i = 0; i < types.size(); ++i) read.push_back(astype(refs[i][_], types[i]));
    const Array result = astype(op(read), held);
    if (scalar)
      refs.back()[{0}] = result;
    else
      refs.back()[_] = result;
  };
  BlockSpec out;
  if (scalar) out.memory_space = MemorySpace::smem;
  return {pallas_call(kernel, {.out_shape = ShapeDtype{scalar ? Shape{1} : like.shape(), held}, .out_specs = {out}}),
          operands};
}

Array runInKernel(const Case& c, const Array& like) {
  const InKernel k = inKernel(c, like);
  const Array result = k.call.run(k.operands);
  return astype(like.rank() == 0 ? reshape(result, {}) : result, like.dtype());
}

std::string compareWithKernel(const Case& c, const Array& now, const std::filesystem::path& differing) {
  if (!c.kernel) return "not tried";
  const auto inside = attempt([&] { return runInKernel(c, now); });
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

/// The narrow floats have the rules of f32 and bf16; nextafter has a derivative nowhere.
bool isTransformed(const Case& c) {
  const auto known = [](const Array& a) {
    return !is_float(a.dtype()) || a.dtype() == DType::f32 || (a.dtype() == DType::bf16 && a.elements() < 100);
  };
  return std::all_of(c.inputs.begin(), c.inputs.end(), known) && c.jax.find("nextafter") == std::string::npos;
}

nlohmann::json described(const Case& c) {
  nlohmann::json j{{"jax", c.jax}, {"tolerance", c.tolerance}, {"inputs", nlohmann::json::array()}};
  for (const Array& a : c.inputs) {
    j["inputs"].push_back(name(a.dtype()));
    j["shapes"].push_back(a.shape());
  }
  return j;
}

/// What the op computes, outside kernels and inside.
nlohmann::json computed(const Case& c, const std::filesystem::path& folder, const std::string& id) {
  nlohmann::json j = described(c);
  for (size_t i = 0; i < c.inputs.size(); ++i)
    unwrap(write_npy(folder / (id + "_in" + std::to_string(i) + ".npy"), c.inputs[i]));
  const auto now = attempt([&] { return c.op(c.inputs); });
  if (!now) {
    j["error"] = now.error().str();
    return j;
  }
  unwrap(write_npy(folder / (id + "_out.npy"), *now));
  j["out"] = name(now->dtype());
  j["kernel"] = compareWithKernel(c, *now, folder / (id + "_kernel.npy"));
  return j;
}

/// The kernel as a TPU would get it.
nlohmann::json exported(const Case& c, const std::filesystem::path& folder, const std::string& id) {
  nlohmann::json j = described(c);
  const Array like = c.op(c.inputs);
  j["out"] = name(like.dtype());
  j["out_shape"] = like.shape();
  const auto text = attempt([&] {
    const InKernel k = inKernel(c, like);
    return unwrap(k.call.lower_all(k.operands).stablehlo());
  });
  if (text)
    std::ofstream(folder / (id + ".mlir")) << *text;
  else
    j["error"] = text.error().str();
  return j;
}

}  // namespace

int main(int argc, char** argv) {
  const bool exports = argc == 3 && std::string_view(argv[2]) == "--export";
  const bool transforms = argc == 3 && std::string_view(argv[2]) == "--transform";
  const bool devices = argc == 3 && std::string_view(argv[2]) == "--devices";
  const bool vmaps = argc == 3 && std::string_view(argv[2]) == "--vmap";
  if (argc != 2 && !exports && !transforms && !devices && !vmaps) {
    std::cerr << "usage: smalti_ops_oracle DIR [--devices | --export | --transform | --vmap]\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  if (vmaps) {
    for (const auto& [name, module] : vmapModules()) std::ofstream(folder / (name + ".mlir")) << module;
    return 0;
  }
  nlohmann::json index = nlohmann::json::array();
  using Families = std::vector<std::vector<Case>>;
  Families families = devices ? Families{deviceCases()} : Families{elementwiseCases(), arrayCases(), transformCases()};
  if (exports) families.push_back(tpuCases());
  if (argc == 2) families.push_back(compositionCases());
  for (const auto& cases : families)
    for (const Case& c : cases) {
      if (exports && !c.kernel) continue;
      const std::string id = std::to_string(index.size());
      if (transforms) {
        if (c.inputs.empty() || !isTransformed(c)) continue;
        nlohmann::json j = described(c);
        for (size_t i = 0; i < c.inputs.size(); ++i)
          unwrap(write_npy(folder / (id + "_in" + std::to_string(i) + ".npy"), c.inputs[i]));
        j["transformed"] = transformed(c, [&](const std::string& name, const Array& a) {
          unwrap(write_npy(folder / (id + "_" + name + ".npy"), a));
          j["written"].push_back({name, smalti::name(a.dtype())});
        });
        index.push_back(std::move(j));
        continue;
      }
      index.push_back(exports ? exported(c, folder, id) : computed(c, folder, id));
    }
  std::ofstream(folder / "index.json") << index.dump(1) << '\n';
  if (argc == 2) std::ofstream(folder / "promotions.json") << promotions().dump() << '\n';
}
