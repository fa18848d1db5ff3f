// bin/smalti_kernel_gradients: the gradients of all cases as .npy, and their derivatives along a direction, once from
// the gradients and once by differences of what the kernels compute in f64; for test/python/test_kernel_gradients.py.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "Cases.h"

namespace smalti::gradients {

Array numbers(Shape shape, int seed, float scale) {
  return round(clip(normal(random_key(seed), std::move(shape)), -3, 3) * 256) / 256 * scale;
}

Array whole(std::vector<int32_t> values) { return array(values); }

Arrays all(const Results& results, size_t count) {
  Arrays list;
  for (size_t i = 0; i < count; ++i) list.push_back(results[i]);
  return list;
}

namespace {

double at(const Array& a, int64_t i) { return a.dtype() == DType::f64 ? a.as<double>()[i] : a.as<float>()[i]; }

double product(const Arrays& a, const Arrays& b) {
  double total = 0;
  for (size_t k = 0; k < a.size(); ++k)
    for (int64_t i = 0; i < a[k].elements(); ++i) total += at(a[k], i) * at(b[k], i);
  return total;
}

/// Of the loss, weights times results, along the direction: by central differences, twice the step for the error's
/// first term.
double measured(const Case& c, const std::vector<size_t>& wrt, const Arrays& along, const Arrays& weights) {
  Settings wide;
  unwrap(wide.set("numerics", "f64"));
  use_settings(wide);
  const auto slope = [&](float h) {
    const auto loss = [&](float step) {
      Arrays x = c.inputs;
      for (size_t k = 0; k < wrt.size(); ++k) x[wrt[k]] = x[wrt[k]] + along[k] * step;
      return product(c.run(x), weights);
    };
    return (loss(h) - loss(-h)) / (2.0 * h);
  };
  constexpr float h = 1.0f / 1024;
  const double value = (4 * slope(h) - slope(2 * h)) / 3;
  use_settings(Settings());
  return value;
}

void save(const std::filesystem::path& path, const Array& a) { unwrap(write_npy(path.string(), a)); }

nlohmann::json run(const Case& c, const std::filesystem::path& folder) {
  std::vector<size_t> wrt = c.wrt;
  for (size_t i = 0; c.wrt.empty() && i < c.inputs.size(); ++i)
    if (is_float(c.inputs[i].dtype())) wrt.push_back(i);
  Arrays primals, along, weights;
  int seed = 1000;
  for (const size_t i : wrt) {
    primals.push_back(c.inputs[i]);
    along.push_back(round(clip(normal(random_key(seed++), primals.back().shape()), -2, 2) * 8) / 8);
  }
  const auto partial = [&](const Arrays& inside) {
    Arrays x = c.inputs;
    for (size_t k = 0; k < wrt.size(); ++k) x[wrt[k]] = inside[k];
    return c.run(x);
  };
  const auto [results, back] = vjp(partial, primals);
  for (const Array& r : results) weights.push_back(round(normal(random_key(seed++), r.shape()) * 8) / 8);
  const Arrays gradients = back(weights);
  nlohmann::json entry{{"name", c.name},
                       {"features", c.features},
                       {"wrt", wrt},
                       {"inputs", c.inputs.size()},
                       {"results", results.size()}};
  for (size_t i = 0; i < c.inputs.size(); ++i)
    save(folder / (c.name + "_in" + std::to_string(i) + ".npy"), c.inputs[i]);
  for (size_t i = 0; i < weights.size(); ++i)
    save(folder / (c.name + "_weight" + std::to_string(i) + ".npy"), weights[i]);
  for (size_t i = 0; i < gradients.size(); ++i)
    save(folder / (c.name + "_d" + std::to_string(i) + ".npy"), gradients[i]);
  entry["slope"] = product(gradients, along);
  entry["measured"] = measured(c, wrt, along, weights);
  return entry;
}

int main(int argc, char** argv) {
  const std::filesystem::path folder = argv[1];
  const std::string only = argc > 2 ? argv[2] : "";
  nlohmann::json index = nlohmann::json::array();
  for (const auto& family : {blockCases, accumulatorCases, prefetchCases, copyCases, libraryCases})
    for (const Case& c : family()) {
      if (!only.empty() && c.name != only) continue;
      nlohmann::json entry{{"name", c.name}, {"features", c.features}};
      const auto done = attempt([&] { entry = run(c, folder); });
      if (!done) entry["refused"] = done.error().str();
      use_settings(Settings());
      index.push_back(std::move(entry));
    }
  std::ofstream(folder / "index.json") << index.dump(1);
  return 0;
}

}  // namespace
}  // namespace smalti::gradients

int main(int argc, char** argv) { return smalti::gradients::main(argc, argv); }
