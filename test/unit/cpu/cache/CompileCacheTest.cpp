#include "cpu/cache/CompileCache.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smalti::cpu {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kMib = 1 << 20;

class Cache : public ::testing::Test {
 protected:
  Cache() {
    std::string pattern = fs::temp_directory_path() / "smalti_cache_XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~Cache() override { fs::remove_all(folder); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& file : fs::directory_iterator(folder)) all.push_back(file.path());
    return all;
  }
  std::string read(const fs::path& path) const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const fs::path& path, const std::string& bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  fs::path folder;
  const std::string key = cacheKey({"module", "options"});
};

TEST_F(Cache, WhatWasPutIsFoundByOthers) {
  CompileCache(folder, kMib).put(key, std::string("obj\0ect", 7), "report");
  CompileCache cache(folder, kMib);
  const auto kept = cache.find(key);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->object, std::string("obj\0ect", 7));
  EXPECT_EQ(kept->report, "report");
  EXPECT_FALSE(cache.find(cacheKey({"another"})));
  EXPECT_EQ(cache.usage().entries, 1);
  EXPECT_EQ(cache.usage().bytes, static_cast<int64_t>(fs::file_size(files()[0])));
}

TEST_F(Cache, AKeySeparatesItsParts) {
  EXPECT_EQ(cacheKey({"ab", "c"}), cacheKey({"ab", "c"}));
  EXPECT_NE(cacheKey({"ab", "c"}), cacheKey({"a", "bc"}));
  EXPECT_NE(cacheKey({"ab"}), cacheKey({"ab", ""}));
  Processor other = hostProcessor();
  other.l2Bytes *= 2;
  EXPECT_NE(processorText(other), processorText(hostProcessor()));
}

