#include "base/io/File.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

namespace smalti {
namespace {

class File : public testing::Test {
 protected:
  std::string folder = (std::filesystem::temp_directory_path() / ("file_test." + std::to_string(::getpid()))).string();
  void SetUp() override { ASSERT_TRUE(makeFolder(folder + "/a/b")); }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

TEST_F(File, WritesRoundTripAndLeaveNoOtherFile) {
  const std::string path = folder + "/a/b/text";
  ASSERT_TRUE(writeFile(path, {"one ", "two"}));
  ASSERT_TRUE(writeFile(path, {"three"}));
  EXPECT_EQ(*readFile(path), "three");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder + "/a/b"), {}), 1);
}

TEST_F(File, ADeviceIsWrittenToAndStays) {
  const std::string null = folder + "/null";
  ASSERT_EQ(::symlink("/dev/null", null.c_str()), 0);
  EXPECT_TRUE(writeFile(null, {"text"}));
  EXPECT_TRUE(std::filesystem::is_character_file(null));
  const std::string full = folder + "/full";
  ASSERT_EQ(::symlink("/dev/full", full.c_str()), 0);
  const auto written = writeFile(full, {"text"});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().str(),
            "error[SM1006]: cannot write '" + full +
                "': No space left on device\n  help: make room on the disk, or write elsewhere\n");
}

TEST_F(File, AFileOverTheLimitIsRefused) {
  const std::string path = folder + "/text";
  ASSERT_TRUE(writeFile(path, {"12345"}));
  EXPECT_TRUE(readFile(path, 5));
  const auto text = readFile(path, 4);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().str(), "error[SM1015]: '" + path + "' is too large\n  need: at most 4 bytes\n");
}

TEST_F(File, TheEndlessIsNotRead) {
  EXPECT_EQ(readFile("/dev/zero").error().message, "cannot read '/dev/zero': it is neither a file nor a pipe");
  EXPECT_EQ(*readFile("/dev/null"), "");
}

TEST_F(File, APipeIsReadToItsEnd) {
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string text(300'000, 'x');  // more than a pipe holds
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const int fd = ::open(pipe.c_str(), O_WRONLY);
    for (size_t at = 0; at < text.size();) at += static_cast<size_t>(::write(fd, text.data() + at, text.size() - at));
    ::close(fd);
  });
  const auto read = readFile(pipe);
  writer.join();
  ASSERT_TRUE(read) << read.error().str();
  EXPECT_EQ(*read, text);
}

TEST_F(File, APipeWithoutWritersTimesOut) {
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto read = readFile(pipe);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().str(), "error[SM1001]: cannot read '" + pipe + "': nothing came through this pipe for 2 s\n");
  EXPECT_EQ(readHead(pipe, 8).error().message, "cannot read '" + pipe + "': it is not a regular file");
}

TEST_F(File, APipeIsWrittenWhenItsReaderComes) {
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string text(300'000, 'x');  // more than a pipe holds
  std::string seen;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const int fd = ::open(pipe.c_str(), O_RDONLY);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    char part[4096];
    for (ssize_t n; (n = ::read(fd, part, sizeof part)) > 0;) seen.append(part, static_cast<size_t>(n));
    ::close(fd);
  });
  const auto written = writeFile(pipe, {text});
  reader.join();
  ASSERT_TRUE(written) << written.error().str();
  EXPECT_EQ(seen, text);
}

TEST_F(File, APipeThatNobodyReadsIsNotWaitedForLong) {
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto written = writeFile(pipe, {"x"});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().str(), "error[SM1006]: cannot write '" + pipe +
                                       "': no process reads this pipe\n  need: a reader within 2 s\n"
                                       "  help: start the process that reads it first, or write to a file\n");
  EXPECT_TRUE(writeFile("/dev/null", {"x"}));
}

TEST_F(File, TheHeadOfAFileIsReadAlone) {
  const std::string path = folder + "/text";
  ASSERT_TRUE(writeFile(path, {"12345"}));
  const auto head = readHead(path, 2), whole = readHead(path, 9);
  ASSERT_TRUE(head && whole);
  EXPECT_EQ(head->bytes, "12");
  EXPECT_EQ(head->size, 5);
  EXPECT_EQ(whole->bytes, "12345");
}

TEST_F(File, FoldersAndMissingFilesAreRefused) {
  EXPECT_EQ(readFile(folder).error().message, "cannot read '" + folder + "': it is a folder");
  EXPECT_EQ(readFile(folder + "/none").error().message, "cannot read '" + folder + "/none': No such file or directory");
  EXPECT_EQ(writeFile(folder + "/none/file", {"x"}).error().code, "SM1006");
}

}  // namespace
}  // namespace smalti
