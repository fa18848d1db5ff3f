#include "driver/tune/TunedFile.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "base/Text.h"
#include "base/io/File.h"
#include "cpu/Processor.h"

namespace smalti::driver {
namespace {

constexpr int64_t kMaxBytes = int64_t{64} << 20;

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<std::vector<TunedEntry>> read(const toml::table& file) {
    for (const auto& [key, node] : file) {
      if (key != "tuned" || !node.is_array())
        return refuse(key.source(), fmt::format("'{}' is not allowed in a file of tuned candidates", key.str()),
                      "[[tuned]] tables");
      for (const toml::node& entry : *node.as_array())
        if (auto status = this->entry(entry); !status) return fail(std::move(status.error()));
    }
    return std::move(entries_);
  }

 private:
  tl::unexpected<Diagnostic> refuse(const toml::source_region& at, std::string message, std::string need,
                                    std::string have = {}) const {
    return fail({.code = "SM6912",
                 .message = std::move(message),
                 .place = {path_, static_cast<int>(at.begin.line), static_cast<int>(at.begin.column)},
                 .need = std::move(need),
                 .have = std::move(have),
                 .help = "delete the entry, or the file, to have it tuned again"});
  }

  Status entry(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (!table) return refuse(node.source(), "an entry is not a table", "[[tuned]]");
    TunedEntry e;
    std::string by;
    for (const auto& [key, value] : *table) {
      const std::string_view name = key.str();
      const bool good = name == "kernel"       ? text(value, e.kernel)
                        : name == "target"     ? text(value, e.target)
                        : name == "operands"   ? texts(value, e.operands)
                        : name == "candidate"  ? sizes(value, e.candidate)
                        : name == "us"         ? number(value, e.us)
                        : name == "by"         ? text(value, by) && (by == "measured" || by == "model")
                        : name == "candidates" ? count(value, e.candidates)
                                               : false;
      if (good) continue;
      const std::vector<std::string> kNames{"kernel", "target", "operands", "candidate", "us", "by", "candidates"};
      if (std::find(kNames.begin(), kNames.end(), name) == kNames.end())
        return refuse(key.source(), fmt::format("'{}' is not a key of a tuned entry", name),
                      fmt::format("{}", fmt::join(kNames, ", ")));
      return refuse(value.source(), fmt::format("'{}' cannot be this", name), needOf(name));
    }
    for (const auto& [missing, name] : {std::pair{e.kernel.empty(), "kernel"},
                                        {e.target.empty(), "target"},
                                        {e.candidate.sizes().empty(), "candidate"},
                                        {e.us <= 0, "us"}})
      if (missing) return refuse(node.source(), fmt::format("the entry lacks '{}'", name), std::string(needOf(name)));
    e.measured = by == "measured";
    for (const TunedEntry& other : entries_)
      if (other.isAbout(e))
        return refuse(node.source(), fmt::format("there are two entries for kernel '{}' on {}", e.kernel, e.target),
                      "one for each kernel, target and operands", fmt::format("{}", fmt::join(e.operands, ", ")));
    entries_.push_back(std::move(e));
    return {};
  }

  static std::string needOf(std::string_view name) {
    return name == "operands"     ? "types of the operands: [\"bf16[512,512]\"]"
           : name == "candidate"  ? "sizes by name: { block_m = 512 }"
           : name == "us"         ? "a time in µs, more than 0"
           : name == "by"         ? "\"measured\" or \"model\""
           : name == "candidates" ? "their number"
                                  : "a text";
  }
  static bool text(const toml::node& node, std::string& out) {
    out = node.value<std::string>().value_or("");
    return !out.empty();
  }
  static bool texts(const toml::node& node, std::vector<std::string>& out) {
    if (!node.is_array()) return false;
    for (const toml::node& n : *node.as_array()) {
      out.emplace_back();
      if (!text(n, out.back())) return false;
    }
    return true;
  }
  static bool number(const toml::node& node, double& out) {
    out = node.value<double>().value_or(0);
    return out > 0 && out < 1e15;
  }
  static bool count(const toml::node& node, int64_t& out) {
    out = node.is_integer() ? node.value<int64_t>().value_or(-1) : -1;
    return out >= 0;
  }
  static bool sizes(const toml::node& node, Candidate& out) {
    const toml::table* table = node.as_table();
    if (!table) return false;
    // In the order of the file: a table of toml++ is sorted by name.
    std::vector<std::tuple<uint32_t, uint32_t, Candidate::Size>> found;
    for (const auto& [key, value] : *table) {
      if (!value.is_integer()) return false;
      const auto at = key.source().begin;
      found.emplace_back(at.line, at.column, Candidate::Size{std::string(key.str()), *value.value<int64_t>()});
    }
    std::sort(found.begin(), found.end());
    std::vector<Candidate::Size> sizes;
    for (auto& [line, column, size] : found) sizes.push_back(std::move(size));
    out = Candidate(std::move(sizes));
    return !out.sizes().empty();
  }

