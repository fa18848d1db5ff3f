// Prints GPU code; this needs no GPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/target/Code.h"
#include "driver/target/cuda/Cuda.h"
#include "driver/term/Style.h"
#include "gpu/ptx/Occupancy.h"
#include "gpu/ptx/Ptx.h"
#include "gpu/ptx/Tools.h"

namespace smalti::driver {
namespace {

/// The launch of a kernel, as text.
std::string launchText(const gpu::DeviceKernel& k) {
  std::string text =
      fmt::format("  {} threads a block, {} bytes of shared memory and {} of global memory for values, {} barriers\n",
                  k.threads, term::grouped(k.sharedBytes), term::grouped(k.workspaceBytes), k.barriers);
  if (!k.dividedGrid.empty())
    text += fmt::format("  blocks are divided into parts, which are the steps of a grid of {}\n",
                        fmt::join(k.dividedGrid, " x "));
  if (k.streamed > 0)
    text += fmt::format("  operands of {} are copied ahead over the steps of the grid: {} stages of {} bytes, by {}\n",
                        k.streamed == 1 ? std::string("a product") : fmt::format("{} products", k.streamed), k.stages,
                        term::grouped(k.stageBytes), k.copyThreads ? "an extra thread, in boxes" : "all threads");
  if (k.residentBytes > 0)
    text += fmt::format("  operands that are the same in all steps of a point are copied once: {} of {} bytes\n",
                        k.copyThreads ? "two buffers" : "one buffer", term::grouped(k.residentBytes));
  if (k.turns > 0) text += fmt::format("  {} warp groups issue products in turns\n", k.turns);
  if (k.registers.computing > 0)
    text += fmt::format(
        "  registers are shared out anew: {} to each of these threads, {} to each of {} others, of which one copies\n",
        k.registers.computing, k.registers.copying, k.copyThreads);
  if (!k.sharedBounds.empty())
    text += fmt::format("  the points of {} are blocks{}\n",
                        k.sharedBounds.size() == 1 ? std::string("the first grid axis")
                                                   : fmt::format("the first {} grid axes", k.sharedBounds.size()),
                        k.order.group ? fmt::format(", ordered in groups of up to {} along axis {} by all of axis {}",
                                                    k.order.group, k.order.axes[0], k.order.axes[1])
                        : k.order.largestFirst ? fmt::format(", those with most products, at the end of axis {}, first",
                                                             k.order.axes.back())
                                               : std::string());
  if (k.hasRuns)
    text += fmt::format("  steps of grid axis {} that write the same blocks run in order in one block\n",
                        k.sharedBounds.size() - 1);
  if (!k.sequentialReason.empty()) text += "  in order: " + k.sequentialReason + "\n";
  return text;
}

}  // namespace

Result<CodeView> inspectCudaCode(const KernelPackage& package, const CodeRequest& request) {
  const auto architecture = shownArchitecture(request.argument);
  if (!architecture) return fail(architecture.error());
  CodeView view;
  view.processor = architecture->name;
  const auto kernel = kernelForGpus(package, {.numerics = request.numerics});
  if (!kernel) return fail(kernel.error());
  auto code = gpu::compileToPtx(*kernel, *architecture, eval::Poison::intMin, true);
  if (!code) return fail(std::move(code.error()));
  view.text = launchText(code->lowered);
  view.figures = {{"threads", code->lowered.threads},
                  {"copy_threads", code->lowered.copyThreads},
                  {"copy_registers", code->lowered.registers.copying},
                  {"compute_registers", code->lowered.registers.computing},
                  {"streamed_products", code->lowered.streamed},
                  {"stages", code->lowered.stages},
                  {"stage_bytes", code->lowered.stageBytes},
                  {"shared_bytes", code->lowered.sharedBytes},
                  {"workspace_bytes", code->lowered.workspaceBytes},
                  {"barriers", code->lowered.barriers},
                  {"divided_grid", code->lowered.dividedGrid},
                  {"point_axes", code->lowered.order.axes},
                  {"point_group", code->lowered.order.group},
                  {"largest_first", code->lowered.order.largestFirst},
                  {"resident_bytes", code->lowered.residentBytes},
                  {"copied_bytes", code->lowered.copiedBytes},
                  {"block_bytes", code->lowered.blockBytes},
                  {"turns", code->lowered.turns},
                  {"runs_of_steps", code->lowered.hasRuns},
                  {"in_order", code->lowered.sequentialReason}};
  const auto ptxas = gpu::findTool("ptxas"), nvdisasm = gpu::findTool("nvdisasm");
  // Of a large kernel, ptxas takes minutes.
  const bool needsCubin = request.stage == "sass" ? nvdisasm.has_value() : request.stage != "ptx";
  if (!needsCubin) {
    view.text += "  not assembled\n";
  } else if (!ptxas) {
    view.text += "  ptxas is not installed (pip install nvidia-cuda-nvcc): no registers, no instructions\n";
  } else {
    auto assembled = gpu::assemble(*ptxas, code->ptx, architecture->name);
    if (!assembled) return fail(std::move(assembled.error()));
    const gpu::Resources& r = assembled->resources;
    view.text += fmt::format("  {} registers a thread{}, {} bytes spilled, {} bytes of cubin\n", r.registers,
                             code->lowered.registers.computing > 0 ? " at the launch" : "", r.spillBytes,
                             term::grouped(static_cast<int64_t>(assembled->cubin.size())));
    const gpu::Occupancy occupancy = gpu::occupancyOf(code->lowered, r.registers, *architecture);
    view.text +=
        fmt::format("  {} of {} warps ({} block{}) fit on a multiprocessor at once, limited by {}\n", occupancy.warps,
                    architecture->warps, occupancy.blocks, occupancy.blocks == 1 ? "" : "s", occupancy.limit);
    view.figures.update({{"registers", r.registers},
                         {"resident_blocks", occupancy.blocks},
                         {"resident_warps", occupancy.warps},
                         {"most_warps", architecture->warps},
                         {"limited_by", occupancy.limit},
                         {"spill_bytes", r.spillBytes},
                         {"stack_bytes", r.stackBytes},
                         {"cubin_bytes", assembled->cubin.size()}});
    if (nvdisasm) {
      auto sass = gpu::disassemble(*nvdisasm, assembled->cubin);
      if (!sass) return fail(std::move(sass.error()));
      view.stages["sass"] = std::move(*sass);
    }
  }
  view.stages["ptx"] = std::move(code->ptx);
  if (!view.stages.contains("sass"))
    view.stages["sass"] =
        "the instructions of the GPU are shown where ptxas and nvdisasm are installed: pip install nvidia-cuda-nvcc "
        "nvidia-cuda-nvdisasm\n";
  return view;
}

}  // namespace smalti::driver
