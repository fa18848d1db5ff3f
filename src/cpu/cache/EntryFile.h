// The files of the compile cache: written whole or not at all, and read only when this user alone could have written
// them (what is in them is executed).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace smalti::cpu {

/// The whole file, or nothing of one that is larger than `mostBytes`; absent when it is not there, not a plain file of
/// this user's, or writable by others.
std::optional<std::string> readOwnFile(const std::string& path, int64_t mostBytes);
/// As base/File.h's replaceFile, for this user alone.
int writeOwnFile(const std::string& path, std::initializer_list<std::string_view> parts);
/// Makes a folder that is this user's alone, and those above it; 0 or errno.
int makeOwnFolder(const std::string& path);
/// Notes that a file was used now.
void touchFile(const std::string& path);

}  // namespace smalti::cpu
