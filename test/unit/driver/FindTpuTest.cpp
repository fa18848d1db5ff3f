// Which files of a machine are those of a TPU; a link to /dev/null is a character device.
#include "driver/target/tpu/FindTpu.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace smalti::driver {
namespace {

namespace fs = std::filesystem;

/// An empty machine, as long as this lives.
class Root {
 public:
  Root() : path_(::testing::TempDir() + "root_" + std::to_string(::getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_ / "dev/vfio");
  }
  ~Root() { fs::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  void addDevice(const std::string& name) const {
    const fs::path file = path_ / "dev" / name;
    fs::create_directories(file.parent_path());
    fs::create_symlink("/dev/null", file);
  }
  void addPciDevice(const std::string& vendor) const {
    const fs::path folder = path_ / "sys/bus/pci/devices" / "0000:00:05.0";
    fs::create_directories(folder);
    std::ofstream(folder / "vendor") << vendor << "\n";
  }
  bool hasTpu() const { return driver::hasTpu(path_); }

 private:
  fs::path path_;
};

TEST(FindTpu, AMachineWithoutDevicesHasNone) {
  EXPECT_FALSE(Root().hasTpu());
  EXPECT_FALSE(hasTpu("/nowhere"));
}

TEST(FindTpu, DevicesOfGooglesDriver) {
  const Root root;
  root.addDevice("accel0");
  EXPECT_TRUE(root.hasTpu());
}

TEST(FindTpu, LinuxsFolderOfAcceleratorsIsNone) {
  const Root root;
  root.addDevice("accel/accel0");
  root.addDevice("accelerometer");
  EXPECT_FALSE(root.hasTpu());
}

TEST(FindTpu, AGroupOfVfioIsOneOnlyWithADeviceOfGoogles) {
  const Root root;
  root.addDevice("vfio/vfio");
  root.addPciDevice("0x1ae0");
  EXPECT_FALSE(root.hasTpu());
  root.addDevice("vfio/0");
  EXPECT_TRUE(root.hasTpu());
}

TEST(FindTpu, AGroupOfVfioMayBeAGpu) {
  const Root root;
  root.addDevice("vfio/12");
  root.addPciDevice("0x10de");
  EXPECT_FALSE(root.hasTpu());
}

}  // namespace
}  // namespace smalti::driver