  const std::string& path_;
  std::vector<TunedEntry> entries_;
};

std::string quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::toml_formatter{toml::value<std::string>(text),
                              toml::toml_formatter::default_flags & ~toml::format_flags::allow_literal_strings};
  return out.str();
}

std::string factsText(const tpu::Chip& chip) {
  std::string text;
  for (const tpu::ChipFact& f : tpu::factsOf(chip)) text += f.path + " = " + f.value + "\n";
  return text;
}

/// FNV-1a: the same in every build, as files outlive it.
uint64_t hashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

/// Programs that tune into files of one folder wait for each other. If there is no such folder, or it cannot be
/// locked, the file is written without a lock.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    folder_ = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0) return;
    while (::flock(folder_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (folder_ >= 0) ::close(folder_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_ = -1;
};

}  // namespace

std::string tunedTarget() {
  return fmt::format("cpu/{}/{}", cpu::hostProcessor().name, std::thread::hardware_concurrency());
}

std::string tunedTarget(const tpu::Chip& chip) {
  const std::string facts = factsText(chip);
  const auto names = tpu::chipNames();
  if (std::find(names.begin(), names.end(), chip.name) != names.end())
    if (const auto own = tpu::findChip(chip.name); own && factsText(*own) == facts) return chip.name;
  return fmt::format("{}/{:016x}", chip.name, hashOf(facts));
}

Result<std::vector<TunedEntry>> readTuned(const std::string& path) {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return std::vector<TunedEntry>{};
  const auto text = readFile(path, kMaxBytes);
  if (!text) return fail(text.error());
  try {
    return Reader(path).read(toml::parse(*text, path));
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    return fail({.code = "SM6912",
                 .message = "the file of tuned candidates is not TOML",
                 .place = {path, static_cast<int>(at.line), static_cast<int>(at.column)},
                 .have = std::string(error.description()),
                 .help = "delete the entry, or the file, to have it tuned again"});
  }
}

std::string tunedText(std::vector<TunedEntry> entries) {
  std::sort(entries.begin(), entries.end(), [](const TunedEntry& a, const TunedEntry& b) {
    return std::tie(a.kernel, a.target, a.operands) < std::tie(b.kernel, b.target, b.operands);
  });
  std::string out =
      "# The fastest candidate of kernels, by autotune and `smalti tune`. An entry that is deleted is tuned again.\n";
  for (const TunedEntry& e : entries) {
    std::vector<std::string> operands, sizes;
    for (const std::string& o : e.operands) operands.push_back(quoted(o));
    for (const auto& [name, size] : e.candidate.sizes()) {
      const bool bare = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '-';
      });
      sizes.push_back(fmt::format("{} = {}", bare ? name : quoted(name), size));
    }
    out += fmt::format(
        "\n[[tuned]]\nkernel = {}\ntarget = {}\noperands = [{}]\ncandidate = {{ {} }}\nus = {:.1f}\nby = \"{}\"\n"
        "candidates = {}\n",
        quoted(e.kernel), quoted(e.target), fmt::join(operands, ", "), fmt::join(sizes, ", "), std::max(e.us, 0.1),
        e.measured ? "measured" : "model", e.candidates);
  }
  return out;
}

Status addTuned(const std::string& path, const std::vector<TunedEntry>& added) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const FolderLock others(path);
  auto entries = readTuned(path);
  if (!entries) return fail(entries.error());
  for (const TunedEntry& e : added) {
    std::erase_if(*entries, [&](const TunedEntry& old) { return old.isAbout(e); });
    entries->push_back(e);
  }
  return writeFile(path, {tunedText(std::move(*entries))});
}

}  // namespace smalti::driver
