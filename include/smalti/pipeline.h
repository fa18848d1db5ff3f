// Pipelines inside kernels (J): blocks of Refs in HBM are copied to VMEM and back during the work on other blocks.
//
//   pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; },
//                     {.grid = {4}, .in_specs = {rows}, .out_specs = {rows}})(x_hbm, o_hbm);
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "smalti/pallas_call.h"

namespace smalti {

/// The arguments of emit_pipeline (J2). Specs may use Buffered(n) with lookahead, and BoundedSlice.
struct Pipeline {
  std::vector<GridDim> grid{};
  std::vector<BlockSpec> in_specs{};
  std::vector<BlockSpec> out_specs{};
  std::vector<DimensionSemantics> dimension_semantics{};
  /// Refs that are passed to the body after the windows.
  std::vector<Ref> scratches{};
  /// Outputs that are read, modified and written back: their blocks are copied in first (J9).
  std::vector<int> input_outputs{};
  /// Runs copies one after the other, for debugging (J6).
  bool no_pipelining = false;
  /// Scopes ep_copy_in, ep_wait_in, … in profiles (S-C14).
  bool trace_scopes = true;
};

/// The result of emit_pipeline: a function of input Refs, then output Refs.
class EmittedPipeline {
 public:
  EmittedPipeline(Kernel body, Pipeline pipeline, Location at)
      : body_(std::move(body)), pipeline_(std::move(pipeline)), at_(at) {}
  template <class... R, class = std::enable_if_t<(std::is_convertible_v<const R&, Ref> && ...)>>
  void operator()(const R&... refs) const {
    run({refs...});
  }
  void run(const std::vector<Ref>& refs) const;

  /// Buffers and semaphores that a call on such Refs needs, for run_scoped around several calls (J7).
  template <class... R, class = std::enable_if_t<(std::is_convertible_v<const R&, Ref> && ...)>>
  std::vector<MemoryRef> make_allocations(const R&... refs) const {
    return allocations({refs...});
  }
  std::vector<MemoryRef> allocations(const std::vector<Ref>& refs) const;
  /// The same pipeline in existing memory: Refs to the memory that `make_allocations` describes. Error SM6527.
  EmittedPipeline with_allocations(const std::vector<Ref>& memory) const;
  /// The same pipeline with the kernel's own memory as the buffers of an operand (inputs, then outputs, from 0):
  /// one block for each of its buffers, as `make_allocations` describes. An input with Buffered{.prefetched_count =
  /// n} needs it: the kernel has copied its first n different blocks into the first n buffers, and has waited for them.
  /// Error SM6522.
  EmittedPipeline with_window_ref(size_t operand, const Ref& window) const;

 private:
  Kernel body_;
  Pipeline pipeline_;
  Location at_;
  std::optional<std::vector<Ref>> memory_;
  std::map<size_t, Ref> buffers_;
};

/// `body` runs for every point of the grid on windows of the blocks that the specs name; program_id and num_programs
/// are those of the pipeline (J13). A Ref that is already in the memory space of its spec is used in place (S-C15).
/// Errors SM652x.
inline EmittedPipeline emit_pipeline(Kernel body, Pipeline pipeline, Location at = Location::current()) {
  return {std::move(body), std::move(pipeline), at};
}

}  // namespace smalti
