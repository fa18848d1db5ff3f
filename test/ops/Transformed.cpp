#include "Transformed.h"

#include <cstring>

namespace smalti::ops::test {
namespace {

/// The elements one place further: another example with the same values.
Array rotated(const Array& x) {
  if (x.elements() == 0 || x.rank() == 0) return x;
  const int64_t n = x.elements();
  const Array flat = reshape(x, {n});
  return reshape(concatenate({slice(flat, {n - 1}, {n}), slice(flat, {0}, {n - 1})}), x.shape());
}

bool sameBits(const Array& a, const Array& b) {
  return a.type() == b.type() && std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

/// What is computed at once, if it is the same as a compiled program.
template <class F>
Inputs bothWays(const F& f, const Inputs& inputs, nlohmann::json& j, const char* what) {
  const Inputs now = f(inputs), compiled = jit(f)(inputs);
  for (size_t i = 0; i < now.size(); ++i)
    if (!sameBits(now[i], compiled[i])) j["jit"].push_back(what);
  return now;
}

}  // namespace

nlohmann::json transformed(const Case& c, const std::function<void(const std::string&, const Array&)>& write) {
  nlohmann::json j = nlohmann::json::object();
  const auto f = [&](const Inputs& x) { return c.op(x); };
  const auto part = [&](const char* what, const auto& work) {
    if (const auto done = attempt(work); !done) j[what] = done.error().str();
  };
  const auto now = attempt([&] { return c.op(c.inputs); });
  if (!now) return {{"op", now.error().str()}};
  const Array& result = *now;
  const bool isNumber = is_float(result.dtype()) && is_float(c.inputs[0].dtype());
  if (isNumber) {
    part("jvp", [&] {
      Inputs tangents;
      for (const Array& a : c.inputs) tangents.push_back(is_float(a.dtype()) ? ones_like(a) : a);
      const auto along = [&](const Inputs& x) { return Inputs{jvp(f, std::tuple{x}, std::tuple{tangents}).second}; };
      write("jvp", bothWays(along, c.inputs, j, "jvp")[0]);
    });
    part("vjp", [&] {
      const auto back = [&](const Inputs& x) {
        const auto pulled = vjp(f, x);
        return pulled.second(astype(ones_like(pulled.first), result.dtype()));
      };
      const Inputs cotangents = bothWays(back, c.inputs, j, "vjp");
      for (size_t i = 0; i < cotangents.size(); ++i)
        if (is_float(cotangents[i].dtype())) write("vjp" + std::to_string(i), cotangents[i]);
    });
  }
  for (size_t shared = 0; shared <= c.inputs.size(); ++shared) {  // one input that all examples share, or none
    if (shared < c.inputs.size() && c.inputs.size() == 1) continue;
    const std::string name = "vmap" + std::to_string(shared);
    part(name.c_str(), [&] {
      Inputs examples;
      VmapOptions options;
      for (size_t i = 0; i < c.inputs.size(); ++i) {
        const bool is = i != shared;
        examples.push_back(is ? stack({c.inputs[i], rotated(c.inputs[i])}) : c.inputs[i]);
        options.in_axes.push_back(is ? std::optional<int64_t>(0) : none);
      }
      if (c.inputs.size() == 1) options.in_axes = {};
      const auto all = [&](const Inputs& x) { return Inputs{vmap(f, options)(x)}; };
      write(name, bothWays(all, examples, j, name.c_str())[0]);
    });
  }
  return j;
}

}  // namespace smalti::ops::test
