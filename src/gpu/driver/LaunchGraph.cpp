#include "gpu/driver/LaunchGraph.h"

namespace smalti::gpu {
namespace {

// CUstream_flags, CUevent_flags and CUstreamCaptureMode of cuda.h.
constexpr unsigned kNonBlocking = 1, kDisableTiming = 2;
constexpr int kThreadLocal = 1;
/// Of CUresult, for the default stream while a stream that waits for it records a graph.
constexpr int kCapturesElsewhere = 906;

}  // namespace

Result<std::unique_ptr<LaunchGraph>> LaunchGraph::capture(const CudaGpu& gpu,
                                                          const std::function<Status(CudaHandle)>& enqueue) {
  const CudaDriver& driver = gpu.driver();
  const CudaFunctions& call = driver.call();
  const CurrentGpu current(gpu);
  if (!current.status()) return fail(current.status().error());
  CudaHandle stream = nullptr, graph = nullptr;
  if (Status ok = driver.check(call.streamCreate(&stream, kNonBlocking), "create a stream"); !ok)
    return fail(std::move(ok.error()));
  Status ok = driver.check(call.captureBegin(stream, kThreadLocal), "capture a graph");
  if (ok) {
    ok = enqueue(stream);
    // Even after an error, since the stream would otherwise stay in capture.
    Status ended = driver.check(call.captureEnd(stream, &graph), "capture a graph");
    if (ok) ok = std::move(ended);
  }
  std::unique_ptr<LaunchGraph> made(new LaunchGraph(gpu));
  if (ok) ok = driver.check(call.graphInstantiate(&made->executable_, graph, 0), "instantiate a graph");
  if (graph) call.graphDestroy(graph);
  call.streamDestroy(stream);
  if (!ok) return fail(std::move(ok.error()));
  return made;
}

LaunchGraph::~LaunchGraph() {
  if (!executable_) return;
  const CurrentGpu current(gpu_);
  if (current.status()) gpu_.driver().call().graphExecDestroy(executable_);
}

Status LaunchGraph::launch(CudaHandle stream) const {
  return gpu_.driver().check(gpu_.driver().call().graphLaunch(executable_, stream), "launch a graph");
}

Status waitOn(const CudaDriver& driver, CudaHandle earlier, CudaHandle later) {
  const CudaFunctions& call = driver.call();
  for (CudaHandle stream : {earlier, later}) {
    int isCapturing = 0;
    const int result = call.streamIsCapturing ? call.streamIsCapturing(stream, &isCapturing) : 0;
    if (isCapturing || result == kCapturesElsewhere) return {};
    if (Status ok = driver.check(result, "ask whether a stream records a graph"); !ok) return ok;
  }
  CudaHandle event = nullptr;
  if (Status ok = driver.check(call.eventCreate(&event, kDisableTiming), "create an event"); !ok) return ok;
  Status ok = driver.check(call.eventRecord(event, earlier), "record an event");
  if (ok) ok = driver.check(call.streamWaitEvent(later, event, 0), "order two streams");
  call.eventDestroy(event);  // the driver keeps it until it has happened
  return ok;
}

}  // namespace smalti::gpu
