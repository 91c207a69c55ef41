// The parts of an evaluation that open the private images: outside the guarantee and recorded as
// such, or paid for from the budget of the run.
#pragma once

#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/app/evaluate.h"
#include "obol/app/tensor/subject.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/evaluate/downstream.h"

namespace obol::app {

// What every part of an evaluation needs.
struct Work {
  const EvaluateRequest& request;
  const Subject& subject;
  torch::Device device;
  evaluate::LabelledImages real;

  [[nodiscard]] evaluate::DownstreamOptions options(std::uint64_t seed) const {
    return {.protocol = request.protocol == "quick" ? evaluate::Protocol::kQuick
                                                    : evaluate::Protocol::kPaper,
            .seed = seed,
            .device = device,
            .num_classes = subject.real().num_classes()};
  }
};

// Trains on images that are `of` some kind, in words, and tests on the real ones.
evaluate::TestResult score(const Work& work, const std::string& classifier, std::uint64_t seed,
                           const evaluate::LabelledImages& images, const std::string& of);

// What training on the private images themselves gives, as in GS-WGAN's tables.
std::vector<evaluate::ClassifierScore> real_baseline(
    const Work& work, const Private<data::Dataset>& training,
    const std::vector<evaluate::ClassifierScore>& on_synthetic);

// Writes a picture of the closest pairs into the private folder of the run as well.
evaluate::MemorisationScore memorisation(const Work& work, const Private<data::Dataset>& training,
                                         const evaluate::LabelledImages& synthetic);

// The accuracy on the private images, paid for from the run's budget. The certificate is renewed.
evaluate::Validation noisy_validation(const Work& work, const evaluate::LabelledImages& synthetic,
                                      double noise);

}  // namespace obol::app
