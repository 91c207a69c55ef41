#include "obol/method/diagnostics.h"

namespace obol::method {
namespace {

using torch::Tensor;

double mean_of(const Tensor& values) {
  return values.numel() == 0 ? 0 : values.to(torch::kDouble).mean().item<double>();
}

}  // namespace

void note_clipping(const Noting& noting, const Private<Tensor>& norms, double bound) {
  if (!noting.diagnostics.is_asked_for()) return;
  const auto note = [&](const char* name, const auto& function) {
    noting.diagnostics.append(noting.step, name, norms.map(function));
  };
  note("norm_before_clip", [](const Tensor& all) { return mean_of(all); });
  note("norm_after_clip", [bound](const Tensor& all) { return mean_of(all.clamp_max(bound)); });
  note("share_clipped", [bound](const Tensor& all) { return mean_of(all > bound); });
}

}  // namespace obol::method
