// The known chips: files next to the installed library, otherwise those embedded in it.
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Lasting.h"
#include "base/Text.h"
#include "base/io/EmbeddedFile.h"
#include "base/io/File.h"
#include "tpu/chip/Chip.h"

namespace smalti::tpu {

std::span<const EmbeddedFile> chipFiles();  // made by cmake/Embed.cmake

namespace {

constexpr std::string_view kSuffix = ".toml";
constexpr int64_t kMaxChipFileBytes = 1 << 20;

struct ChipText {
  std::string path, text;
};

Result<ChipText> fromFile(const std::string& path) {
  auto text = readFile(path, kMaxChipFileBytes);
  if (!text) return fail(text.error());
  return ChipText{path, std::move(*text)};
}

/// share/smalti/chips of the tree that this library was installed in.
std::filesystem::path installedFolder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&chipNames), &info) || !info.dli_fname) return {};
  std::error_code error;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  if (error) return {};
  for (std::filesystem::path folder = library.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (std::filesystem::path chips = folder / "share/smalti/chips"; std::filesystem::is_directory(chips, error))
      return chips;
  return {};
}

Result<ChipText> findText(std::string_view name) {
  if (name.ends_with(kSuffix)) return fromFile(std::string(name));
  const auto names = chipNames();
  if (std::ranges::find(names, name) == names.end()) {
    const auto near = nearest(std::string(name), std::vector<std::string>(names.begin(), names.end()), 1);
    return fail({.code = "SM6609",
                 .message = fmt::format("there is no chip '{}'", name.substr(0, 100)),
                 .place = {},
                 .need = fmt::format("{}, or a chip's .toml file", fmt::join(names, ", ")),
                 .have = std::string(name.substr(0, 100)),
                 .help = near.empty() ? "name the generation of the TPU" : fmt::format("did you mean {}?", near[0])});
  }
  const std::string file = fmt::format("{}{}", name, kSuffix);
  static constinit Lasting<const std::filesystem::path> installed;
  const std::filesystem::path& kInstalled = installed.get(installedFolder);
  std::error_code error;
  if (!kInstalled.empty() && std::filesystem::exists(kInstalled / file, error)) return fromFile(kInstalled / file);
  for (const EmbeddedFile& f : chipFiles())
    if (f.name == file) return ChipText{"chips/" + file, std::string(f.text)};
  return fail({.code = "SM6609", .message = fmt::format("there is no file of the chip '{}'", name), .place = {}});
}

}  // namespace

std::span<const std::string_view> chipNames() {
  static constinit Lasting<const std::vector<std::string_view>> kNames;
  return kNames.get([] {
    std::vector<std::string_view> names;
    for (const EmbeddedFile& f : chipFiles()) names.push_back(f.name.substr(0, f.name.size() - kSuffix.size()));
    std::ranges::sort(names);
    return names;
  });
}

Result<std::string> chipText(std::string_view nameOrFile) {
  auto found = findText(nameOrFile);
  if (!found) return fail(found.error());
  return std::move(found->text);
}

Result<Chip> findChip(std::string_view nameOrFile) {
  const auto found = findText(nameOrFile);
  if (!found) return fail(found.error());
  return parseChip(found->text, found->path);
}

Result<std::vector<Chip>> findChips(std::string_view list) {
  std::vector<Chip> chips;
  const auto add = [&](std::string_view name) -> Status {
    auto chip = findChip(name);
    if (!chip) return fail(chip.error());
    for (const Chip& c : chips)
      if (c.name == chip->name) return {};
    chips.push_back(std::move(*chip));
    return {};
  };
  while (true) {
    const size_t comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    if (name == "all") {
      for (std::string_view each : chipNames())
        if (Status ok = add(each); !ok) return fail(ok.error());
    } else if (Status ok = add(name); !ok) {
      return fail(ok.error());
    }
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return chips;
}

}  // namespace smalti::tpu
