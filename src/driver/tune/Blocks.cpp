#include "driver/tune/Blocks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "driver/time/Reblock.h"
#include "driver/time/Taken.h"
#include "tpu/Legality.h"

namespace smalti::driver {
namespace {

using Factor = std::pair<int64_t, int64_t>;  ///< numerator, denominator
constexpr std::array<Factor, 8> kMoves{Factor{2, 1}, {1, 2}, {3, 1}, {1, 3}, {5, 1}, {1, 5}, {7, 1}, {1, 7}};
/// The model runs some million steps a second.
constexpr int64_t kMaxSteps = 2'000'000;

Factor times(Factor a, Factor b) {
  const int64_t n = a.first * b.first, d = a.second * b.second, common = std::gcd(n, d);
  return {n / common, d / common};
}

class Search {
 public:
  Search(const KernelPackage& kernel, const tpu::Chip& chip, const sim::Question& question)
      : kernel_(kernel), chip_(chip), question_(question) {}

  /// Adds the kernel with blocks multiplied by a factor along each axis; false: there is no such kernel, or it is
  /// known.
  bool add(const std::vector<Factor>& factors) {
    if (!known_.insert({factors, std::nullopt}).second) return false;
    std::optional<KernelPackage> changed;
    for (size_t axis = 0; axis < factors.size(); ++axis) {
      if (factors[axis] == Factor{1, 1}) continue;
      changed = reblocked(changed ? *changed : kernel_, axis, factors[axis].first, factors[axis].second);
      if (!changed) return false;
    }
    known_[factors] = judged(changed ? *changed : kernel_, !changed);
    return true;
  }

  /// The fastest candidate whose neighbours have not been tried yet.
  std::optional<std::vector<Factor>> next() {
    const std::vector<Factor>* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [factors, candidate] : known_) {
      if (!candidate || expanded_.contains(factors) || isDeadEnd(*candidate)) continue;
      const double us = candidate->refusal ? std::numeric_limits<double>::max() : candidate->us;
      if (best && us >= least) continue;
      best = &factors;
      least = us;
    }
    if (!best) return std::nullopt;
    expanded_.insert(*best);
    return *best;
  }

  std::vector<BlockCandidate> candidates() const {
    std::vector<BlockCandidate> out;
    for (const auto& [factors, candidate] : known_)
      if (candidate) out.push_back(*candidate);
    std::stable_sort(out.begin(), out.end(), [](const BlockCandidate& a, const BlockCandidate& b) {
      return std::pair(a.refusal.has_value(), a.us) < std::pair(b.refusal.has_value(), b.us);
    });
    return out;
  }

 private:
  /// Whether the search need not continue from a refused candidate: smaller blocks repair only oversized ones.
  static bool isDeadEnd(const BlockCandidate& c) {
    return c.refusal && !c.isCurrent && !c.refusal->have.starts_with("SM6605");
  }

  BlockCandidate judged(const KernelPackage& kernel, bool isCurrent) const {
    BlockCandidate c{.grid = kernel.signature.grid, .blocks = {}, .refusal = {}, .isCurrent = isCurrent};
    for (const auto& w : kernel.signature.windows) c.blocks.push_back(w ? w->bounds : Shape{});
    c.vmemBytes = tpu::judge(kernel, chip_).vmemBytes;
    int64_t steps = 1;
    for (const int64_t bound : c.grid) steps *= bound == kDynamicBound ? 1 : bound;
    if (Status taken = takenBy(chip_, kernel); !taken)
      c.refusal = taken.error();
    else if (steps > kMaxSteps && !isCurrent)
      c.refusal = Diagnostic{.code = "SM6903",
                             .message = "too many grid steps to try",
                             .place = {},
                             .need = std::to_string(kMaxSteps) + " at most",
                             .have = std::to_string(steps)};
    else if (const auto time = sim::timeOf(kernel, chip_, question_); time)
      c.us = time->cycles / (chip_.device.clockGhz * 1e3);
    else
      c.refusal = time.error();
    return c;
  }

  const KernelPackage& kernel_;
  const tpu::Chip& chip_;
  const sim::Question& question_;
  std::map<std::vector<Factor>, std::optional<BlockCandidate>> known_;  ///< nullopt: there is no such kernel
  std::set<std::vector<Factor>> expanded_;
};

}  // namespace

BlockRanking rankBlocks(const KernelPackage& kernel, const tpu::Chip& chip, const sim::Question& question, size_t most,
                        const std::function<void(size_t)>& progress) {
  Search search(kernel, chip, question);
  const size_t axes = kernel.signature.grid.size();
  search.add(std::vector<Factor>(axes, {1, 1}));
  size_t done = 1;
  BlockRanking out;
  while (auto from = search.next()) {
    for (size_t axis = 0; axis < axes; ++axis)
      for (const Factor& move : kMoves) {
        if (done >= most) {
          out.all = false;
          out.candidates = search.candidates();
          return out;
        }
        auto to = *from;
        to[axis] = times(to[axis], move);
        if (!search.add(to)) continue;
        progress(++done);
      }
  }
  out.candidates = search.candidates();
  return out;
}

}  // namespace smalti::driver
