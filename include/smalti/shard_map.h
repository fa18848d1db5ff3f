// shard_map: runs a function on every device of a mesh, each with its shard of the arrays (jax.shard_map).
//
//   const pl::Mesh mesh({{"x", 4}});
//   const auto normalised = pl::shard_map([](const pl::Array& x) { return x / pl::psum(pl::sum(x), "x"); }, mesh,
//                                         pl::P("x"), pl::P("x"));
//   pl::Array y = normalised(pl::ones({8, 128}));       // four devices with two rows each
//   auto module = normalised.lower(y).stablehlo();      // the module of a pod
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "smalti/control.h"
#include "smalti/mesh.h"
#include "smalti/pallas_call.h"

namespace smalti {

/// The function of each device: a callable that takes arrays and returns an array, or a tuple, pair, array or vector of
/// them.
class DeviceFunction {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, DeviceFunction>>>
  DeviceFunction(F body, Location at = Location::current()) : at(at) {
    detail::forEachCount<Array, detail::kMaxKernelArguments, F>([&]<size_t... I>(std::index_sequence<I...>) {
      calls_.emplace_back(sizeof...(I), [body](const Array* a) {
        (void)a;
        return detail::flat(body(a[I]...));
      });
    });
    if constexpr (!detail::kTakesSomeCount<Array, detail::kMaxKernelArguments, F>) {
      static_assert(std::is_invocable_v<const F&, const std::vector<Array>&>,
                    "the function takes arrays: (const Array& x, …), or one const std::vector<Array>&");
      any_ = [body](const std::vector<Array>& a) { return detail::flat(body(a)); };
    }
  }
  /// Argument counts it can be called with; empty: any.
  std::vector<size_t> arities() const;
  /// nullopt: it does not take this number of arrays.
  std::optional<std::vector<Array>> operator()(const std::vector<Array>& arrays) const;

  Location at;

 private:
  std::vector<std::pair<size_t, std::function<std::vector<Array>(const Array*)>>> calls_;
  std::function<std::vector<Array>(const std::vector<Array>&)> any_;
};

/// A shard_map traced for given operands.
class LoweredShardMap {
 public:
  /// StableHLO text: a manual computation over the mesh, with its kernels. SM66xx: a kernel that TPUs cannot run.
  Result<std::string> stablehlo(int bytecode_version = 13) const;

  struct State;
  explicit LoweredShardMap(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

/// The result of shard_map: a function of whole arrays. Traced and compiled once per signature; copies share the
/// code. Inside a traced function it is one op.
class ShardMap {
 public:
  ShardMap(DeviceFunction f, Mesh mesh, PartitionSpecs in_specs, PartitionSpecs out_specs, Location at);

  Results operator()() const { return run({}); }
  Results operator()(const Operand& a) const { return run({a}); }
  Results operator()(const Operand& a, const Operand& b) const { return run({a, b}); }
  Results operator()(const Operand& a, const Operand& b, const Operand& c) const { return run({a, b, c}); }
  template <class... More>
  Results operator()(const Operand& a, const Operand& b, const Operand& c, const Operand& d,
                     const More&... more) const {
    return run({a, b, c, d, Operand(more)...});
  }
  Results run(const std::vector<Operand>& operands) const;
  /// The same with all checks: `findings` lists races, deadlocks and mistakes that fail silently on a TPU.
  template <class... A>
  RunReport check(const A&... operands) const {
    return check_all({Operand(operands)...});
  }
  RunReport check_all(const std::vector<Operand>& operands) const;
  /// Traces without running anything.
  template <class... A>
  LoweredShardMap lower(const A&... operands) const {
    return lower_all({Operand(operands)...});
  }
  LoweredShardMap lower_all(const std::vector<Operand>& operands) const;
  /// The compiled function for operands of these types, as PallasCall::compile.
  template <class... A>
  Executable compile(const A&... operands) const {
    return compile_all({Operand(operands)...});
  }
  Executable compile_all(const std::vector<Operand>& operands) const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// `in_specs` defines the part of each argument that a device gets, `out_specs` the part of each result it computes;
/// one spec applies to all. Results must be equal along axes that their spec does not name (SM5003). Errors
/// SM6231 (specs that do not fit the arrays or the mesh), SM6234 (a function of the wrong number of arrays; nested).
inline ShardMap shard_map(DeviceFunction f, Mesh mesh, PartitionSpecs in_specs, PartitionSpecs out_specs,
                          Location at = Location::current()) {
  return ShardMap(std::move(f), std::move(mesh), std::move(in_specs), std::move(out_specs), at);
}

}  // namespace smalti