TEST_F(Cache, TheFolderIsMadeForTheUserAlone) {
  CompileCache cache(folder / "a" / "b", kMib);
  EXPECT_EQ(cache.usage().entries, 0);
  cache.put(key, "object", "");
  EXPECT_TRUE(cache.firstError());
  struct stat status;
  ASSERT_EQ(::stat((folder / "a" / "b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_TRUE(cache.find(key));
}

TEST_F(Cache, EveryCorruptedOrTruncatedEntryIsRemoved) {
  CompileCache cache(folder, kMib);
  cache.put(key, "an object", "a report");
  const fs::path file = files()[0];
  const std::string good = read(file);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string flipped = good;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    for (const std::string& bad : {flipped, good.substr(0, i)}) {
      write(file, bad);
      EXPECT_FALSE(cache.find(key)) << "byte " << i;
      EXPECT_FALSE(fs::exists(file));
      cache.put(key, "an object", "a report");
    }
  }
  write(file, good + "x");
  EXPECT_FALSE(cache.find(key));
  write(file, good);
  fs::resize_file(file, uintmax_t{1} << 37);  // more than any memory has room for
  EXPECT_FALSE(cache.find(key));
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(Cache, AnEntryUnderAnotherNameIsNotTaken) {
  CompileCache cache(folder, kMib);
  cache.put(key, "object", "");
  const std::string other = cacheKey({"another"});
  fs::rename(files()[0], folder / (other + ".kernel"));
  EXPECT_FALSE(cache.find(other));
}

TEST_F(Cache, FilesThatOthersMayWriteAreNotRun) {
  CompileCache cache(folder, kMib);
  cache.put(key, "object", "");
  const fs::path file = files()[0];
  ::chmod(file.c_str(), 0666);
  EXPECT_FALSE(cache.find(key));
  ::chmod(file.c_str(), 0600);
  EXPECT_TRUE(cache.find(key));
  fs::rename(file, folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", file);
  EXPECT_FALSE(cache.find(key));
}

TEST_F(Cache, TheLeastRecentlyUsedEntryIsEvictedFirst) {
  constexpr int64_t kLimit = 64 << 10;
  const std::string object(4 << 10, 'o');
  CompileCache cache(folder, kLimit);
  const auto keyOf = [](int i) { return cacheKey({std::to_string(i)}); };
  for (int i = 0; i < 40; ++i) {
    cache.put(keyOf(i), object, "");
    cache.find(keyOf(0));  // stays in use
    EXPECT_LE(cache.usage().bytes, kLimit);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_TRUE(cache.find(keyOf(0)));
  EXPECT_FALSE(cache.find(keyOf(1)));
  EXPECT_TRUE(cache.find(keyOf(39)));
}

TEST_F(Cache, ManyProcessesThatPutOneEntryEachKeepTheLimit) {
  constexpr int64_t kLimit = 256 << 10;
  const std::string object(4 << 10, 'o');
  int64_t most = 0, lists = 0, last = 0;
  for (int i = 0; i < 400; ++i) {
    CompileCache cache(folder, kLimit);
    cache.put(cacheKey({std::to_string(i)}), object, "");
    const int64_t bytes = cache.usage().bytes;
    if (bytes < last) ++lists;
    most = std::max(most, last = bytes);
  }
  EXPECT_LE(most, kLimit + kLimit / 2);
  EXPECT_GT(lists, 0);
}

TEST_F(Cache, AnEntryThatFillsMostOfItIsNotKept) {
  CompileCache cache(folder, 4096), none(folder, 0);
  cache.put(key, std::string(2048, 'o'), "");
  none.put(key, "", "");
  EXPECT_TRUE(files().empty());
}

TEST_F(Cache, ClearingRemovesEntriesAndNothingElse) {
  CompileCache cache(folder, kMib);
  for (int i = 0; i < 3; ++i) cache.put(cacheKey({std::to_string(i)}), "object", "");
  write(folder / "notes.txt", "mine");
  write(folder / "x.kernel", "mine");
  const auto removed = cache.clear();
  EXPECT_EQ(removed.entries, 3);
  EXPECT_GT(removed.bytes, 0);
  EXPECT_EQ(cache.usage().entries, 0);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(Cache, PartialFilesOfKilledProcessesAreRemoved) {
  const fs::path old = folder / (key + ".kernel.1.1.tmp"), fresh = folder / (key + ".kernel.2.1.tmp");
  write(old, "half");
  write(fresh, "half");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  constexpr int64_t kFewEntries = 1000;  // each of them makes it look what is there
  CompileCache(folder, kFewEntries).put(key, "object", "");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
}

TEST_F(Cache, AnUnwritableFolderIsReportedOnce) {
  write(folder / "file", "");
  CompileCache cache(folder / "file" / "below", kMib);
  cache.put(key, "object", "");
  const Status trouble = cache.firstError();
  ASSERT_FALSE(trouble);
  EXPECT_EQ(trouble.error().code, "SM7002");
  EXPECT_THAT(trouble.error().message, HasSubstr((folder / "file" / "below").string()));
  EXPECT_FALSE(cache.find(key));
  EXPECT_EQ(cache.usage().entries, 0);
  EXPECT_EQ(cache.clear().entries, 0);
  ASSERT_FALSE(cache.usable());
  EXPECT_EQ(cache.usable().error().code, "SM7002");
  EXPECT_TRUE(CompileCache(folder, kMib).usable());
  EXPECT_EQ(files().size(), 1u);
}

/// The limit on file sizes stands for a full disk: a write ends short.
TEST_F(Cache, AFullDiskLeavesNothingBehind) {
  CompileCache cache(folder, kMib);
  cache.put(key, "small", "");
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{.rlim_cur = 512, .rlim_max = limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string other = cacheKey({"large"});
  cache.put(other, std::string(8192, 'o'), "");
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(cache.firstError());
  EXPECT_EQ(cache.firstError().error().code, "SM7002");
  EXPECT_FALSE(cache.find(other));
  EXPECT_TRUE(cache.find(key));
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(Cache, SeveralProcessesShareAFolder) {
  constexpr int kProcesses = 4, kRounds = 60, kKeys = 7;
  constexpr int64_t kLimit = 32 << 10;  // a few entries: they also remove each other's
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      CompileCache cache(folder, kLimit);
      int wrong = 0;
      for (int i = 0; i < kRounds; ++i) {
        const std::string name = std::to_string((i * (p + 1)) % kKeys), object(2000, name[0]);
        if (const auto kept = cache.find(cacheKey({name}))) wrong += kept->object != object || kept->report != name;
        cache.put(cacheKey({name}), object, name);
        wrong += cache.firstError() ? 0 : 1;
      }
      ::_exit(wrong ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const fs::path& file : files()) EXPECT_EQ(file.extension(), ".kernel");
}

TEST(CacheFolder, SettingsMeanFolders) {
  const auto set = [](const char* name, const char* value) { value ? ::setenv(name, value, 1) : ::unsetenv(name); };
  const char* home = std::getenv("HOME");
  const std::string before = home ? home : "";
  set("XDG_CACHE_HOME", "/caches");
  EXPECT_EQ(cacheFolder("auto"), "/caches/smalti");
  set("XDG_CACHE_HOME", "relative");  // the standard says: ignored
  set("HOME", "/nowhere");
  EXPECT_EQ(cacheFolder("auto"), "/nowhere/.cache/smalti");
  set("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(cacheFolder(""), "/nowhere/.cache/smalti");
  set("HOME", nullptr);
  EXPECT_EQ(cacheFolder("auto"), std::nullopt);
  set("HOME", home ? before.c_str() : nullptr);
  EXPECT_EQ(cacheFolder("off"), std::nullopt);
  EXPECT_EQ(cacheFolder("/data"), "/data");
  EXPECT_EQ(openCache("off", kMib), nullptr);
  EXPECT_EQ(openCache("/data", kMib), openCache("/data", kMib));
}

}  // namespace
}  // namespace smalti::cpu
