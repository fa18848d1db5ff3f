// pallas_call: makes a function of arrays from a kernel and its specs.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "smalti/error.h"
#include "smalti/executable.h"
#include "smalti/settings.h"
#include "smalti/specs.h"

namespace smalti {
/// A kernel: any callable that takes Refs (scalar prefetch, inputs, outputs, scratch, in this order) and returns
/// nothing.
class Kernel {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Kernel>>>
  Kernel(F body, Location at = Location::current()) : at(at) {
    detail::forEachCount<Ref, detail::kMaxKernelArguments, F>([&]<size_t... I>(std::index_sequence<I...>) {
      static_assert(std::is_void_v<std::invoke_result_t<const F&, detail::Repeat<Ref, I>...>>,
                    "the kernel function should return nothing: it writes its results to its output Refs");
      add(sizeof...(I), [body](const Ref* r) {
        (void)r;
        body(r[I]...);
      });
    });
    if constexpr (!detail::kTakesSomeCount<Ref, detail::kMaxKernelArguments, F>) {
      static_assert(std::is_invocable_v<const F&, const std::vector<Ref>&>,
                    "a kernel takes Refs: (Ref x, Ref y, …), or one const std::vector<Ref>&");
      any_ = body;
    }
  }
  Kernel(const Kernel&);
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(const Kernel&);
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();
  /// Argument counts it can be called with; empty: any.
  std::vector<size_t> arities() const;
  /// False: it does not take this number of Refs.
  bool operator()(const std::vector<Ref>& refs) const;

  Location at;

 private:
  using Counted = std::function<void(const Ref*)>;
  void add(size_t arguments, Counted call);
  std::vector<std::pair<size_t, Counted>> calls_;
  std::function<void(const std::vector<Ref>&)> any_;
};

/// The results of a call: one converts to Array; several are taken by index, or `auto [a, b] = call(x).take<2>()`.
class Results {
 public:
  Results(std::vector<Array> arrays, Location call);
  Results(const Results&);
  Results(Results&&) noexcept;
  Results& operator=(const Results&);
  Results& operator=(Results&&) noexcept;
  ~Results();
  /// Error SM6201 if there is not exactly one.
  operator Array() const&;
  operator Array() &&;
  size_t size() const { return arrays_.size(); }
  /// Error SM6201 if the number of results differs.
  const Array& operator[](size_t i) const {
    if (i >= arrays_.size()) check(i + 1);
    return arrays_[i];
  }
  auto begin() const { return arrays_.begin(); }
  auto end() const { return arrays_.end(); }
  template <size_t N>
  std::array<Array, N> take() const {
    check(N);
    std::array<Array, N> taken;
    for (size_t i = 0; i < N; ++i) taken[i] = arrays_[i];
    return taken;
  }

 private:
  void check(size_t wanted) const;
  std::vector<Array> arrays_;
  Location call_;
};

/// A kernel traced and lowered for given operands.
class Lowered {
 public:
  /// The traced kernel, in the form of a jaxpr.
  std::string traced() const;
  /// The Mosaic module as text; generic: MLIR's generic form.
  std::string mosaic(bool generic = false) const;
  /// stable_mosaic bytecode of this version (8 to 18, else SM2110).
  Result<std::string> bytecode(int version = 13) const;
  /// StableHLO text with the kernel as a tpu_custom_call. Errors: SM2110 (version), SM66xx (`legal`).
  Result<std::string> stablehlo(int version = 13) const;
  /// Floating-point operations, transcendental functions, and bytes read and written.
  CostEstimate cost() const;
  /// Reasons why TPUs cannot run the kernel, SM66xx: what Pallas does not lower for any TPU, or all that a generation
  /// refuses ("v4", "v5e", "v5p", "v6e", "v7x"). `bytecode` and `stablehlo` check the former; `interpret` does not.
  Status legal(std::string_view chip = {}) const;

