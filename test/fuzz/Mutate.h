// Deterministic mutations of bytes: flips, deletions, insertions, truncation, splices, interesting values.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace smalti::fuzz {

using Random = std::mt19937_64;

/// One to eight small changes; never longer than twice the input + 64 bytes.
std::string mutate(const std::string& input, const std::string& other, Random&);

}  // namespace smalti::fuzz
