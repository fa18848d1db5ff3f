// The keys of a chip's file: which member each sets, and what values are possible.
#pragma once

#include <functional>
#include <variant>
#include <vector>

#include "tpu/chip/Chip.h"

namespace smalti::tpu {

struct ChipKey {
  using Integer = std::function<int64_t&(Chip&)>;
  using Number = std::function<double&(Chip&)>;
  using Flag = std::function<bool&(Chip&)>;
  using Text = std::function<std::string&(Chip&)>;

  std::string_view section, key;
  std::variant<Integer, Number, Flag, Text> member;
  double min = 0, max = 0;  ///< of numbers
  std::string_view help;    ///< with the unit
};

const std::vector<ChipKey>& chipSchema();

/// An error that no single key shows: numbers that contradict each other. Empty: none.
struct Contradiction {
  std::string_view section, key;  ///< the one to look at
  std::string message, need;
};
std::vector<Contradiction> contradictionsOf(const Chip&);

}  // namespace smalti::tpu
