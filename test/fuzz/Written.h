// Inputs that programs of their own read: written as files, for tools/fuzz.sh to hand them over.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "Mutate.h"

namespace smalti::fuzz {

/// A recorded case with one or two of its files mutated, in a new folder.
void writeMutatedCase(const std::vector<std::filesystem::path>& cases, const std::filesystem::path& folder, Random&);

/// What an editor sends to a language server: a mutated module is opened, asked about and edited; one session in four
/// is mutated as bytes, too.
std::string mutatedSession(const std::string& module, const std::string& other, Random&);

}  // namespace smalti::fuzz