  struct State;
  explicit Lowered(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  Lowered(const Lowered&);
  Lowered(Lowered&&) noexcept;
  Lowered& operator=(const Lowered&);
  Lowered& operator=(Lowered&&) noexcept;
  ~Lowered();
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// What `check` examines in addition to the run.
struct CheckFor {
  /// "v4", "v5e", "v5p", "v6e", "v7x", "all", a chip's .toml file, or several with commas: what their compilers refuse
  /// is in `findings`, SM66xx. Empty: the setting `chip` (SMALTI_CHIP).
  std::string_view chip = {};
};

/// The result of pallas_call: a function of arrays, after sizes of `dynamic` grid axes. Traced and compiled once per
/// signature of the operands (S-J7); copies share the code. Several threads may call it.
class PallasCall {
 public:
  PallasCall(Kernel kernel, Call call, Location at);
  PallasCall(const PallasCall&);
  PallasCall(PallasCall&&) noexcept;
  PallasCall& operator=(const PallasCall&);
  PallasCall& operator=(PallasCall&&) noexcept;
  ~PallasCall();

  // Not one template: an Operand that is created at the call records the user's line.
  Results operator()() const;
  Results operator()(Operand a) const;
  Results operator()(Operand a, Operand b) const;
  Results operator()(Operand a, Operand b, Operand c) const;
  Results operator()(Operand a, Operand b, Operand c, Operand d) const;
  Results operator()(Operand a, Operand b, Operand c, Operand d, Operand e) const;
  template <class... More>
  Results operator()(Operand a, Operand b, Operand c, Operand d, Operand e, Operand f, const More&... more) const {
    return run({a, b, c, d, e, f, Operand(more)...});
  }
  /// As operator(), with any number of operands. Error SM6215: the kernel takes another number of Refs.
  Results run(std::vector<Operand> operands) const;
  /// The same with all checks: `findings` lists mistakes that fail silently on a TPU.
  template <class... A>
  RunReport check(const A&... operands) const {
    return check_all({Operand(operands)...});
  }
  template <class... A>
  RunReport check(const CheckFor& what, const A&... operands) const {
    return check_all({Operand(operands)...}, what);
  }
  /// Traces and lowers without running anything.
  template <class... A>
  Lowered lower(const A&... operands) const {
    return lower_all({Operand(operands)...});
  }
  Lowered lower_all(const std::vector<Operand>& operands) const;  ///< as lower
  Lowered lower_all(std::initializer_list<Operand> operands) const;
  RunReport check_all(const std::vector<Operand>& operands, const CheckFor& = {}) const;  ///< as check
  /// The compiled call for operands of these types, which runs without tracing and lookup, on the inputs of the call.
  /// It keeps the settings with which it was compiled.
  template <class... A>
  Executable compile(const A&... operands) const {
    return compile_all({Operand(operands)...});
  }
  Executable compile_all(const std::vector<Operand>& operands) const;
  /// The inputs of the lowered module for these operands: sizes of dynamic grid axes, then the arrays as stored.
  std::vector<Array> module_operands(const std::vector<Operand>& operands) const;
  /// The same call with these settings instead of the thread's (`use_settings`); shares the code.
  PallasCall with(const Settings& settings) const;

  struct State;

 private:
  struct Chosen;
  std::shared_ptr<State> state_;
  std::shared_ptr<const Chosen> chosen_;  ///< null: the thread's settings
};

/// Errors SM62xx: specs that do not fit the operands or the grid.
PallasCall pallas_call(Kernel kernel, Call call, Location at = Location::current());

/// The cost of a call with such operands, counted from the kernel (L5) without running it. Unless the call gives one,
/// its module passes this estimate to the compiler.
template <class... A>
CostEstimate estimate_cost(const PallasCall& call, const A&... operands) {
  return call.lower(operands...).cost();
}

inline int64_t cdiv(int64_t a, int64_t b) { return (a + b - 1) / b; }  ///< ⌈a / b⌉ for a ≥ 0 and b > 0
inline int64_t align_to(int64_t x, int64_t multiple) { return cdiv(x, multiple) * multiple; }  ///< rounds x ≥ 0 up
int64_t next_power_of_2(int64_t x);  ///< the smallest power of two that is ≥ x; 1 for x ≤ 1
/// Row-major strides, in elements.
std::vector<int64_t> strides_from_shape(const Shape& shape);

}  // namespace smalti
