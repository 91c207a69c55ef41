#include "obol/app/release.h"

#include "obol/app/train.h"
#include "obol/report/release.h"

namespace obol::app {

void release(const ReleaseRequest& request) {
  const ReporterScope scope(request.reporter);
  report::ReleaseOptions options{
      .run = request.run, .out = request.out, .seed = request.seed, .sign = std::nullopt};
  if (!request.sign.empty()) options.sign = request.sign;
  report::write_release(options, [&](const Path& folder, const report::MadeFiles& made) {
    export_script({.run = folder.string(), .out = made.script.string()});
    sample({.run = folder.string(),
            .count = request.count,
            .label = std::nullopt,
            .seed = request.seed,
            .out = made.samples.string(),
            .device = request.device,
            .threads = request.threads});
  });
}

}  // namespace obol::app
