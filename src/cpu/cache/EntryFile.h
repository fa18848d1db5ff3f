// The files of the compile cache: written atomically, and read only if no other user could have written
// them (their contents are executed).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace smalti::cpu {

/// The whole file, empty if it is larger than `mostBytes`; nullopt if it does not exist, is not a plain file of
/// this user's, or writable by others.
std::optional<std::string> readOwnFile(const std::string& path, int64_t mostBytes);
/// Replaces a file as base/io/File.h's replaceFile does, readable by this user alone.
int writeOwnFile(const std::string& path, std::initializer_list<std::string_view> parts);
/// Makes a folder that is this user's alone, and those above it; 0 or errno.
int makeOwnFolder(const std::string& path);
/// Records that a file was used now.
void touchFile(const std::string& path);

}  // namespace smalti::cpu
