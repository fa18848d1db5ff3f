#include "cpu/cache/CompileCache.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <functional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cpu/cache/BuildId.h"
#include "cpu/cache/EntryFile.h"
#include "llvm/Support/BLAKE3.h"

namespace smalti::cpu {
namespace {

constexpr std::string_view kMagic = "smalti kernel 1\n";
constexpr std::string_view kSuffix = ".kernel";
constexpr size_t kHashBytes = 32, kKeyCharacters = 64;
constexpr int64_t kShare = 16;           // fraction of the limit that may be added before the folder is scanned again
constexpr int64_t kStaleSeconds = 3600;  // temporary files of processes that were killed

/// Follows the magic; the report and the object follow it.
struct Header {
  uint64_t reportBytes = 0, objectBytes = 0;
  std::array<uint8_t, kHashBytes> hash{};  ///< hash of the key, the report and the object
};

std::array<uint8_t, kHashBytes> hashOf(std::string_view key, std::string_view report, std::string_view object) {
  llvm::BLAKE3 hasher;
  for (std::string_view part : {key, report, object}) hasher.update(llvm::StringRef(part.data(), part.size()));
  return hasher.final<kHashBytes>();
}

std::optional<CachedKernel> parse(std::string_view key, std::string_view bytes) {
  Header header;
  if (bytes.size() < kMagic.size() + sizeof header || !bytes.starts_with(kMagic)) return std::nullopt;
  std::memcpy(&header, bytes.data() + kMagic.size(), sizeof header);
  bytes.remove_prefix(kMagic.size() + sizeof header);
  if (header.reportBytes > bytes.size() || header.objectBytes != bytes.size() - header.reportBytes) return std::nullopt;
  const std::string_view report = bytes.substr(0, header.reportBytes), object = bytes.substr(header.reportBytes);
  if (header.hash != hashOf(key, report, object)) return std::nullopt;
  return CachedKernel{std::string(object), std::string(report)};
}

struct Entry {
  std::string path;
  int64_t bytes = 0;
  timespec used{};
};

bool isEntry(std::string_view name) {
  return name.size() == kKeyCharacters + kSuffix.size() && name.ends_with(kSuffix) &&
         name.find_first_not_of("0123456789abcdef") == kKeyCharacters;
}
bool isTemporary(std::string_view name) {
  return name.size() > kKeyCharacters + kSuffix.size() && name.ends_with(".tmp") &&
         isEntry(name.substr(0, kKeyCharacters + kSuffix.size()));
}

/// The entries of a folder, and (if `stale` is given) abandoned temporary files.
std::vector<Entry> list(const std::string& folder, std::vector<std::string>* stale = nullptr) {
  std::vector<Entry> entries;
  DIR* directory = ::opendir(folder.c_str());
  if (!directory) return entries;
  while (const dirent* item = ::readdir(directory)) {
    const std::string_view name = item->d_name;
    if (!isEntry(name) && !isTemporary(name)) continue;
    std::string path = fmt::format("{}/{}", folder, name);
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (isEntry(name))
      entries.push_back({std::move(path), status.st_size, status.st_mtim});
    else if (stale && ::time(nullptr) - status.st_mtim.tv_sec > kStaleSeconds)
      stale->push_back(std::move(path));
  }
  ::closedir(directory);
  return entries;
}

/// Uniform over keys: among many processes that each add little, enough scan the folder that it is scanned as often as
/// by a single process that adds everything.
int64_t somewhereBelow(std::string_view key, int64_t bound) {
  return bound > 0 ? static_cast<int64_t>(std::hash<std::string_view>{}(key) % static_cast<uint64_t>(bound)) : 0;
}

CompileCache::Usage sum(const std::vector<Entry>& entries) {
  CompileCache::Usage usage;
  for (const Entry& entry : entries) {
    ++usage.entries;
    usage.bytes += entry.bytes;
  }
  return usage;
}

Diagnostic cannotKeep(const std::string& folder, int error) {
  return {.code = "SM7002",
          .message = fmt::format("compiled kernels cannot be stored in '{}': {}", folder,
                                 std::generic_category().message(error)),
          .place = {},
          .help = error == ENOSPC || error == EDQUOT
                      ? "make room on the disk, or name another folder: SMALTI_CACHE"
                      : "name a folder that you may write to: SMALTI_CACHE, or SMALTI_CACHE=off"};
}

Status checkBuildId(const std::string& folder) {
  if (!buildId().empty()) return {};
  return fail(
      {.code = "SM7002",
       .message = fmt::format("compiled kernels cannot be stored in '{}': this program has no build ID", folder),
       .place = {},
       .help = "link it with --build-id (gcc: -Wl,--build-id)"});
}

}  // namespace

CompileCache::CompileCache(std::string folder, int64_t limitBytes)
    : folder_(std::move(folder)), limitBytes_(limitBytes), firstError_(checkBuildId(folder_)) {}

std::string CompileCache::path(const std::string& key) const { return fmt::format("{}/{}{}", folder_, key, kSuffix); }

std::optional<CachedKernel> CompileCache::find(const std::string& key) {
  if (buildId().empty()) return std::nullopt;
  const std::string file = path(key);
  const auto bytes = readOwnFile(file, largestEntry());
  if (!bytes) return std::nullopt;
  auto kept = parse(key, *bytes);
  if (kept)
    touchFile(file);
  else
    ::unlink(file.c_str());
  return kept;
}

void CompileCache::put(const std::string& key, std::string_view object, std::string_view report) {
  const int64_t bytes = static_cast<int64_t>(kMagic.size() + sizeof(Header) + report.size() + object.size());
  const std::lock_guard lock(mutex_);
  if (!firstError_ || bytes > largestEntry()) return;
  Header header{report.size(), object.size(), hashOf(key, report, object)};
  const std::string_view headerBytes(reinterpret_cast<const char*>(&header), sizeof header);
  const auto write = [&] { return writeOwnFile(path(key), {kMagic, headerBytes, report, object}); };
  int error = write();
  if (error == ENOENT) {  // the first entry makes the folder
    error = makeOwnFolder(folder_);
    if (!error) error = write();
  }
  if (error) {
    firstError_ = fail(cannotKeep(folder_, error));
    return;
  }
  if (!bytesSinceShrink_) bytesSinceShrink_ = somewhereBelow(key, limitBytes_ / kShare);
  *bytesSinceShrink_ += bytes;
  shrink();
}

void CompileCache::shrink() {
  if (*bytesSinceShrink_ < limitBytes_ / kShare) return;
  bytesSinceShrink_ = 0;
  std::vector<std::string> stale;
  std::vector<Entry> entries = list(folder_, &stale);
  for (const std::string& file : stale) ::unlink(file.c_str());
  int64_t bytes = sum(entries).bytes;
  if (bytes <= limitBytes_ - limitBytes_ / kShare) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  const int64_t target = limitBytes_ - 2 * (limitBytes_ / kShare);
  for (const Entry& entry : entries) {
    if (bytes <= target) break;
    ::unlink(entry.path.c_str());  // already removed by another process
    bytes -= entry.bytes;
  }
}

Status CompileCache::usable() const {
  if (Status status = checkBuildId(folder_); !status) return status;
  int error = makeOwnFolder(folder_);
  const std::string probe = fmt::format("{}/{}.tmp", folder_, ::getpid());
  if (!error) error = writeOwnFile(probe, {"probe"});
  ::unlink(probe.c_str());
  if (error) return fail(cannotKeep(folder_, error));
  return {};
}

Status CompileCache::firstError() const {
  const std::lock_guard lock(mutex_);
  return firstError_;
}

CompileCache::Usage CompileCache::usage() const { return sum(list(folder_)); }

CompileCache::Usage CompileCache::clear() {
  Usage removed;
  std::vector<std::string> stale;
  for (const Entry& entry : list(folder_, &stale)) {
    if (::unlink(entry.path.c_str()) != 0) continue;
    ++removed.entries;
    removed.bytes += entry.bytes;
  }
  for (const std::string& file : stale) ::unlink(file.c_str());
  return removed;
}

}  // namespace smalti::cpu
