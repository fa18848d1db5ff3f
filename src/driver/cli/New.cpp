// smalti new: a folder with a small kernel that runs as it is.
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include "base/io/File.h"
#include "driver/case/Values.h"
#include "driver/cli/Embedded.h"
#include "driver/cli/Verbs.h"
#include "interop/npy/Npy.h"

namespace smalti::cli {
namespace {

/// Writes the files of the new folder `name` to `folder`.
Status write(const std::string& folder, const std::string& name, std::vector<std::string>& files) {
  for (const EmbeddedFile& file : newFiles()) {
    std::string text(file.text);
    constexpr std::string_view kPlaceholder = "NAME";
    for (size_t at = 0; (at = text.find(kPlaceholder, at)) != std::string::npos; at += name.size())
      text.replace(at, kPlaceholder.size(), name);
    files.emplace_back(file.name);
    if (Status status = writeFile(fmt::format("{}/{}", folder, file.name), {text}); !status) return status;
  }
  for (uint64_t i = 0; i < 2; ++i) {
    const auto array = driver::filledArray({DType::f32, {256, 128}}, "random", i);
    if (!array) return fail(array.error());
    files.push_back(i == 0 ? "x.npy" : "y.npy");
    if (Status status = interop::writeNpy(fmt::format("{}/{}", folder, files.back()), *array); !status) return status;
  }
  return {};
}

/// The folder with all its files or, after an error, nothing: they are written to another folder, which is renamed.
Status make(const std::string& folder, std::vector<std::string>& files) {
  namespace fs = std::filesystem;
  const std::string half = fmt::format("{}.{}.tmp", folder, ::getpid());
  std::vector<fs::path> made{half};  // with the folders above that are missing
  std::error_code error;
  for (fs::path above = made[0].parent_path(); !above.empty() && !fs::exists(above, error); above = above.parent_path())
    made.push_back(above);
  Status status = makeFolder(half);
  if (status) status = write(half, fs::path(folder).filename().string(), files);
  if (status) status = renameFile(half, folder);
  if (status) return status;
  fs::remove_all(half, error);
  for (const fs::path& empty : made) fs::remove(empty, error);
  return status;
}

/// A folder as an argument in a shell.
std::string inShell(const std::string& folder) {
  std::string text = folder.starts_with('-') ? "./" + folder : folder;
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  if (text.find_first_not_of(kPlain) == text.npos) return text;
  for (size_t at = 0; (at = text.find('\'', at)) != text.npos; at += 4) text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

int create(const Session& session, std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::error_code error;
  if (std::filesystem::exists(folder, error))
    return session.refuse({.code = "SM1018",
                           .message = fmt::format("'{}' already exists", folder),
                           .place = {},
                           .help = "choose another name, or remove it"});
  std::vector<std::string> files;
  if (Status status = make(folder, files); !status) return session.refuse(status.error());
  if (session.json()) {
    session.printJson({{"folder", folder}, {"files", files}});
    return kOk;
  }
  session.print(fmt::format("made {}:\n", folder));
  for (const std::string& file : files) session.print(fmt::format("  {}/{}\n", folder, file));
  session.print(
      fmt::format("\nNow:\n  cd {}\n  smalti run kernel.mlir --in x.npy --in y.npy --out-shape 'f32[256,128]'\n"
                  "  smalti check kernel.mlir --in x.npy --in y.npy --out-shape 'f32[256,128]'\n",
                  inShell(folder)));
  return kOk;
}

}  // namespace

void declareNew(CLI::App& app, Session& session) {
  auto folder = std::make_shared<std::string>();
  app.add_option("name", *folder, "name of the new folder")->required()->type_name("NAME");
  session.addOptions(app, {OptionGroup::output});
  app.callback([&session, folder] { session.action = [&session, folder] { return create(session, *folder); }; });
}

}  // namespace smalti::cli
