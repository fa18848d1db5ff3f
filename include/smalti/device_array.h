// Arrays in the memory of NVIDIA GPUs, and programs that run on them: elements stay on the GPU between calls.
//
//   smalti::Settings settings;
//   settings.set("target", "cuda");
//   const auto executable = module->compile(settings);
//   const auto x = smalti::DeviceArray::copy_of(input), w = …;          // or from_dlpack of PyTorch's and JAX's arrays
//   const auto layer = smalti::DeviceProgram::bind(*executable, {x, w});
//   layer->launch(stream);                                              // returns at once
//   layer->wait();
//   const smalti::Array y = *layer->results()[0].to_host();
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "smalti/array.h"
#include "smalti/dlpack_interop.h"
#include "smalti/executable.h"

namespace smalti {

/// A dense row-major array in the memory of a GPU. Copies share the elements. The memory belongs to the GPU's primary
/// context, which PyTorch, JAX and the CUDA runtime use as well.
class DeviceArray {
 public:
  DeviceArray() = default;
  /// `gpu`: counted from 0. Error SM1009: no memory holds such an array. SM7205: there is no such GPU, or it has not
  /// enough memory.
  static Result<DeviceArray> allocate(ArrayType type, int gpu = 0);
  static Result<DeviceArray> copy_of(const Array& host, int gpu = 0);
  /// Memory of another owner: `address` is aligned to 16 bytes; `owner` is kept alive as long as the view.
  static DeviceArray view(ArrayType type, uint64_t address, int gpu, std::shared_ptr<void> owner = nullptr);
  /// Takes ownership of a tensor of device type 2 (CUDA) without a copy. SM6308: it is on another device, is strided,
  /// or has a dtype that kernels lack. The producer's work must be complete, or be on the stream of the launches
  /// (Python: `__dlpack__(stream=…)`).
  static Result<DeviceArray> from_dlpack(dlpack::ManagedTensor* tensor);
  static Result<DeviceArray> from_dlpack(dlpack::VersionedTensor* tensor);
  /// The elements for another library.
  Result<dlpack::ManagedTensor*> to_dlpack() const;
  Result<dlpack::VersionedTensor*> to_dlpack_versioned(dlpack::Version newest = dlpack::kVersion) const;

  const ArrayType& type() const { return elements_.type(); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(elements_.data()); }
  int gpu() const { return gpu_; }
  /// From a tensor that its owner lets others only read: no output of a DeviceProgram.
  bool read_only() const { return read_only_; }
  /// A copy on the host. Waits for all work on the GPU.
  Result<Array> to_host() const;
  /// Makes later work on `stream` wait for the last launch of a DeviceProgram that writes the elements.
  Status ready_on(void* stream) const;

  struct Uses;
  const std::shared_ptr<Uses>& uses() const { return uses_; }

 private:
  static DeviceArray of(Array elements, int gpu);

  Array elements_;  ///< data() is an address of the GPU's
  int gpu_ = 0;
  bool read_only_ = false;
  std::shared_ptr<Uses> uses_;  ///< the launches that use the elements, for all copies of this
};

struct BindOptions {
  /// Memory of the results; empty: new arrays. It may be the memory of an input that is aliased to the result; other
  /// memory that the program still reads is refused (SM7207).
  std::vector<DeviceArray> outputs = {};
  /// The launches of one run become a CUDA graph, which the driver starts as one.
  bool graph = false;
};

/// An Executable for the target cuda with its arrays, which can be launched any number of times. Inputs keep their
/// elements; each launch reads their elements at that time and writes the same results again.
class DeviceProgram {
 public:
  /// SM1008, SM1017: the number or types of arrays. SM7205: an error of the driver. SM7207: the Executable is not for
  /// cuda, has plain array ops between its kernels, or a kernel that needs the host.
  static Result<DeviceProgram> bind(const Executable&, std::span<const DeviceArray> inputs, const BindOptions& = {});
  static Result<DeviceProgram> bind(const Executable& e, std::initializer_list<DeviceArray> inputs,
                                    const BindOptions& options = {}) {
    return bind(e, std::span(inputs.begin(), inputs.size()), options);
  }

  /// The number of the GPU on which an Executable runs. SM7207: it does not run on a GPU.
  static Result<int> gpu_of(const Executable&);

  const std::vector<DeviceArray>& results() const;
  /// Enqueues the kernels on a stream of the GPU's primary context (a CUstream or cudaStream_t; null: the default
  /// stream), and returns before they have run. They begin after launches on other streams that use the same
  /// DeviceArrays or copies of them, and after those of this DeviceProgram. Streams with launches must exist until
  /// `wait`. A stream that records a CUDA graph waits for no other: the order of its work is up to the caller.
  Status launch(void* stream = nullptr) const;
  /// Waits for the GPU. SM7208: a kernel of a launch since the last `wait` met its step limit, or a fault such as
  /// an access out of bounds; the results are not valid then.
  Status wait() const;
  /// Makes later work on `stream` wait for the launches so far.
  Status ready_on(void* stream) const;

  struct State;
  explicit DeviceProgram(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace smalti
