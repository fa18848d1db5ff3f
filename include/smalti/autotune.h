// autotune: a call with candidates, the fastest of which runs.
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
  /// Error SM6910: it has no such size.
  int64_t operator[](std::string_view name) const;
  const std::vector<Size>& sizes() const { return sizes_; }
  /// "m = 128, n = 512".
  std::string str() const;
  bool operator==(const Candidate&) const = default;

 private:
  std::vector<Size> sizes_;
};

/// A call for one candidate, and what it takes where that is not what the tuned function takes.
struct TunedCall {
  PallasCall call;
  std::vector<Operand> operands;
};
using TunedCallMaker = std::function<TunedCall(const Candidate&, const std::vector<Operand>&)>;
using PallasCallMaker = std::function<PallasCall(const Candidate&)>;

/// A candidate on a target.
struct RankedCandidate {
  Candidate candidate;
  double us = 0;                        ///< measured, or the model's; 0 when it was refused
  std::optional<Diagnostic> refusal{};  ///< why it does not run there
};

/// Which of some candidates are how fast.
struct Ranking {
  std::string kernel;               ///< the key
  std::string target;               ///< "cpu", or a chip: "v5e"
  std::vector<ArrayType> operands;  ///< of the tuned function
  bool measured = false;            ///< else the model's times
  /// The fastest first, of equals the first; those that are refused last.
  std::vector<RankedCandidate> candidates;
};

/// What autotune gives: a function of arrays. Copies share what was found and compiled.
class Autotuned {
 public:
  Autotuned(std::vector<Candidate> candidates, std::string key, TunedCallMaker make, Location at);
  /// Calls that do not depend on the operands are made once.
  Autotuned(std::vector<Candidate> candidates, std::string key, PallasCallMaker make, Location at);

  /// Runs the candidate that is the fastest on the target in force. On `cpu` candidates are measured, on `sim:CHIP` the
  /// model of time ranks those that the chip's compiler takes; on other targets it is the first one. What was found is
  /// kept for operands of equal types, and in the file of the setting `tuned`. Errors SM6911 (none runs), SM6912 (the
  /// file).
  template <class... A>
  Results operator()(const A&... operands) const {
    return run({Operand(operands)...});
  }
  Results run(const std::vector<Operand>& operands) const;
  /// The candidate that would run; `target`: "cpu", a chip's name or file; empty: the target in force.
  Candidate best(const std::vector<Operand>& operands, std::string_view target = {}) const;
  /// Its call and operands, to be lowered and exported.
  TunedCall pick(const std::vector<Operand>& operands, std::string_view target = {}) const;
  /// Of all candidates, anew. Error SM6609: there is no such chip.
  Ranking rank(const std::vector<Operand>& operands, std::string_view target,
               const std::function<void(size_t done)>& progress = {}) const;
  const std::vector<Candidate>& candidates() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// Candidates on their way to a function.
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

/// `key`: the kernel's name in files of what was found. Error SM6910: there are no candidates, some are equal or have
/// sizes of other names, or the key is empty.
Autotune autotune(std::vector<Candidate> candidates, std::string key, Location at = Location::current());

/// A function of a library that `smalti tune` knows by name.
struct Tunable {
  std::string name;
  std::string operands;  ///< for people: "x [m, k], y [k, n]"
  size_t num_operands = 1;
  /// For operands of these types, the defaults first. Errors of the function for others.
  std::function<Autotuned(std::span<const ArrayType>)> tuned;
  /// Fills operands (zeros before) where the time depends on what they hold; null: it does not.
  std::function<void(std::span<Array>)> fill{};
};

}  // namespace smalti
