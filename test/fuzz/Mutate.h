// Deterministic mutations of bytes: flips, deletions, insertions, truncation, splices, interesting values; and, half of
// the time, only such as leave lengths or words as they may be.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace smalti::fuzz {

using Random = std::mt19937_64;

/// One to eight small changes; hardly longer than twice the input.
std::string mutate(const std::string& input, const std::string& other, Random&);

}  // namespace smalti::fuzz
