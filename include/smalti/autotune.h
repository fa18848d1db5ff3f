// autotune: a call with several candidates, of which it runs the fastest.
//
//   auto matmul = pl::autotune({{{"m", 128}, {"n", 512}}, {{"m", 256}, {"n", 256}}}, "my_matmul")(
//       [](const pl::Candidate& c) { return my_matmul(c["m"], c["n"]); });  // a PallasCall
//   pl::Array z = matmul(x, y);
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "smalti/pallas_call.h"

namespace smalti {

/// Sizes by name, in the order in which they were given.
class Candidate {
 public:
  using Size = std::pair<std::string, int64_t>;
  Candidate(std::initializer_list<Size> sizes) : sizes_(sizes) {}
  explicit Candidate(std::vector<Size> sizes) : sizes_(std::move(sizes)) {}
  /// Error SM6910: there is no such size.
  int64_t operator[](std::string_view name) const;
  const std::vector<Size>& sizes() const { return sizes_; }
  /// "m = 128, n = 512".
  std::string str() const;
  bool operator==(const Candidate&) const = default;

 private:
  std::vector<Size> sizes_;
};

/// A call for one candidate, and its operands if they differ from those of the tuned function.
struct TunedCall {
  PallasCall call;
  std::vector<Operand> operands;
};
using TunedCallMaker = std::function<TunedCall(const Candidate&, const std::vector<Operand>&)>;
using PallasCallMaker = std::function<PallasCall(const Candidate&)>;

/// The time or the refusal of a candidate on a target.
struct RankedCandidate {
  Candidate candidate;
  double us = 0;                        ///< measured, or predicted by the model; 0 if refused
  std::optional<Diagnostic> refusal{};  ///< why it does not run there
};

/// Candidates with their times.
struct Ranking {
  std::string kernel;               ///< the key
  std::string target;               ///< "cpu", or a chip: "v5e"
  std::vector<ArrayType> operands;  ///< of the tuned function
  bool measured = false;            ///< false: predicted by the model
  /// Fastest first, equal ones in their given order, refused ones last.
  std::vector<RankedCandidate> candidates;
};

/// The result of autotune: a function of arrays. Copies share choices and compiled calls.
class Autotuned {
 public:
  Autotuned(std::vector<Candidate> candidates, std::string key, TunedCallMaker make, Location at);
  /// Calls that do not depend on the operands are created once.
  Autotuned(std::vector<Candidate> candidates, std::string key, PallasCallMaker make, Location at);

  /// Runs the candidate that is fastest on the current target. On `cpu` candidates are measured, on `sim:CHIP` the
  /// timing model ranks those that the chip's compiler accepts; other targets use the first one. The choice is
  /// kept for operands of equal types, and in the file of the setting `tuned`. Errors SM6911 (none runs), SM6912 (the
  /// file).
  template <class... A>
  Results operator()(const A&... operands) const {
    return run({Operand(operands)...});
  }
  Results run(const std::vector<Operand>& operands) const;
  /// The candidate that would run; `target`: "cpu", a chip's name or file; empty: the current target. Errors as above,
  /// and SM6609.
  Candidate best(const std::vector<Operand>& operands, std::string_view target = {}) const;
  /// Its call and operands, to be lowered and exported.
  TunedCall pick(const std::vector<Operand>& operands, std::string_view target = {}) const;
  /// Ranks all candidates, without stored results. Error SM6609: there is no such chip.
  Ranking rank(const std::vector<Operand>& operands, std::string_view target,
               const std::function<void(size_t done)>& progress = {}) const;
  const std::vector<Candidate>& candidates() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// Candidates that still need a function.
class Autotune {
 public:
  Autotune(std::vector<Candidate> candidates, std::string key, Location at)
      : candidates_(std::move(candidates)), key_(std::move(key)), at_(at) {}
  /// `make`: the PallasCall of a Candidate; or, from a Candidate and the operands, a TunedCall.
  template <class F>
  Autotuned operator()(F make) const {
    if constexpr (std::is_invocable_r_v<PallasCall, F, const Candidate&>)
      return {candidates_, key_, PallasCallMaker(std::move(make)), at_};
    else
      return {candidates_, key_, TunedCallMaker(std::move(make)), at_};
  }

 private:
  std::vector<Candidate> candidates_;
  std::string key_;
  Location at_;
};

/// `key`: the kernel's name in files of tuned kernels. Error SM6910: there are no candidates, some are equal or have
/// different names of sizes, or the key is empty.
Autotune autotune(std::vector<Candidate> candidates, std::string key, Location at = Location::current());

/// A function of a library that `smalti tune` knows by name.
struct Tunable {
  std::string name;
  std::string operands;  ///< a description: "x [m, k], y [k, n]"
  size_t num_operands = 1;
  /// For operands of these types, the defaults first. Errors of the function for others.
  std::function<Autotuned(std::span<const ArrayType>)> tuned;
  /// Fills operands (zeros before) if the time depends on their values; null: it does not.
  std::function<void(std::span<Array>)> fill{};
};

}  // namespace smalti
