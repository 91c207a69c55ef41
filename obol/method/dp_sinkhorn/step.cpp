#include "obol/method/dp_sinkhorn/step.h"

#include "obol/transport/tensor/loss.h"

namespace obol::method::dp_sinkhorn {
namespace {

using torch::Tensor;

// On a GPU a sample has places where no record is.
Tensor present_rows(const Tensor& rows, const barrier::Sample& sample) {
  if (!sample.present.defined()) return rows.cpu();
  return rows.cpu().index_select(0, sample.present.cpu().nonzero().flatten());
}

}  // namespace

void note_losses(const Noting& noting, const transport::Problem& problem,
                 const transport::SinkhornOptions& solver,
                 const barrier::Drawn<barrier::Sample>& drawn) {
  if (!noting.diagnostics.is_asked_for()) return;
  const torch::NoGradGuard no_grad;
  transport::Problem own = problem;
  own.x = problem.x.detach().cpu();
  const bool is_labelled = problem.labels_x.defined();
  if (is_labelled) own.labels_x = problem.labels_x.cpu();
  if (own.y.defined()) own.y = problem.y.detach().cpu();
  if (own.labels_y.defined()) own.labels_y = problem.labels_y.cpu();
  const Tensor self = own.y.defined() ? transport::entropic_cost(own, solver)
                                      : transport::entropic_self_cost(own, solver);
  const auto note = [&](const char* name, const Private<double>& value) {
    noting.diagnostics.append(noting.step, name, value);
  };
  note("self_loss", Private<double>(self.item<double>()));
  note("transport_loss", drawn.value.map([&](const barrier::Sample& sample) {
    transport::Problem against = own;
    against.y = present_rows(sample.points, sample);
    if (against.y.size(0) == 0) return 0.0;
    if (is_labelled) against.labels_y = present_rows(sample.labels(), sample);
    return transport::entropic_cost(against, solver).item<double>();
  }));
  note("sample_size", drawn.value.map([](const barrier::Sample& sample) {
    return static_cast<double>(present_rows(sample.labels(), sample).size(0));
  }));
}

}  // namespace obol::method::dp_sinkhorn
