// Copies that run while the kernel computes, and semaphores (G, H). Outside kernels all of them are errors (SM6106).
//
//   auto copy = pl::make_async_copy(x.at(pl::ds(i * 8, 8)), buffer, sem);
//   copy.start();
//   …
//   copy.wait();
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "smalti/memory.h"
#include "smalti/mesh.h"

namespace smalti {

/// The meaning of a device id: the position in the mesh, or the number (S-G7).
enum class DeviceIdType : uint8_t { mesh, logical };

/// A device: its number (logical), one index per axis of the mesh, or indices by axis name; axes that are not
/// named keep this device's index (H5): `{{"x", 1}}`. A key of several axes has one row-major index over them (S-G7):
/// `{{{"x", "y"}, 5}}`. Errors: SM6508 (not integer scalars, other axes than the mesh has, a known index outside its
/// axis); SM4052 at run time (there is no such device).
class DeviceId {
 public:
  template <class T, class = std::enable_if_t<std::is_convertible_v<const T&, Operand>>>
  DeviceId(const T& id, Location at = Location::current()) : indices{Operand(id, at)} {}
  DeviceId(std::initializer_list<Operand> indices) : indices(indices) {}
  DeviceId(const std::map<std::string, Operand>& byAxis) : byAxis(byAxis.begin(), byAxis.end()) {}
  DeviceId(std::initializer_list<std::pair<AxisNames, Operand>> byAxis) : byAxis(byAxis) {}

  std::vector<Operand> indices;
  std::vector<std::pair<AxisNames, Operand>> byAxis;
};

struct StartOptions {
  /// 0, or 1 for copies that start before those of priority 0; remote copies have none. Error of others: SM6503.
  int priority = 0;
  /// Adds to the destination, as SparseCores do; here an error (SM6503).
  bool add = false;
};

/// A copy that can be started and waited for (H2, H3). The same descriptor may be created again elsewhere to wait.
class AsyncCopyDescriptor {
 public:
  AsyncCopyDescriptor(Ref src, Ref dst, Ref sem, Location at) : src_(src), dst_(dst), sem_(sem), at_(at) {}
  AsyncCopyDescriptor(Ref src, Ref dst, Ref send, Ref receive, Array device, Location at)
      : src_(src), dst_(dst), sem_(receive), send_(send), device_(device), at_(at) {}

  bool is_remote() const { return device_.has_value(); }
  void start(StartOptions options = {}, Location at = Location::current()) const;
  /// Waits until the copy is done; for a remote copy, until both sides of this device are. Errors: SM6504 (a regular
  /// semaphore, to which a copy adds 1: use semaphore_wait); SM4103 (deadlock) when the kernel runs: no copy that was
  /// started raises the semaphore.
  void wait(Location at = Location::current()) const;
  /// Remote copies: wait until the source may change; until the incoming data has arrived. Errors as for `wait`; SM6504
  /// also for `wait_send` of a local copy.
  void wait_send(Location at = Location::current()) const;
  void wait_recv(Location at = Location::current()) const;

 private:
  void record(const char* op, std::optional<bool> waitTarget, StartOptions, const Location&) const;
  Ref src_, dst_, sem_;
  std::optional<Ref> send_;
  std::optional<Array> device_;
  Location at_;
};

/// Copies between Refs of one shape and dtype, not pred, in any two memories; nothing happens before `start`. Errors:
/// SM6501 (types), SM6502 (`sem` is not one semaphore).
[[nodiscard]] AsyncCopyDescriptor make_async_copy(const Ref& src, const Ref& dst, const Ref& sem,
                                                  Location at = Location::current());
/// Creates the descriptor and starts the copy (H1).
AsyncCopyDescriptor async_copy(const Ref& src, const Ref& dst, const Ref& sem, StartOptions options = {},
                               Location at = Location::current());
/// Copies and waits, with a semaphore of its own (H6).
void sync_copy(const Ref& src, const Ref& dst, Location at = Location::current());

/// To another device: `dst` and `recv_sem` are those of the device with that id, `src` and `send_sem` of this one (H4).
/// Errors as for make_async_copy, for each semaphore, and those of DeviceId.
[[nodiscard]] AsyncCopyDescriptor make_async_remote_copy(const Ref& src, const Ref& dst, const Ref& send_sem,
                                                         const Ref& recv_sem, const DeviceId& device_id,
                                                         DeviceIdType type = DeviceIdType::mesh,
                                                         Location at = Location::current());
/// Creates the descriptor and starts the copy.
AsyncCopyDescriptor async_remote_copy(const Ref& src, const Ref& dst, const Ref& send_sem, const Ref& recv_sem,
                                      const DeviceId& device_id, DeviceIdType type = DeviceIdType::mesh,
                                      Location at = Location::current());

// --- Semaphores ------------------------------------------------------------------------------------------------------

/// The count, i32 (G3). Error SM6505: no semaphore, or an array of them.
Array semaphore_read(const Ref& sem, Location at = Location::current());
struct SignalOptions {
  std::optional<DeviceId> device_id{};  ///< of another device; nullopt: this one
  DeviceIdType device_id_type = DeviceIdType::mesh;
  /// Of another core of the chip, an integer from 0. Error SM4053 at run time: there is no such core.
  std::optional<Operand> core_index{};
};
/// Adds `inc`, an integer scalar, here or on another device (G4). Signals are for regular and barrier semaphores;
/// copies raise DMA semaphores. Errors: SM6505 (no semaphore, or an array of them), SM6506 (not an integer scalar).
void semaphore_signal(const Ref& sem, const Operand& inc = 1, const SignalOptions& options = {});
/// Waits until the count is at least `value`, then subtracts it (G5, S-G4). Errors as for `semaphore_signal`; SM6506
/// also for `decrement` = false, which Pallas does not have; SM4103 (deadlock) at run time.
void semaphore_wait(const Ref& sem, const Operand& value = 1, bool decrement = true);
/// The semaphore that all kernels of one `collective_id` share (G6). Error SM3014: the call has no collective_id.
Ref get_barrier_semaphore(Location at = Location::current());

// --- Refs ------------------------------------------------------------------------------------------------------------

/// refs[index], chosen at run time, as an operand of a copy (D9); the last one for every other index. Error
/// SM6507: fewer than two Refs, types or memories that differ, no integer scalar, another use than by a copy.
Ref select_ref(const Operand& index, const std::vector<Ref>& refs);
/// Counts as a use of the Ref (D15), without reading or writing it.
void touch(const Ref& ref, Location at = Location::current());

}  // namespace smalti
